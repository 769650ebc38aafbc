// Everything behind an SM's crossbar, for benches of the SM's own parts: answers each request a fixed time after it came,
// and writes down what came when.
// SPDX-License-Identifier: MIT
#pragma once

#include <deque>
#include <functional>
#include <vector>

#include "benches/scripted.h"
#include "wire/access.h"
#include "wire/line_truth.h"

namespace terrace {

class FarMemory {
 public:
  struct Request {
    Cycle at;
    Access access;
    u32 flits;
  };
  FarMemory(Scheduler& scheduler, const NocConfig& noc, u32 line_bytes, AccessPool& accesses, LineTruth& truth,
            std::function<PhysAddr(TenantId, VirtAddr)> locate, Cycle latency)
      : requests(scheduler, noc, 1, 1),
        replies(scheduler, noc, 1, 1),
        latency_(latency),
        line_bytes_(line_bytes),
        accesses_(accesses),
        truth_(truth),
        locate_(std::move(locate)),
        unit_(scheduler, "memory") {
    requests.connect_output(0, unit_.id());
    replies.connect_input(0, unit_.id());
    unit_.always([this](Cycle now) {
      const Cycle opens = take(now);
      return std::min(opens, answer(now));
    });
  }
  void connect(UnitId sm) {
    requests.connect_input(0, sm);
    replies.connect_output(0, sm);
  }
  std::vector<Cycle> times() const {
    std::vector<Cycle> all;
    for (const Request& request : seen) all.push_back(request.at);
    return all;
  }

  void archive(Archive& a) { a(requests, replies, seen, waiting_, unit_); }

  Crossbar<AccessRef> requests, replies;
  std::vector<Request> seen;
  Cycle open = 0;  // takes nothing before
  std::function<void(const Access&)> perform_atomic;

 private:
  Cycle take(Cycle now) {
    requests.absorb(0, now);
    if (now < open) return open;
    while (requests.front(0, now)) {
      const u64 flits = requests.stats(0).flits.value;
      const AccessRef ref = requests.receive(0, now);
      const Access& access = accesses_[ref];
      seen.push_back({now, access, static_cast<u32>(requests.stats(0).flits.value - flits)});
      perform(ref, access);
      waiting_.push_back({now + latency_, ref});
    }
    return kNever;
  }
  /// In the order in which they come: this memory is the place where writes are performed.
  void perform(AccessRef ref, const Access& access) {
    const PhysAddr line =
        access.in_l2.is_physical() ? PhysAddr{access.in_l2.number() * line_bytes_} : locate_(access.tenant, access.va);
    LineCopy copy = truth_.memory_gives(line);
    if (access.kind == AccessKind::kStore || access.kind == AccessKind::kAtomic) {
      truth_.performs(copy, access);
      truth_.memory_takes(copy);
    }
    if (access.kind == AccessKind::kAtomic && perform_atomic) perform_atomic(access);
    truth_.answers(ref, access, copy);
  }
  Cycle answer(Cycle now) {
    while (!waiting_.empty() && waiting_.front().at <= now) {
      const AccessRef ref = waiting_.front().ref;
      if (!replies.can_send(0, 0, now)) return kNever;
      replies.send(0, 0, now, ref, 1, accesses_[ref].tenant);
      waiting_.pop_front();
    }
    return waiting_.empty() ? kNever : waiting_.front().at;
  }

  struct Waiting {
    Cycle at;
    AccessRef ref;
  };
  Cycle latency_;
  u32 line_bytes_;
  AccessPool& accesses_;
  LineTruth& truth_;
  std::function<PhysAddr(TenantId, VirtAddr)> locate_;
  std::deque<Waiting> waiting_;
  Scripted unit_;
};

}  // namespace terrace
