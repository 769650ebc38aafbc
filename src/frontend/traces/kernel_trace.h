// Reads the trace of one kernel, as Accel-Sim's tracer and its post-processing write it (kernel-N.traceg): a header, then
// thread block after thread block, each with the instructions of its warps. One block at a time is in memory.
//
// A line of an instruction: [source line] PC mask count [destinations] opcode count [sources] width [form addresses...]
// [immediate]. Everything that does not fit is an InputError with file and line.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/types.h"
#include "frontend/program.h"
#include "frontend/traces/line_source.h"

namespace terrace::traces {

inline constexpr u32 kWarpThreads = 32;
/// The zero register: what it is read for is never waited for.
inline constexpr u16 kZeroRegister = 255;
inline constexpr u16 kRegisters = 256;

struct KernelHeader {
  std::string kernel;
  Dim3 grid, block;
  u32 shared_bytes = 0;
  u32 registers = 0;  // of a thread
  u64 stream = 0;
  /// Where generic addresses reach shared and local memory; 0: not told.
  u64 shared_base = 0, local_base = 0;
  bool source_lines = false;

  u32 warps() const { return static_cast<u32>((block.count() + kWarpThreads - 1) / kWarpThreads); }
};

/// How the addresses of an instruction are written.
enum class AddressForm : u8 { kNone, kStride, kList, kBulk };

/// An instruction as its line has it. Views are valid until the next line is read.
struct TraceLine {
  u32 pc = 0, source_line = 0;
  u32 mask = 0;
  std::vector<u16> destinations, sources;
  std::string_view opcode;
  u32 width = 0;
  AddressForm form = AddressForm::kNone;
  u64 base = 0;
  i64 stride = 0;
  std::vector<u64> addresses;  // of kList: one per active lane
  std::string_view fixed;      // all that is the same whenever this instruction is executed
};

class KernelTrace {
 public:
  /// Reads the header.
  explicit KernelTrace(const std::string& path);
  const KernelHeader& header() const { return header_; }
  const LineSource& place() const { return lines_; }

  /// The next block of the file, or nothing when there is none: its instructions are passed one after the other, warp after
  /// warp, as `take(warp, line)`.
  template <class Take>
  std::optional<Dim3> next_block(Take&& take) {
    const std::optional<Dim3> block = begin_block();
    if (!block) return std::nullopt;
    while (const std::optional<u32> warp = next_inst()) take(*warp, static_cast<const TraceLine&>(inst_));
    return block;
  }
  /// Goes past the next block without a look at its instructions; false when there is none.
  bool skip_block();

 private:
  void read_header();
  void header_value(std::string_view key, std::string_view value);
  std::optional<Dim3> begin_block();
  std::optional<u32> next_inst();
  void parse_inst(std::string_view line);
  void parse_addresses(class Words& words);

  LineSource lines_;
  KernelHeader header_;
  bool in_block_ = false;
  bool begun_ = false;  // the line that begins the first block was read with the header
  std::optional<u32> warp_;
  std::optional<u64> left_;  // instructions of the warp; nothing before its count is read
  std::vector<bool> warps_seen_;
  TraceLine inst_;
};

/// "0x1f" or "1f".
std::optional<u64> hex_number(std::string_view text);
std::optional<u64> decimal_number(std::string_view text);

}  // namespace terrace::traces
