// The times that a DRAM keeps between commands, in cycles of its command clock, and the standards they come from. A
// value of 0 in a configuration stands for the standard's own; at another clock than the standard's reference, what is
// physics (rows, cells) scales with the clock and is rounded up, what is counted in clocks (bursts, the bus) stays.
// docs/dram.md has the table with its sources.
// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

#include "config/fields.h"
#include "engine/types.h"

namespace terrace {

struct DramTiming {
  u32 cl = 0;          // read command to its first data
  u32 cwl = 0;         // write command to its first data
  u32 trcd = 0;        // activate to column command
  u32 trp = 0;         // precharge to activate
  u32 tras = 0;        // activate to precharge
  u32 trc = 0;         // activate to activate, same bank
  u32 trrd_s = 0;      // activate to activate, same rank, other bank group
  u32 trrd_l = 0;      // same bank group
  u32 tfaw = 0;        // a window in which a rank activates at most four rows
  u32 tccd_s = 0;      // column to column command, other bank group
  u32 tccd_l = 0;      // same bank group
  u32 twtr_s = 0;      // end of write data to read command, same rank, other bank group
  u32 twtr_l = 0;      // same bank group
  u32 trtp = 0;        // read command to precharge
  u32 twr = 0;         // end of write data to precharge
  u32 turnaround = 0;  // idle bus cycles between read data and write data
  u32 trtrs = 0;       // idle bus cycles between data of two ranks
  u32 trfc = 0;        // refresh to activate
  u32 trefi = 0;       // mean time between the refreshes of a rank

  void describe(Fields& v);
};

/// Everything about a memory that a standard fixes.
struct DramStandard {
  std::string_view name;
  u32 ranks, banks, bank_groups;  // of a channel, of a rank, of a rank
  u32 row_bytes;                  // of a bank, over all devices of the channel
  u32 bus_bits;
  u32 burst_length;         // transfers of one column command
  u32 transfers_per_clock;  // of the command clock: 2, or 4 in GDDR5, whose data clock runs at twice the command clock
  u32 command_buses;        // 2: a row and a column command in the same cycle
  u32 clock_mhz;            // the command clock for which `timing` is written
  DramTiming timing;
};

enum class DramStandardName : u8 { kGddr5, kDdr3, kHbm2, kHbm3, kCustom };

/// Null for custom, where every key stands for itself.
const DramStandard* find_standard(DramStandardName name);

/// `given` with each 0 replaced by the standard's value, scaled to `clock_mhz`.
DramTiming resolve(const DramTiming& given, const DramStandard& standard, u32 clock_mhz);

}  // namespace terrace
