// The tenants of a run: what each came with, how far it is, and whether it is there. Controllers share this table.
// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/archive.h"
#include "frontend/inst_stream.h"
#include "frontend/program.h"
#include "frontend/visitors.h"
#include "sm/sm.h"

namespace terrace {

/// A tenant as it comes to the GPU; whoever made the parts keeps them.
struct TenantSetup {
  std::string name;
  Program* program = nullptr;
  GuestMemory* memory = nullptr;
  InstStream* stream = nullptr;
  std::vector<u32> sms;  // its own
  Cycle arrive = 0, leave = kNever;
  bool leaves_when_done = false;  // it leaves when its program has ended, and does not start again
  Visitors* visitors = nullptr;   // instead of `arrive`: it comes each time these say so. All tenants have the same
};

/// What a tenant has done so far.
struct TenantProgress {
  u64 completed_runs = 0;
  Cycle last_completion = 0;
  u64 warp_instructions = 0, thread_instructions = 0;                      // all that issued
  u64 completed_warp_instructions = 0, completed_thread_instructions = 0;  // those of completed runs
  std::string fault;                                                       // empty, or what it did; it ended there
  Cycle arrived = 0;                                                       // or will arrive
  Cycle left = kNever;                                                     // kNever: it has not left
  u64 visits = 0;                                                          // of one that comes and goes;
  Cycle came = 0, absent = 0;  // the last one's begin, and the time between them
};

struct TenantState {
  TenantProgress done;
  bool present = false;  // it has arrived, and something of it is still on the GPU
  bool ended = false;    // faulted or left
};

class TenantTable {
 public:
  /// Refers to both.
  TenantTable(const std::vector<TenantSetup>& setups, const std::vector<std::unique_ptr<Sm>>& sms)
      : setups_(setups), sms_(sms), states_(setups.size()) {}

  u32 count() const { return static_cast<u32>(setups_.size()); }
  const TenantSetup& setup(TenantId tenant) const { return setups_[index(tenant)]; }
  TenantState& operator[](TenantId tenant) { return states_[index(tenant)]; }
  const TenantState& operator[](TenantId tenant) const { return states_[index(tenant)]; }

  std::vector<TenantId> present() const;
  /// Nobody has to go on: each has completed once, or will never. In a window, each has faulted or left.
  bool all_completed() const;
  u64 warp_instructions(TenantId tenant) const { return issued(tenant, &SmStats::warp_instructions); }
  u64 thread_instructions(TenantId tenant) const { return issued(tenant, &SmStats::thread_instructions); }
  TenantProgress progress(TenantId tenant) const;

  void archive(Archive& a) { a(states_); }

  bool window = false;  // who has completed goes on to the end of the run

 private:
  u64 issued(TenantId tenant, PerTenant<Counter> SmStats::* counter) const;

  const std::vector<TenantSetup>& setups_;
  const std::vector<std::unique_ptr<Sm>>& sms_;
  std::vector<TenantState> states_;
};

}  // namespace terrace
