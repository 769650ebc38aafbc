// The keys under `dram`.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "config/registry.h"
#include "dram/dram_scheduler.h"
#include "dram/timing.h"

namespace terrace {

enum class RowPolicy : u8 {
  kOpen,   // a row stays open until another one is wanted
  kClosed  // a row closes with the last access that waits for it
};
enum class MemoryPartition : u8 { kNone, kChannels };
enum class PartialWrites : u8 {
  kMask,  // data masks leave out the rest of a burst
  kRead   // a burst of which a part is written is read first, as memory with error correction does
};

struct DramConfig {
  DramStandardName standard = DramStandardName::kGddr5;
  u32 channels = 8;
  // 0: as the standard has it
  u32 ranks = 0, banks = 0, bank_groups = 0, row_bytes = 0, bus_bits = 0, burst_length = 0, transfers_per_clock = 0,
      command_buses = 0, clock_mhz = 0;
  DramTiming timing;

  // Highest bits first. Chosen: banks below columns, so that a sweep alternates between bank groups and keeps one row
  // of each bank open; a bank's row is still used up before the next one. A page of 4 KB whose frame is anywhere lies
  // in four chunks: each brings a row eight lines of 128 bytes, and four channels work on the page. With chunks of 256
  // bytes, as contiguous memory would allow, a row serves two lines before another page closes it.
  std::string mapping = "row:rank:column:bank:channel";
  u32 interleave_bytes = 1024;
  bool channel_hash = true, bank_hash = true;
  MemoryPartition partition = MemoryPartition::kNone;
  u32 link_cycles = 1, controller_cycles = 0;

  // Reads: MASK's three queues of 16 + 64 + 192 are printed as 6 % more than its baseline's. Chosen: half as many writes,
  // which go in batches of 80, so that turning the bus costs little.
  u32 read_entries = 256, write_entries = 128, write_high = 112, write_low = 32, return_entries = 32;
  RowPolicy row_policy = RowPolicy::kOpen;
  PartialWrites partial_writes = PartialWrites::kMask;
  bool refresh = true;
  Policy<DramScheduler> scheduler{"frfcfs"};

  void describe(Fields& v);
  void validate(Validation& v) const;

  /// With every 0 replaced by what the standard says.
  DramConfig resolved() const;
  /// The same with so many channels.
  DramConfig with_channels(u32 count) const {
    DramConfig other = *this;
    other.channels = count;
    return other;
  }

  // Of a resolved configuration:
  u32 burst_bytes() const { return bus_bits / 8 * burst_length; }
  u32 burst_cycles() const { return burst_length / transfers_per_clock; }
  u64 pin_bytes_per_second() const {
    return u64{channels} * clock_mhz * 1'000'000 * transfers_per_clock * bus_bits / 8;
  }
};

}  // namespace terrace
