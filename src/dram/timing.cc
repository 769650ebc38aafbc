// SPDX-License-Identifier: MIT
#include "dram/timing.h"

namespace terrace {

namespace {

/// How a time behaves when the clock changes.
enum class Scale : u8 { kClocks, kUp, kDown };

struct TimingKey {
  std::string_view name;
  u32 DramTiming::* value;
  Scale scale;
  std::string_view doc;
};

constexpr TimingKey kKeys[] = {
    {"cl", &DramTiming::cl, Scale::kUp, "command clocks from a read command to its first data"},
    {"cwl", &DramTiming::cwl, Scale::kUp, "command clocks from a write command to its first data"},
    {"trcd", &DramTiming::trcd, Scale::kUp, "command clocks from an activate to a column command"},
    {"trp", &DramTiming::trp, Scale::kUp, "command clocks from a precharge to an activate"},
    {"tras", &DramTiming::tras, Scale::kUp, "command clocks from an activate to a precharge"},
    {"trc", &DramTiming::trc, Scale::kUp, "command clocks between activates of one bank"},
    {"trrd_s", &DramTiming::trrd_s, Scale::kUp, "command clocks between activates of two bank groups of a rank"},
    {"trrd_l", &DramTiming::trrd_l, Scale::kUp, "command clocks between activates within a bank group"},
    {"tfaw", &DramTiming::tfaw, Scale::kUp, "command clocks in which a rank activates at most four rows"},
    {"tccd_s", &DramTiming::tccd_s, Scale::kClocks, "command clocks between column commands of two bank groups"},
    {"tccd_l", &DramTiming::tccd_l, Scale::kClocks, "command clocks between column commands within a bank group"},
    {"twtr_s", &DramTiming::twtr_s, Scale::kUp,
     "command clocks from the end of write data to a read command in another bank group of the rank"},
    {"twtr_l", &DramTiming::twtr_l, Scale::kUp,
     "command clocks from the end of write data to a read command within a bank group"},
    {"trtp", &DramTiming::trtp, Scale::kUp, "command clocks from a read command to a precharge"},
    {"twr", &DramTiming::twr, Scale::kUp, "command clocks from the end of write data to a precharge"},
    {"turnaround", &DramTiming::turnaround, Scale::kClocks,
     "command clocks for which the bus is idle between read data and write data"},
    {"trtrs", &DramTiming::trtrs, Scale::kClocks, "command clocks for which the bus is idle between data of two ranks"},
    {"trfc", &DramTiming::trfc, Scale::kUp, "command clocks from a refresh to an activate"},
    {"trefi", &DramTiming::trefi, Scale::kDown, "command clocks between refreshes of a rank, on average"},
};

// GDDR5: SK hynix H5GQ1H24AFR (1 Gbit, x32), as two public simulators read its datasheet.
//   GPGPU-Sim, configs/GTX480 (command clock 924 MHz): CCD=2 RRD=6 RCD=12 RAS=28 RP=12 RC=40 CL=12 WL=4 CDLR=5 (our
//   twtr) WR=12 nbkgrp=4 CCDL=3 RTPL=2 (our trtp), 16 banks, 4 transfers per command clock, burst 8.
//   gem5, GDDR5_4000_2x32: tFAW 23 ns (22 cycles at 924 MHz), tRFC 65 ns (61), read to write 2 cycles; the same values
//   as above in nanoseconds.
//   trefi: 8,192 refreshes in 32 ms (JESD212), 3.9 us, 3,603 cycles. row_bytes: 2 KiB per x32 device (JESD212, 1 Gbit).
//   trtrs 1: chosen (one rank is usual; DRAMsim3 has tRTRS 1 in its DDR3 devices).
//
// DDR3-1600K: JEDEC JESD79-3F, speed bin 11-11-11 at 800 MHz, 4 Gbit x8 devices, eight to a rank.
//   CL 11, CWL 8, tRCD = tRP = 13.75 ns, tRAS 35 ns, tRC 48.75 ns, tRRD max(4 CK, 6 ns), tFAW 30 ns (1 KB page), tCCD
//   4, tWTR and tRTP max(4 CK, 7.5 ns), tWR 15 ns, tRFC 260 ns, tREFI 7.8 us. Row 8 x 1 KB. turnaround 2: JESD79-3F
//   gives read-to-write as CL + tCCD + 2 - CWL. trtrs 1: as DRAMsim3.
//
// HBM2: DRAMsim3, configs/HBM2_8Gb_x128.ini (1 GHz, 128 bits, burst 4, 4 groups of 4 banks): CL 14, CWL 4, tRCDRD =
//   tRCDWR = tRP 14, tRAS 34, tRRD 4/6, tFAW 30, tWTR 6/8, tWR 16, tRTP_L 6, tRFC 260, tREFI 3,900, row of 64 columns
//   x 16 bytes x 2. tCCD 1/2 there; a burst of 4 takes two clocks, so tccd_s 2. tRC = tRAS + tRP. turnaround 2: chosen
//   as in DDR3. Row and column commands have buses of their own (JESD235).
//
// HBM3: JESD238, 6.4 Gbit/s a pin: a pseudo-channel of 32 bits, burst 8, command clock 1.6 GHz, four transfers each; 4 groups
//   of 4 banks. As public simulators read it: tRCD = tRP = CL 16 ns, tRAS 33 ns, tRC 49 ns, tWR 16 ns, tFAW 16 ns, tRFC
//   260 ns, tREFI 3.9 us. A burst takes two clocks, so tccd_s 2. Row of 1 KB. The rest in nanoseconds as HBM2's, but
//   tRRD, which is a quarter of tFAW at most. Row and column commands have buses of their own.
constexpr DramStandard kStandards[] = {
    {.name = "gddr5",
     .ranks = 1,
     .banks = 16,
     .bank_groups = 4,
     .row_bytes = 2048,
     .bus_bits = 32,
     .burst_length = 8,
     .transfers_per_clock = 4,
     .command_buses = 1,
     .clock_mhz = 924,
     .timing = {.cl = 12,
                .cwl = 4,
                .trcd = 12,
                .trp = 12,
                .tras = 28,
                .trc = 40,
                .trrd_s = 6,
                .trrd_l = 6,
                .tfaw = 22,
                .tccd_s = 2,
                .tccd_l = 3,
                .twtr_s = 5,
                .twtr_l = 5,
                .trtp = 2,
                .twr = 12,
                .turnaround = 2,
                .trtrs = 1,
                .trfc = 61,
                .trefi = 3603}},
    {.name = "ddr3",
     .ranks = 2,
     .banks = 8,
     .bank_groups = 1,
     .row_bytes = 8192,
     .bus_bits = 64,
     .burst_length = 8,
     .transfers_per_clock = 2,
     .command_buses = 1,
     .clock_mhz = 800,
     .timing = {.cl = 11,
                .cwl = 8,
                .trcd = 11,
                .trp = 11,
                .tras = 28,
                .trc = 39,
                .trrd_s = 5,
                .trrd_l = 5,
                .tfaw = 24,
                .tccd_s = 4,
                .tccd_l = 4,
                .twtr_s = 6,
                .twtr_l = 6,
                .trtp = 6,
                .twr = 12,
                .turnaround = 2,
                .trtrs = 1,
                .trfc = 208,
                .trefi = 6240}},
    {.name = "hbm2",
     .ranks = 1,
     .banks = 16,
     .bank_groups = 4,
     .row_bytes = 2048,
     .bus_bits = 128,
     .burst_length = 4,
     .transfers_per_clock = 2,
     .command_buses = 2,
     .clock_mhz = 1000,
     .timing = {.cl = 14,
                .cwl = 4,
                .trcd = 14,
                .trp = 14,
                .tras = 34,
                .trc = 48,
                .trrd_s = 4,
                .trrd_l = 6,
                .tfaw = 30,
                .tccd_s = 2,
                .tccd_l = 2,
                .twtr_s = 6,
                .twtr_l = 8,
                .trtp = 6,
                .twr = 16,
                .turnaround = 2,
                .trtrs = 1,
                .trfc = 260,
                .trefi = 3900}},
    {.name = "hbm3",
     .ranks = 1,
     .banks = 16,
     .bank_groups = 4,
     .row_bytes = 1024,
     .bus_bits = 32,
     .burst_length = 8,
     .transfers_per_clock = 4,
     .command_buses = 2,
     .clock_mhz = 1600,
     .timing = {.cl = 26,
                .cwl = 7,
                .trcd = 26,
                .trp = 26,
                .tras = 53,
                .trc = 79,
                .trrd_s = 4,
                .trrd_l = 6,
                .tfaw = 26,
                .tccd_s = 2,
                .tccd_l = 2,
                .twtr_s = 10,
                .twtr_l = 13,
                .trtp = 10,
                .twr = 26,
                .turnaround = 2,
                .trtrs = 1,
                .trfc = 416,
                .trefi = 6240}},
};

u32 scaled(u64 cycles, Scale scale, u64 from_mhz, u64 to_mhz) {
  if (scale == Scale::kClocks) return static_cast<u32>(cycles);
  return static_cast<u32>((cycles * to_mhz + (scale == Scale::kUp ? from_mhz - 1 : 0)) / from_mhz);
}

}  // namespace

void DramTiming::describe(Fields& v) {
  for (const TimingKey& key : kKeys) v(key.name, this->*key.value, in(0, 1'000'000), key.doc);
}

const DramStandard* find_standard(DramStandardName name) {
  return name == DramStandardName::kCustom ? nullptr : &kStandards[static_cast<u32>(name)];
}

DramTiming resolve(const DramTiming& given, const DramStandard& standard, u32 clock_mhz) {
  DramTiming timing = given;
  for (const TimingKey& key : kKeys) {
    u32& value = timing.*key.value;
    if (value == 0) value = scaled(standard.timing.*key.value, key.scale, standard.clock_mhz, clock_mhz);
  }
  return timing;
}

}  // namespace terrace
