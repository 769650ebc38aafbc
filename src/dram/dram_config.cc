// SPDX-License-Identifier: MIT
#include "dram/dram_config.h"

#include <bit>

#include "config/validation.h"
#include "dram/address_map.h"

namespace terrace {

namespace {

/// What a configuration and a standard call by the same name.
struct ShapeKey {
  std::string_view name;
  u32 DramConfig::* value;
  u32 DramStandard::* standard;
  Range range;
  std::string_view doc;
};
// A flat bank number fits a 64-bit mask; the other limits are far beyond any device.
constexpr ShapeKey kShape[] = {
    {"ranks", &DramConfig::ranks, &DramStandard::ranks, {0, 8}, "ranks per channel"},
    {"banks", &DramConfig::banks, &DramStandard::banks, {0, 64}, "banks per rank"},
    {"bank_groups",
     &DramConfig::bank_groups,
     &DramStandard::bank_groups,
     {0, 16},
     "bank groups per rank; 1: no bank groups"},
    {"row_bytes", &DramConfig::row_bytes, &DramStandard::row_bytes, {0, 65536}, "bytes of a row"},
    {"bus_bits", &DramConfig::bus_bits, &DramStandard::bus_bits, {0, 1024}, "width of a channel's data bus in bits"},
    {"burst_length", &DramConfig::burst_length, &DramStandard::burst_length, {0, 64}, "transfers per column command"},
    {"transfers_per_clock",
     &DramConfig::transfers_per_clock,
     &DramStandard::transfers_per_clock,
     {0, 8},
     "transfers per command clock: 2, or 4 in GDDR5"},
    {"command_buses",
     &DramConfig::command_buses,
     &DramStandard::command_buses,
     {0, 2},
     "2: row and column commands have a bus each, as in HBM"},
    {"clock_mhz",
     &DramConfig::clock_mhz,
     &DramStandard::clock_mhz,
     {0, 10000},
     "frequency of the command clock in MHz"},
};

}  // namespace

void DramConfig::describe(Fields& v) {
  v("standard", standard, {"gddr5", "ddr3", "hbm2", "hbm3", "custom"},
    "memory standard, which supplies shape, clock and timing where their keys are 0; custom: give them all");
  v("channels", channels, in(1, 256), "memory channels");
  for (const ShapeKey& key : kShape) v(key.name, this->*key.value, key.range, key.doc);
  v.group("timing", timing, "times in cycles of the command clock; 0: the standard's value, converted to this clock");
  v("mapping", mapping, "order of the fields of a physical address, highest first: row, rank, bank, column, channel");
  v("interleave_bytes", interleave_bytes, in(32, 65536),
    "consecutive bytes that stay in one row, below the lowest field of the mapping");
  v("channel_hash", channel_hash, "also hash the address bits above the channel field into the channel");
  v("bank_hash", bank_hash, "hash the lowest row bits into the bank");
  v("partition", partition, {"none", "channels"},
    "none: tenants share all channels; channels: each tenant has its own channels, with the L2 slices in front of "
    "them, divided evenly (a remainder goes to the first tenants)");
  v("link_cycles", link_cycles, in(1, 10'000),
    "link latency, in core cycles, between an L2 slice (or an MMU that reads memory directly) and the memory "
    "controller, each way");
  v("controller_cycles", controller_cycles, in(0, 10'000),
    "latency of the memory controller, in core cycles, before the first command of a request");
  v("read_entries", read_entries, in(1, 4096), "entries of a channel's read queue");
  v("write_entries", write_entries, in(1, 4096), "entries of a channel's write queue");
  v("write_high", write_high, in(1, 4096), "queued writes at which a channel switches to writing");
  v("write_low", write_low, in(0, 4096), "queued writes at which a channel switches back to reading, if reads wait");
  v("return_entries", return_entries, in(1, 4096), "reads in service or waiting for the reply link, per channel");
  v("row_policy", row_policy, {"open", "closed"},
    "open: rows stay open; closed: a row is closed when no queued request needs it");
  v("partial_writes", partial_writes, {"mask", "read"},
    "how a part of a burst is written: mask: at once, and data masks leave out the rest; read: the burst is read "
    "first, as "
    "for error correction");
  v("refresh", refresh, "model refresh");
  v.policy("scheduler", scheduler, "which queued request a bank serves next");
}

DramConfig DramConfig::resolved() const {
  DramConfig full = *this;
  const DramStandard* own = find_standard(standard);
  if (own == nullptr) return full;
  for (const ShapeKey& key : kShape)
    if (full.*key.value == 0) full.*key.value = own->*key.standard;
  full.timing = resolve(timing, *own, full.clock_mhz);
  return full;
}

void DramConfig::validate(Validation& v) const {
  const DramConfig full = resolved();
  for (const ShapeKey& key : kShape)
    v.require(full.*key.value != 0, key.name, "must be given when the standard is \"custom\"");
  const auto power_of_two = [&](std::string_view key, u32 value) {
    v.require(std::has_single_bit(value), key, "must be a power of two");
  };
  power_of_two("ranks", full.ranks);
  power_of_two("banks", full.banks);
  power_of_two("bank_groups", full.bank_groups);
  power_of_two("row_bytes", full.row_bytes);
  power_of_two("interleave_bytes", full.interleave_bytes);
  power_of_two("bus_bits", full.bus_bits);
  v.require(full.bus_bits >= 8, "bus_bits", "must be at least 8");
  v.require(full.ranks * full.banks <= 64, "banks", "times ranks ({}) must not exceed 64 banks in a channel",
            full.ranks);
  v.require(full.bank_groups <= full.banks, "bank_groups", "must not exceed banks ({})", full.banks);
  v.require(full.interleave_bytes <= full.row_bytes, "interleave_bytes", "must not exceed row_bytes ({})",
            full.row_bytes);
  v.require(full.burst_length % full.transfers_per_clock == 0, "burst_length",
            "must be a multiple of transfers_per_clock ({})", full.transfers_per_clock);
  // Otherwise column commands could fill the only command bus and no row would ever be opened.
  v.require(full.command_buses == 2 || full.burst_cycles() >= 2 || full.timing.tccd_s >= 2, "command_buses",
            "must be 2 when a column command can be issued in every cycle");
  v.require(full.timing.cl > 0 && full.timing.trcd > 0 && full.timing.trp > 0, "timing.trcd",
            "and timing.trp and timing.cl must be given when the standard is \"custom\"");
  v.require(!refresh || full.timing.trfc + full.timing.trp < full.timing.trefi, "timing.trefi",
            "must exceed timing.trfc + timing.trp ({})", full.timing.trfc + full.timing.trp);
  v.require(write_high <= write_entries, "write_high", "must not exceed write_entries ({})", write_entries);
  v.require(write_low < write_high, "write_low", "must be less than write_high ({})", write_high);
  const std::string wrong = AddressMap::fault_in(mapping);
  v.require(wrong.empty(), "mapping", "{}", wrong);
}

}  // namespace terrace
