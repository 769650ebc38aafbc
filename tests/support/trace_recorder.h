// Writes down what a program does as Accel-Sim's tracer would: runs it functionally and makes a folder of traces of it. SASS
// has other instructions than PTX; here each PTX instruction becomes the SASS one of its class, with the same lanes,
// registers and addresses, so that a replay must do exactly what the program does.
// SPDX-License-Identifier: MIT
#pragma once

#include <lzma.h>
#include <zstd.h>

#include <bit>
#include <map>
#include <string>
#include <vector>

#include "engine/check.h"
#include "frontend/functional_runner.h"
#include "support/forwarding_stream.h"
#include "support/scratch.h"

namespace terrace {

/// How a recorder writes addresses: 0 one by one, 1 base and stride where lanes allow it, 2 base and distances.
enum class WrittenAddresses : u32 { kAll = 0, kStride = 1, kDistances = 2 };

inline std::string written_addresses(const Effect& effect, WrittenAddresses as) {
  std::vector<u64> lanes;
  for (u64 left = effect.active; left != 0; left &= left - 1)
    lanes.push_back(effect.address[static_cast<u32>(std::countr_zero(left))]);
  const u64 run = effect.active >> std::countr_zero(effect.active);
  bool strided = as == WrittenAddresses::kStride && (run & (run + 1)) == 0;
  const u64 stride = lanes.size() > 1 ? lanes[1] - lanes[0] : 0;
  for (std::size_t i = 1; i < lanes.size(); ++i) strided &= lanes[i] - lanes[i - 1] == stride;
  if (strided) return fmt::format("1 {:#x} {} ", lanes[0], static_cast<i64>(stride));
  std::string text = fmt::format("{} ", as == WrittenAddresses::kAll ? 0 : 2);
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    if (i == 0 || as == WrittenAddresses::kAll)
      text += fmt::format("{:#018x} ", lanes[i]);
    else
      text += fmt::format("{} ", static_cast<i64>(lanes[i] - lanes[i - 1]));
  }
  return text;
}

class TraceRecorder final : public ForwardingStream {
 public:
  TraceRecorder(InstStream& inner, WrittenAddresses as) : ForwardingStream(inner), as_(as) {}

  LaunchShape begin_launch(const Launch& launch) override {
    const LaunchShape shape = ForwardingStream::begin_launch(launch);
    grid_ = launch.grid;
    text_ = fmt::format(
        "-kernel name = {}\n-kernel id = 1\n-grid dim = ({},{},{})\n-block dim = ({},{},{})\n-shmem = {}\n-nregs = {}\n"
        "-binary version = 70\n-cuda stream id = 0\n-shmem base_addr = 0x00007f1000000000\n"
        "-local mem base_addr = 0x00007f1002000000\n-nvbit version = 1.5\n-accelsim tracer version = 3\n\n"
        "#traces format = PC mask dest_num [reg_dests] opcode src_num [reg_srcs] mem_width [adrrescompress?] "
        "[mem_addresses]\n\n",
        launch.kernel, launch.grid.x, launch.grid.y, launch.grid.z, launch.block.x, launch.block.y, launch.block.z,
        shape.shared_bytes_per_block, shape.registers_per_thread);
    return shape;
  }
  BlockRef begin_block(LaunchId launch, u64 block, SmId sm) override {
    warps_.clear();
    number_ = block;
    return current_ = ForwardingStream::begin_block(launch, block, sm);
  }
  WarpRef warp(BlockRef block, u32 number) const override {
    const WarpRef ref = ForwardingStream::warp(block, number);
    numbers_[ref] = number;
    return ref;
  }
  void execute(WarpRef warp, Cycle now, StoreLog& stores, Effect& effect) override {
    const DecodedInst inst = view(warp).next();
    ForwardingStream::execute(warp, now, stores, effect);
    std::string line = fmt::format("{:04x} {:08x} {}", 16 * inst.line, effect.active, registers(inst, true));
    line += fmt::format("{} {}", opcode(inst, effect), registers(inst, false));
    const bool addresses = inst.cls == InstClass::kMemory && inst.space != MemorySpace::kParameter;
    if (addresses && effect.active != 0)
      line += fmt::format("{} {}", inst.lane_bytes, written_addresses(effect, as_));
    else
      line += addresses ? fmt::format("{} 1 0x0 0 ", inst.lane_bytes) : "0 ";
    warps_[numbers_.at(warp)].push_back(std::move(line));
  }
  void end_block(BlockRef block) override {
    text_ += fmt::format("\n#BEGIN_TB\n\nthread block = {},{},{}\n", number_ % grid_.x, number_ / grid_.x % grid_.y,
                         number_ / grid_.x / grid_.y);
    for (const auto& [warp, lines] : warps_) {
      text_ += fmt::format("\nwarp = {}\ninsts = {}\n", warp, lines.size());
      for (const std::string& line : lines) text_ += line + "\n";
    }
    text_ += "\n#END_TB\n";
    ForwardingStream::end_block(block);
  }
  /// Of the last launch.
  const std::string& text() const { return text_; }

 private:
  /// Four registers for each of PTX, so that wide loads do not reach into the next.
  static std::string registers(const DecodedInst& inst, bool written) {
    const u32 first = written ? inst.sources : 0u, count = written ? inst.destinations : inst.sources;
    std::string text = fmt::format("{} ", count);
    for (u32 i = 0; i < count; ++i) {
      SIM_CHECK(inst.registers[first + i] < 63, "the kernel has too many registers to be written down");
      text += fmt::format("R{} ", 4 * inst.registers[first + i]);
    }
    return text;
  }
  static std::string opcode(const DecodedInst& inst, const Effect& effect) {
    const bool done = effect.status == WarpStatus::kDone;
    switch (inst.cls) {
      case InstClass::kInteger:
        return "IADD3";
      case InstClass::kFloat:
        return "FADD";
      case InstClass::kDouble:
        return "DADD";
      case InstClass::kSpecial:
        return "MUFU.RCP";
      case InstClass::kControl:
        return done ? "EXIT" : "BRA";
      case InstClass::kBarrier:
        return "BAR.SYNC";
      case InstClass::kFence:
        return "MEMBAR.SC.GPU";
      case InstClass::kTensor:
        return "HMMA.16816.F32";
      case InstClass::kMemory:
        break;
    }
    const char* const bits = inst.lane_bytes == 1   ? ".U8"
                             : inst.lane_bytes == 2 ? ".U16"
                             : inst.lane_bytes == 8 ? ".64"
                                                    : "";
    if (inst.space == MemorySpace::kParameter) return "LDC";
    const std::string space = inst.space == MemorySpace::kShared ? "S" : "G";
    switch (inst.action) {
      case MemoryAction::kLoad:
        return "LD" + space + bits;
      case MemoryAction::kStore:
        return "ST" + space + bits;
      case MemoryAction::kAtomic:
        return "ATOM" + space + ".ADD" + bits;
      default:
        return std::string("RED.E.ADD") + bits;
    }
  }

  WrittenAddresses as_;
  std::string text_;
  Dim3 grid_;
  BlockRef current_{};
  u64 number_ = 0;
  mutable std::map<WarpRef, u32> numbers_;
  std::map<u32, std::vector<std::string>> warps_;
};

inline std::string xz_of(const std::string& text) {
  std::string out(lzma_stream_buffer_bound(text.size()), '\0');
  std::size_t used = 0;
  const lzma_ret result =
      lzma_easy_buffer_encode(1, LZMA_CHECK_CRC32, nullptr, reinterpret_cast<const u8*>(text.data()), text.size(),
                              reinterpret_cast<u8*>(out.data()), &used, out.size());
  SIM_CHECK(result == LZMA_OK, "xz does not compress");
  out.resize(used);
  return out;
}
inline std::string zstd_of(const std::string& text) {
  std::string out(ZSTD_compressBound(text.size()), '\0');
  const std::size_t used = ZSTD_compress(out.data(), out.size(), text.data(), text.size(), 1);
  SIM_CHECK(!ZSTD_isError(used), "zstd does not compress");
  out.resize(used);
  return out;
}

}  // namespace terrace
