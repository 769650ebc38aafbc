// Buffers of a process: allocated, freed, written, read, copied and filled. Managed ones are kept alike on both sides.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstring>
#include <utility>

#include "cuda/host_session.h"
#include "engine/check.h"

namespace terrace::cuda {
namespace {

constexpr u64 kManagedPage = 4096;  // what is compared and sent as a whole

}  // namespace

u64 HostSession::whole_pages(u64 bytes) const {
  const u64 page = static_cast<u64>(memory_.page_size());
  return (std::max<u64>(bytes, 1) + page - 1) / page * page;
}

void HostSession::allocate(Reader& fields, Answer& answer, bool managed) {
  const u64 address = managed ? fields.u64() : 0, bytes = fields.u64();
  if (!fields.good() || bytes == 0) {
    answer.status = Status::kInvalidValue;
    return;
  }
  const u64 left = setup_.device.memory_bytes - std::min(setup_.device.memory_bytes, used_bytes_);
  if (bytes > left || whole_pages(bytes) > left) {
    answer.status = Status::kMemoryAllocation;
    return;
  }
  try {
    const std::string name = fmt::format("{} {}", managed ? "cudaMallocManaged" : "cudaMalloc", buffers_.size());
    const VirtAddr first = managed ? memory_.allocate_at(name, {address}, bytes) : memory_.allocate(name, bytes);
    buffers_[first.raw] = bytes;
    used_bytes_ += whole_pages(bytes);
    if (managed) managed_[first.raw] = {bytes, std::vector<u8>(bytes)};
    answer.fields.u64(first.raw);
  } catch (const InputError& error) {
    answer.status = managed ? Status::kInvalidValue : Status::kMemoryAllocation;
    answer.sentence = error.what();
  }
}

void HostSession::free(Reader& fields, Answer& answer) {
  const auto found = buffers_.find(fields.u64());
  if (!fields.good() || found == buffers_.end()) {
    answer.status = Status::kInvalidValue;
    return;
  }
  memory_.free({found->first});
  used_bytes_ -= whole_pages(found->second);
  managed_.erase(found->first);
  buffers_.erase(found);
}

/// Whether all its bytes lie in one allocation of the process.
bool HostSession::contains(const Area& area) const {
  if (area.width == 0 || area.rows == 0) return true;
  if (area.rows > 1 && area.pitch < area.width) return false;
  constexpr u64 kMost = GuestMemory::kEnd;
  if (area.first >= kMost || area.width > kMost || area.rows > kMost || area.pitch > kMost) return false;
  const GuestMemory::Allocation* holder = memory_.nearest({area.first});
  if (holder == nullptr || area.first - holder->first.raw > holder->bytes) return false;
  const u64 left = holder->bytes - (area.first - holder->first.raw);
  if (area.width > left) return false;
  return area.rows == 1 || area.rows - 1 <= (left - area.width) / area.pitch;
}

void HostSession::write(Reader& fields, Answer& answer) {
  const Area area = fields.area();
  const u64 stream = fields.u64();
  const auto bytes = fields.data();
  if (!fields.complete() || !streams_.contains(stream) || !contains(area) || bytes.size() != area.bytes()) {
    answer.status = Status::kInvalidValue;
    return;
  }
  if (bytes.empty()) return;
  const auto put = [this, area](GuestMemory& memory, const u8* from) {
    for (u64 row = 0; row < area.rows; ++row) {
      std::memcpy(memory.write({area.first + row * area.pitch}, area.width).data(), from + row * area.width,
                  area.width);
    }
    if (!managed_.empty()) note_managed(area);
  };
  if (issued_.empty()) return put(memory_, bytes.data());
  issued_bytes_ += bytes.size();
  in_turn(stream, true, [put, kept = std::vector<u8>(bytes.begin(), bytes.end())](GuestMemory& memory, Cycle) {
    put(memory, kept.data());
  });
}

void HostSession::read(Reader& fields, Answer& answer) {
  const Area area = fields.area();
  const u64 stream = fields.u64();
  const bool waits = fields.u32() != 0;
  const u64 number = fields.u64();
  if (!fields.complete() || !streams_.contains(stream) || !contains(area) || area.bytes() > kMostCopyBytes) {
    answer.status = Status::kInvalidValue;
    return;
  }
  if (area.bytes() == 0 && waits) return void(answer.fields.room(0));
  const auto take = [area](const GuestMemory& memory, u8* to) {
    for (u64 row = 0; row < area.rows && area.width > 0; ++row) {
      std::memcpy(to + row * area.width, memory.read({area.first + row * area.pitch}, area.width).data(), area.width);
    }
  };
  if (waits) return take(memory_, answer.fields.room(area.bytes()));
  issued_bytes_ += area.bytes();
  in_turn(stream, false, [this, take, area, number](GuestMemory& memory, Cycle) {
    Writer bytes;
    bytes.u64(number);
    take(memory, bytes.room(area.bytes()));
    deliveries_.push_back({Call::kReadDone, bytes.bytes()});
  });
}

void HostSession::copy(Reader& fields, Answer& answer) {
  const Area to = fields.area(), from = fields.area();
  const u64 stream = fields.u64();
  fields.u32();
  if (!fields.complete() || !streams_.contains(stream) || !contains(to) || !contains(from) || to.width != from.width ||
      to.rows != from.rows) {
    answer.status = Status::kInvalidValue;
    return;
  }
  if (to.bytes() == 0) return;
  in_turn(stream, true, [to, from](GuestMemory& memory, Cycle) {
    for (u64 row = 0; row < to.rows; ++row) {
      const auto source = memory.read({from.first + row * from.pitch}, from.width);
      std::memmove(memory.write({to.first + row * to.pitch}, to.width).data(), source.data(), to.width);
    }
  });
}

void HostSession::set(Reader& fields, Answer& answer) {
  const Area area = fields.area();
  const u64 stream = fields.u64();
  const u32 element = fields.u32(), value = fields.u32();
  const bool possible = element == 1 || element == 2 || element == 4;
  if (!fields.complete() || !streams_.contains(stream) || !contains(area) || !possible || area.width % element != 0) {
    answer.status = Status::kInvalidValue;
    return;
  }
  if (area.bytes() == 0) return;
  in_turn(stream, true, [area, element, value](GuestMemory& memory, Cycle) {
    for (u64 row = 0; row < area.rows; ++row) {
      const VirtAddr first{area.first + row * area.pitch};
      if (value == 0) {
        memory.write_zeros(first, area.width);
        continue;
      }
      u8* to = memory.write(first, area.width).data();
      if (element == 1) {
        std::memset(to, static_cast<int>(value & 0xff), area.width);
      } else {
        for (u64 at = 0; at < area.width; at += element) std::memcpy(to + at, &value, element);
      }
    }
  });
}

void HostSession::note_managed(const Area& area) {
  for (auto& [first, managed] : managed_) {
    for (u64 row = 0; row < area.rows; ++row) {
      const u64 at = area.first + row * area.pitch;
      if (at < first || at >= first + managed.bytes) continue;
      const u64 count = std::min(area.width, first + managed.bytes - at);
      std::memcpy(managed.known.data() + (at - first), memory_.read({at}, count).data(), count);
    }
  }
}

void HostSession::deliver_managed(std::vector<Message>& answers) {
  ran_ = false;
  for (auto& [first, managed] : managed_) {
    const u8* now = memory_.read({first}, managed.bytes).data();
    for (u64 at = 0; at < managed.bytes; at += kManagedPage) {
      const u64 count = std::min(kManagedPage, managed.bytes - at);
      if (std::memcmp(now + at, managed.known.data() + at, count) == 0) continue;
      std::memcpy(managed.known.data() + at, now + at, count);
      Writer bytes;
      bytes.u64(first + at).data(now + at, count);
      answers.push_back({Call::kManagedBytes, bytes.bytes()});
    }
  }
}

}  // namespace terrace::cuda
