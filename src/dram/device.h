// The DRAM devices of one channel: which rows are open, and from when on each command is allowed. All times are cycles
// of the command clock. A line is one or several bursts of the same row; its column commands are issued as one, at
// fixed distances, so that lines of different bank groups interleave on the bus. Who wants what is the channel's
// affair.
//
// Simplified: one tRCD for reads and writes, no power-down, no tPPD; all-bank refresh only. docs/dram.md has the rules.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <vector>

#include "dram/dram_config.h"
#include "engine/archive.h"
#include "engine/types.h"

namespace terrace {

class DramDevice {
 public:
  static constexpr u32 kMaxBanks = 64;

  DramDevice(const DramConfig& resolved, u32 line_bytes);

  u32 rank_of(u32 bank) const { return rank_of_[bank]; }
  u64 banks_of(u32 rank) const { return rank_banks_ << rank * banks_per_rank_; }
  u64 open_banks() const { return open_; }
  bool is_open(u32 bank) const { return open_ >> bank & 1; }
  u32 open_row(u32 bank) const { return is_open(bank) ? row_[bank] : BankView::kClosed; }

  // What the bank itself allows,
  u64 activate_ready(u32 bank) const { return activate_ready_[bank]; }
  u64 precharge_ready(u32 bank) const { return precharge_ready_[bank]; }
  u64 column_ready(u32 bank) const { return column_ready_[bank]; }
  // and what it shares with others allows beyond that.
  u64 rank_activate(u32 rank) const { return rank_activate_[rank]; }
  /// No rank allows one earlier.
  u64 first_activate() const { return *std::min_element(rank_activate_.begin(), rank_activate_.end()); }
  u64 group_activate(u32 bank) const { return group_activate_[group_of_[bank]]; }
  u64 column_shared(u32 bank, bool write) const {
    return std::max(rank_column_[write][rank_of_[bank]], group_column_[write][group_of_[bank]]);
  }
  /// The first cycle from `now` on in which the bus has place for a line whose command is issued then.
  u64 bus_free(u64 now) {
    align(now);
    u32 ahead = 0;
    while ((bus_ >> ahead & pattern_) != 0) ++ahead;
    return now + ahead;
  }
  /// The first cycle after the one in which a column command was just issued.
  u64 bus_free_after(u64 now) const {
    u32 ahead = 1;
    while ((bus_ >> ahead & pattern_) != 0) ++ahead;
    return now + ahead;
  }
  /// Whether a row command can be issued now: later bursts of a line use the command bus too.
  bool row_command_free(u64 now) {
    align(now);
    return separate_row_bus_ || (commands_ & 1) == 0;
  }

  void activate(u32 bank, u32 row, u64 now);
  void precharge(u32 bank, u64 now);
  /// Reads or writes so many bursts of a line and returns when the last data has passed the bus.
  u64 column(u32 bank, bool write, u64 now, u32 bursts);
  /// The column command just issued to the bank closes its row as soon as that is allowed.
  void auto_precharge(u32 bank) { precharge(bank, precharge_ready_[bank]); }
  void refresh(u32 rank, u64 now);

  /// How many bursts of a line have some of these words.
  u32 bursts_of(u64 words) const;
  /// Whether they are a part of some burst.
  bool cut_a_burst(u64 words) const;
  u32 burst_cycles() const { return burst_; }
  const DramTiming& timing() const { return t_; }

  void archive(Archive& a) {
    a(base_, bus_, commands_, open_, row_, activate_ready_, precharge_ready_, column_ready_, windows_, rank_activate_,
      group_activate_, rank_column_, group_column_);
  }

 private:
  void align(u64 now) {
    const u64 passed = now - base_;
    if (passed == 0) return;
    bus_ = passed < 64 ? bus_ >> passed : 0;
    commands_ = passed < 64 ? commands_ >> passed : 0;
    base_ = now;
  }
  /// Last column command of one kind to the first of another kind or rank.
  u32 gap(bool write, bool next_write, bool same_rank) const;

  DramTiming t_;
  u32 banks_per_rank_, ranks_;
  u32 burst_;    // cycles of data per burst
  u32 bursts_;   // per line
  u32 words_;    // of a burst
  u32 step_;     // cycles from one burst to the next of another bank group
  u32 spacing_;  // between the column commands of a line
  bool separate_row_bus_;
  u64 rank_banks_;
  u64 pattern_ = 0;        // the cycles that a line takes on the bus, from its first command on
  u64 line_commands_ = 0;  // the cycles of its column commands
  u32 gaps_[2][2][2] = {};
  u8 rank_of_[kMaxBanks] = {}, group_of_[kMaxBanks] = {};

  u64 base_ = 0;      // the cycle of bit 0
  u64 bus_ = 0;       // cycles that are taken; data follows its command at a fixed distance, so commands stand for it
  u64 commands_ = 0;  // cycles in which later bursts of a line use the command bus
  u64 open_ = 0;
  u32 row_[kMaxBanks] = {};
  u64 activate_ready_[kMaxBanks] = {}, precharge_ready_[kMaxBanks] = {}, column_ready_[kMaxBanks] = {};
  struct Window {
    std::array<u64, 4> at{};
    u32 count = 0;
  };
  std::vector<Window> windows_;  // the last four activates of a rank
  std::vector<u64> rank_activate_, group_activate_;
  std::vector<u64> rank_column_[2], group_column_[2];  // reads, writes
};

}  // namespace terrace
