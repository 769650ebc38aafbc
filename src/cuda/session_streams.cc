// Streams and events of a process, and the order of what it issues.
// SPDX-License-Identifier: MIT
#include <utility>

#include "cuda/host_session.h"

namespace terrace::cuda {

void HostSession::stream(Call call, Reader& fields, Answer& answer) {
  if (call == Call::kStreamCreate) {
    const u32 flags = fields.u32();
    if (streams_.size() >= kMostHandles) {
      answer.status = Status::kMemoryAllocation;
      return;
    }
    streams_[next_handle_] = {.blocking = flags == 0};
    answer.fields.u64(next_handle_++);
    return;
  }
  const u64 id = fields.u64();
  if (!fields.good() || !streams_.contains(id)) {
    answer.status = Status::kInvalidHandle;
    return;
  }
  if (call == Call::kStreamDestroy) {
    if (id == 0)
      answer.status = Status::kInvalidHandle;
    else
      streams_.erase(id);
  }
  if (call == Call::kStreamAfterEvent) {
    const auto found = events_.find(fields.u64());
    if (!fields.good() || found == events_.end()) {
      answer.status = Status::kInvalidHandle;
      return;
    }
    if (issued_.empty() || found->second->ticket < first_of_batch_) return;
    Launch nothing;
    nothing.action = [](GuestMemory&, Cycle) {};
    nothing.after.push_back(found->second->ticket);
    issue(std::move(nothing), id);
  }
}

void HostSession::event(Call call, Reader& fields, Answer& answer) {
  if (call == Call::kEventCreate) {
    if (events_.size() >= kMostHandles) {
      answer.status = Status::kMemoryAllocation;
      return;
    }
    events_[next_handle_] = std::make_shared<Event>();
    answer.fields.u64(next_handle_++);
    return;
  }
  const auto found = events_.find(fields.u64());
  if (!fields.good() || found == events_.end()) {
    answer.status = Status::kInvalidHandle;
    return;
  }
  if (call == Call::kEventDestroy) events_.erase(found);
  if (call == Call::kEventRecord) {
    const u64 stream = fields.u64();
    if (!fields.good() || !streams_.contains(stream)) {
      answer.status = Status::kInvalidHandle;
      return;
    }
    const std::shared_ptr<Event> event = found->second;
    event->recorded = true;
    in_turn(stream, false, [event](GuestMemory&, Cycle now) { event->at = now; }, true);
    event->ticket = tickets_;
  }
  if (call == Call::kEventElapsed) {
    const auto end = events_.find(fields.u64());
    if (!fields.good() || end == events_.end() || !found->second->recorded || !end->second->recorded) {
      answer.status = Status::kInvalidHandle;
      return;
    }
    answer.fields.u64(found->second->at).u64(end->second->at);
  }
}

void HostSession::in_turn(u64 stream, bool writes, std::function<void(GuestMemory&, Cycle)> action, bool always_queue) {
  if (issued_.empty() && !always_queue) return action(memory_, 0);
  Launch launch;
  launch.action = std::move(action);
  launch.action_writes = writes;
  issue(std::move(launch), stream);
}

/// The default stream goes behind all streams that do not opt out, and they behind it.
void HostSession::issue(Launch launch, u64 stream) {
  launch.ticket = ++tickets_;
  launch.stream = static_cast<u32>(stream);
  launch.host_cycles = calls_ * setup_.call_cycles;
  const auto behind = [&](u64 ticket) {
    if (ticket >= first_of_batch_) launch.after.push_back(ticket);
  };
  Stream& its = streams_.at(stream);
  if (stream == 0) {
    for (const auto& [id, other] : streams_)
      if (id != 0 && other.blocking) behind(other.last);
  } else if (its.blocking) {
    behind(streams_.at(0).last);
  }
  its.last = launch.ticket;
  issued_.push_back(std::move(launch));
}

std::vector<Launch> HostSession::take_issued() {
  first_of_batch_ = tickets_ + 1;
  calls_ = 0;
  issued_bytes_ = 0;
  ran_ = true;
  return std::exchange(issued_, {});
}

}  // namespace terrace::cuda
