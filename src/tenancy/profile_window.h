// How SM partitioners measure: a window begins when every SM is with whom it belongs, warms up, and then counts what each
// tenant does.
// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "config/fields.h"
#include "tenancy/sm_partitioner.h"

namespace terrace {

struct WindowParams {
  u64 warm_up = 20'000, profile = 20'000;  // CD-search, section 4.1.2
  void describe(Fields& v) {
    // So long that products of what two windows counted fit into 64 bits.
    constexpr Range kLength = in(1, 10'000'000);
    v("warm_up", warm_up, kLength, "cycles before each measurement");
    v("profile", profile, kLength, "cycles of each measurement");
  }
};

class ProfileWindow {
 public:
  explicit ProfileWindow(WindowParams params) : params_(params) {}

  void begin(Cycle now) {
    stage_ = Stage::kSettling;
    appointment_ = now + 1;
  }
  void stop() {
    stage_ = Stage::kOff;
    appointment_ = kNever;
  }
  Cycle appointment() const { return appointment_; }

  /// At an appointment; whether the window is over.
  bool advance(const SmPartitioner::Situation& now) {
    switch (stage_) {
      case Stage::kOff:
        return false;
      case Stage::kSettling:
        if (!now.settled) {
          appointment_ = now.now + kLookAgain;
          return false;
        }
        return go(Stage::kWarmUp, now, params_.warm_up);
      case Stage::kWarmUp:
        warmed_up_ = since(now);
        return go(Stage::kProfile, now, params_.profile);
      case Stage::kProfile:
        profiled_ = since(now);
        issued_.assign(now.issued.size(), {});
        for (u32 sm = 0; sm < now.issued.size(); ++sm) {
          for (u32 i = 0; i < now.issued[sm].size(); ++i)
            issued_[sm].push_back(now.issued[sm][i] - first_issued_[sm][i]);
        }
        stop();
        return true;
    }
    return false;
  }

  // Of the window that is over, by tenant.
  const TenantEpoch& warmed_up(TenantId tenant) const { return warmed_up_[index(tenant)]; }
  const TenantEpoch& profiled(TenantId tenant) const { return profiled_[index(tenant)]; }
  /// Warp instructions that a tenant issued on an SM while it was profiled.
  u64 issued(u32 sm, TenantId tenant) const { return issued_[sm][index(tenant)]; }

  void archive(Archive& a) { a(stage_, appointment_, began_, first_, warmed_up_, profiled_, first_issued_, issued_); }

 private:
  enum class Stage : u8 { kOff, kSettling, kWarmUp, kProfile };
  // Chosen: often enough to lose little of a window, seldom enough to cost nothing.
  static constexpr Cycle kLookAgain = 500;

  bool go(Stage stage, const SmPartitioner::Situation& now, u64 cycles) {
    stage_ = stage;
    first_ = now.so_far;
    first_issued_ = now.issued;
    began_ = now.now;
    appointment_ = now.now + cycles;
    return false;
  }
  std::vector<TenantEpoch> since(const SmPartitioner::Situation& now) const {
    std::vector<TenantEpoch> did;
    for (u32 i = 0; i < first_.size(); ++i) {
      did.push_back(difference(now.so_far[i], first_[i]));
      did.back().cycles = now.now - began_;
    }
    return did;
  }

  WindowParams params_;
  Stage stage_ = Stage::kOff;
  Cycle appointment_ = kNever, began_ = 0;
  std::vector<TenantEpoch> first_, warmed_up_, profiled_;
  std::vector<std::vector<u64>> first_issued_, issued_;
};

/// Warp instructions per 1,000 cycles.
inline u64 kilo_ipc(const TenantEpoch& did) {
  return did.cycles == 0 ? 0 : did.warp_instructions * 1000 / did.cycles;
}

}  // namespace terrace
