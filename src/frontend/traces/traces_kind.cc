// Device code that is a folder of traces: tenants name the folder, which is code, memory and launches in one.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "engine/check.h"
#include "frontend/stream_kind.h"
#include "frontend/traces/trace_folder.h"
#include "frontend/traces/trace_stream.h"

namespace terrace::traces {
namespace {

namespace fs = std::filesystem;

/// What the host of the traced program did: copies and launches.
class TraceProgram final : public Program {
 public:
  explicit TraceProgram(TraceFolder folder) : folder_(std::move(folder)) {}

  void allocate(GuestMemory& memory) override {
    const u64 page = static_cast<u64>(memory.page_size());
    MemoryRange pages;
    const auto map = [&] {
      if (pages.bytes != 0)
        memory.allocate_at(fmt::format("memory at {:#x}", pages.first), VirtAddr{pages.first}, pages.bytes);
    };
    for (const MemoryRange& range : folder_.memory) {
      const u64 first = range.first / page * page, end = (range.first + range.bytes + page - 1) / page * page;
      if (pages.bytes != 0 && first <= pages.first + pages.bytes) {
        pages.bytes = std::max(pages.bytes, end - pages.first);
      } else {
        map();
        pages = {first, end - first};
      }
    }
    map();
  }
  void initialise(GuestMemory&) override { next_ = 0; }

  std::optional<Launch> next(GuestMemory& memory) override {
    for (; next_ < folder_.commands.size(); ++next_) {
      if (const auto* copy = std::get_if<TraceFolder::Copy>(&folder_.commands[next_])) {
        // What was copied is not known; that caches must forget it is.
        if (copy->to.bytes != 0) memory.write(VirtAddr{copy->to.first}, copy->to.bytes);
        continue;
      }
      const auto& kernel = std::get<TraceFolder::Kernel>(folder_.commands[next_]);
      Launch launch;
      launch.module = kernel.file;
      launch.kernel = kernel.header.kernel;
      launch.grid = kernel.header.grid;
      launch.block = kernel.header.block;
      launch.block_limit = folder_.files[kernel.file].blocks;
      launch.stream = stream_of(kernel.header.stream);
      launch.host_waits = waits_after(next_++);
      return launch;
    }
    return std::nullopt;
  }
  void archive(Archive& a) override { a(next_, streams_); }
  CheckResult check(const GuestMemory&) const override {
    return {false, fmt::format("{}: a trace has no values to check", folder_.path)};
  }

 private:
  /// Streams have small numbers here.
  u32 stream_of(u64 id) {
    const auto known = std::ranges::find(streams_, id);
    if (known != streams_.end()) return static_cast<u32>(known - streams_.begin());
    streams_.push_back(id);
    return static_cast<u32>(streams_.size() - 1);
  }
  /// Copies and CUDA's default stream, 0, wait for everything before them, and everything waits for the default stream.
  bool waits_after(u64 command) const {
    const auto is_default = [&](u64 number) {
      return std::get<TraceFolder::Kernel>(folder_.commands[number]).header.stream == 0;
    };
    return is_default(command) || command + 1 == folder_.commands.size() ||
           std::holds_alternative<TraceFolder::Copy>(folder_.commands[command + 1]) || is_default(command + 1);
  }

  TraceFolder folder_;
  u64 next_ = 0;
  std::vector<u64> streams_;
};

class TracesKind final : public StreamKind {
 public:
  std::string_view name() const override { return "traces"; }

  std::unique_ptr<InstStream> make(const DeviceCode& code, GuestMemory& memory, u32 warp_width) const override {
    if (warp_width != kWarpThreads)
      input_error("{}: warps of a trace have {} threads, but those of the machine have {}; set sm.warp_width to {}",
                  code.file, kWarpThreads, warp_width, kWarpThreads);
    Manifest manifest = parse_manifest(code.text, code.file);
    return std::make_unique<TraceStream>(code.file, std::move(manifest), memory);
  }
  void check(const DeviceCode& code) const override {
    parse_manifest(code.text, code.file);
    read_trace_folder(code.file);
  }

  /// A path without a dot in its last part: workloads have no slash in their names, other files a suffix.
  bool reads(std::string_view program) const override {
    if (program.find('/') == program.npos) return false;
    std::error_code ignored;
    const fs::path path(program);
    return fs::is_directory(path, ignored) || !path.has_extension();
  }
  ProgramInstance load(const std::string& program, u64) const override {
    TraceFolder folder = read_trace_folder(program);
    DeviceCode code{program, folder.manifest(), std::string(name())};
    return {std::make_unique<TraceProgram>(std::move(folder)), std::move(code)};
  }

  bool has_values() const override { return false; }
  std::map<std::string, u64> unknown_opcodes(const DeviceCode& code) const override {
    return parse_manifest(code.text, code.file).unknown;
  }
};

const RegisterStreamKind<TracesKind> kTracesKind;

}  // namespace
}  // namespace terrace::traces
