// What a timeline shows, as units and controllers write it down: each keeps its own, so that the order in which units tick
// does not matter. Nobody reads it before the run has ended.
// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <vector>

#include "engine/archive.h"
#include "engine/sampled.h"
#include "engine/types.h"
#include "wire/access.h"
#include "wire/epoch.h"

namespace terrace {

/// A page walk that has ended.
struct WalkSpan {
  u64 page = 0;
  Cycle arrived = 0, started = 0, ended = 0;
  u32 walker = 0, reads = 0;
  TenantId tenant{};
};

/// A memory instruction on its way through its SM.
struct RequestSpan {
  Cycle began = 0;       // it issued
  Cycle left = 0;        // the last of its lines left the queue of the load-store unit, or was set aside for its page
  Cycle translated = 0;  // the last line that was set aside went on; 0: none was
  Cycle ended = 0;       // the last line was answered
  u32 source_line = 0, lines = 0, walks = 0;
  u8 warp = 0;
  TenantId tenant{};
  AccessKind kind{};
};

/// Follows one memory instruction of an SM at a time: the next one that issues when the last has been answered.
class RequestFollower {
 public:
  explicit RequestFollower(std::size_t most) : spans_(most) {}

  void begins(u32 record, const RequestSpan& span) {
    if (record_ != kNobody) return;
    record_ = record;
    span_ = span;
  }
  void leaves_queue(u32 record, Cycle now) {
    if (record == record_) span_.left = now;
  }
  void goes_on(u32 record, Cycle now) {
    if (record == record_) span_.translated = now;
  }
  void ends(u32 record, u32 walks, Cycle now) {
    if (record != record_) return;
    span_.walks = walks;
    span_.ended = now;
    spans_.add(span_);
    record_ = kNobody;
  }
  const Sampled<RequestSpan>& spans() const { return spans_; }

  void archive(Archive& a) { a(record_, span_, spans_); }

 private:
  static constexpr u32 kNobody = ~u32{0};
  u32 record_ = kNobody;
  RequestSpan span_;
  Sampled<RequestSpan> spans_;
};

/// A tenant's turn on all SMs, or the switch from one tenant to another.
struct TurnSpan {
  TenantId tenant{};                // whose turn it is, or who gets it
  std::optional<TenantId> instead;  // in a switch: of whom
  Cycle began = 0, ended = 0;
};

/// What every tenant did in an epoch.
struct EpochMark {
  Cycle ended = 0;
  std::vector<TenantEpoch> tenants;
};

}  // namespace terrace
