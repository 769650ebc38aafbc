// SPDX-License-Identifier: MIT
#include "dram/device.h"

#include "engine/check.h"
#include "wire/access.h"

namespace terrace {

DramDevice::DramDevice(const DramConfig& config, u32 line_bytes)
    : t_(config.timing),
      banks_per_rank_(config.banks),
      ranks_(config.ranks),
      burst_(config.burst_cycles()),
      bursts_(std::max(1u, line_bytes / config.burst_bytes())),
      words_(line_bytes / bursts_ / 4),
      step_(std::max(t_.tccd_s, burst_)),
      separate_row_bus_(config.command_buses == 2),
      rank_banks_(config.banks == 64 ? ~u64{0} : (u64{1} << config.banks) - 1),
      windows_(config.ranks),
      rank_activate_(config.ranks, 0),
      group_activate_(config.ranks * config.bank_groups, 0) {
  SIM_CHECK(bursts_ == 1 || bursts_ * config.burst_bytes() == line_bytes,
            "a line of {} bytes is not a number of bursts of {}", line_bytes, config.burst_bytes());
  for (u32 bank = 0; bank < config.ranks * config.banks; ++bank) {
    rank_of_[bank] = static_cast<u8>(bank / config.banks);
    group_of_[bank] = static_cast<u8>(rank_of_[bank] * config.bank_groups + bank % config.bank_groups);
  }
  // The bursts of a line stand tCCD_L apart, rounded up to whole steps of the bus: then lines of two groups fit between each
  // other and fill the bus.
  const u32 same_group = config.bank_groups > 1 ? std::max(t_.tccd_l, step_) : step_;
  t_.tccd_l = same_group;
  spacing_ = (same_group + step_ - 1) / step_ * step_;
  SIM_CHECK((bursts_ - 1) * spacing_ + step_ < 64, "a line takes {} cycles of the bus, and 63 are the most",
            (bursts_ - 1) * spacing_ + step_);
  for (u32 burst = 0; burst < bursts_; ++burst) {
    pattern_ |= ((u64{1} << step_) - 1) << burst * spacing_;
    line_commands_ |= u64{1} << burst * spacing_;
  }
  for (const bool write : {false, true}) {
    for (const bool next_write : {false, true})
      for (const bool same_rank : {false, true})
        gaps_[write][next_write][same_rank] = gap(write, next_write, same_rank);
    rank_column_[write].assign(config.ranks, 0);
    group_column_[write].assign(config.ranks * config.bank_groups, 0);
  }
}

u32 DramDevice::gap(bool write, bool next_write, bool same_rank) const {
  const u32 switch_rank = same_rank ? 0 : t_.trtrs;
  if (write == next_write) return std::max(step_, burst_ + switch_rank);
  if (!write) {  // write data must not meet read data on the bus
    const u32 data = t_.cl + burst_ + std::max(t_.turnaround, switch_rank);
    return std::max(step_, data - std::min(data, t_.cwl));
  }
  if (same_rank) return t_.cwl + burst_ + t_.twtr_s;
  const u32 data = t_.cwl + burst_ + switch_rank;
  return std::max(step_, data - std::min(data, t_.cl));
}

void DramDevice::activate(u32 bank, u32 row, u64 now) {
  const u32 rank = rank_of_[bank], group = group_of_[bank];
  SIM_DCHECK(
      !is_open(bank) && now >= activate_ready_[bank] && now >= rank_activate(rank) && now >= group_activate(bank),
      "bank {} is activated in cycle {}, too early", bank, now);
  open_ |= u64{1} << bank;
  row_[bank] = row;
  column_ready_[bank] = now + t_.trcd;
  precharge_ready_[bank] = now + t_.tras;
  activate_ready_[bank] = now + t_.trc;
  group_activate_[group] = now + t_.trrd_l;
  Window& window = windows_[rank];
  window.at[window.count++ % 4] = now;
  rank_activate_[rank] = now + t_.trrd_s;
  if (window.count >= 4) rank_activate_[rank] = std::max(rank_activate_[rank], window.at[window.count % 4] + t_.tfaw);
}

void DramDevice::precharge(u32 bank, u64 now) {
  SIM_DCHECK(is_open(bank) && now >= precharge_ready_[bank], "bank {} is precharged in cycle {}, too early", bank, now);
  open_ &= ~(u64{1} << bank);
  activate_ready_[bank] = std::max(activate_ready_[bank], now + t_.trp);
}

u32 DramDevice::bursts_of(u64 words) const {
  if (words == ~u64{0}) return bursts_;  // most do not ask for less
  u32 count = 0;
  for (u32 burst = 0; burst < bursts_; ++burst) count += (words >> burst * words_ & all_words(words_ * 4)) != 0;
  return count;
}

bool DramDevice::cut_a_burst(u64 words) const {
  if (words == ~u64{0}) return false;
  const u64 all = all_words(words_ * 4);
  for (u32 burst = 0; burst < bursts_; ++burst) {
    const u64 own = words >> burst * words_ & all;
    if (own != 0 && own != all) return true;
  }
  return false;
}

u64 DramDevice::column(u32 bank, bool write, u64 now, u32 bursts) {
  align(now);
  SIM_DCHECK(is_open(bank) && now >= column_ready_[bank] && now >= column_shared(bank, write) && (bus_ & pattern_) == 0,
             "bank {} is accessed in cycle {}, too early", bank, now);
  const u64 span = (u64{1} << ((bursts - 1) * spacing_ + step_)) - 1;
  bus_ |= pattern_ & span;
  commands_ |= line_commands_ & span & ~u64{1};
  const u32 rank = rank_of_[bank], group = group_of_[bank];
  const u64 last = now + (bursts - 1) * spacing_;
  const u64 data_end = last + (write ? t_.cwl : t_.cl) + burst_;
  for (const bool next_write : {false, true}) {
    for (u32 other = 0; other < ranks_; ++other) {
      if (next_write == write && other == rank) continue;  // the bus's own cycles decide
      u64& earliest = rank_column_[next_write][other];
      earliest = std::max(earliest, last + gaps_[write][next_write][other == rank]);
    }
    u64& earliest = group_column_[next_write][group];
    earliest = std::max(earliest, last + t_.tccd_l);
  }
  if (write) group_column_[false][group] = std::max(group_column_[false][group], data_end + t_.twtr_l);
  precharge_ready_[bank] = std::max(precharge_ready_[bank], write ? data_end + t_.twr : last + t_.trtp);
  return data_end;
}

void DramDevice::refresh(u32 rank, u64 now) {
  for (u32 bank = rank * banks_per_rank_; bank < (rank + 1) * banks_per_rank_; ++bank) {
    SIM_DCHECK(!is_open(bank) && now >= activate_ready_[bank], "rank {} is refreshed in cycle {}, too early", rank,
               now);
    activate_ready_[bank] = now + t_.trfc;
  }
}

}  // namespace terrace
