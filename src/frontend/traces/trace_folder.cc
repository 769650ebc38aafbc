// SPDX-License-Identifier: MIT
#include "frontend/traces/trace_folder.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <sstream>
#include <unordered_set>

#include "engine/hash.h"
#include "engine/interrupt.h"
#include "frontend/guest_memory.h"
#include "frontend/traces/decoder.h"
#include "text/tree.h"

namespace terrace::traces {
namespace {

namespace fs = std::filesystem;

constexpr char kList[] = "kernelslist.g";
constexpr char kFirstLine[] = "terrace traces 1";
constexpr u64 kGranule = GuestMemory::kGranuleBytes;

void check_global(const LineSource& place, u64 first, u64 bytes) {
  if (first < GuestMemory::kBase || first >= GuestMemory::kEnd || bytes > GuestMemory::kEnd - first)
    place.refuse("address {:#x} is not a global address; those are from {:#x} to {:#x}", first, GuestMemory::kBase,
                 GuestMemory::kEnd);
}

class Scan {
 public:
  explicit Scan(TraceFolder& folder, OpcodeTable table) : folder_(folder), decoder_(std::move(table)) {}

  void kernel(KernelFile& file, KernelTrace& trace) {
    u64 local_first = ~u64{0}, local_end = 0;
    std::set<std::array<u32, 3>> seen;
    const auto look = [&](u32, const TraceLine& line) {
      const u32 number = decoder_.decode(line, trace.place());
      if (!decoder_.known(number)) ++folder_.unknown[decoder_.opcode(number)];
      if (!decoder_.has_addresses(number)) return;
      const DecodedInst& inst = decoder_.inst(number);
      for_each_address(line.mask, line.form, line.base, line.stride, line.addresses.data(), [&](u32, u64 address) {
        const Place place = Decoder::place(trace.header(), inst.space, address);
        if (place.offset % inst.lane_bytes != 0)
          trace.place().refuse("address {:#x} is not a multiple of the {} bytes that a lane accesses", address,
                               inst.lane_bytes);
        if (place.space == MemorySpace::kGlobal) {
          touch(trace.place(), place.offset, inst.lane_bytes);
          return;
        }
        if (place.offset >= GuestMemory::kWindowBytes)
          trace.place().refuse("address {:#x} is beyond the end of {} memory", address,
                               place.space == MemorySpace::kShared ? "shared" : "local");
        if (place.space != MemorySpace::kLocal) return;
        local_first = std::min(local_first, place.offset / 16 * 16);
        local_end = std::max(local_end, place.offset / 16 * 16 + 16);
      });
    };
    while (const std::optional<Dim3> block = trace.next_block(look)) {
      check_interrupt();
      if (!seen.insert({block->x, block->y, block->z}).second)
        trace.place().refuse("block {},{},{} appears twice in this trace", block->x, block->y, block->z);
    }
    if (seen.empty()) input_error("{}: has no thread block; it is truncated", trace.place().path());
    file.blocks = seen.size();
    if (local_end != 0) {
      file.local_first = local_first;
      file.local_bytes = local_end - local_first;
    }
  }

  /// Memory by granule; the ranges that were copied are there from the beginning.
  std::vector<MemoryRange> memory(std::vector<MemoryRange> ranges) const {
    for (const u64 granule : granules_) ranges.push_back({granule * kGranule, kGranule});
    std::ranges::sort(ranges, {}, &MemoryRange::first);
    std::vector<MemoryRange> merged;
    for (const MemoryRange& range : ranges) {
      if (range.bytes == 0) continue;
      if (!merged.empty() && range.first <= merged.back().first + merged.back().bytes) {
        MemoryRange& last = merged.back();
        last.bytes = std::max(last.bytes, range.first + range.bytes - last.first);
      } else {
        merged.push_back(range);
      }
    }
    return merged;
  }

 private:
  void touch(const LineSource& place, u64 address, u64 bytes) {
    const u64 granule = address / kGranule;  // accesses are aligned: none straddles two
    if (granule == last_granule_) return;
    check_global(place, address, bytes);
    granules_.insert(granule);
    last_granule_ = granule;
  }

  TraceFolder& folder_;
  Decoder decoder_;
  std::unordered_set<u64> granules_;
  u64 last_granule_ = ~u64{0};
};

MemoryRange parse_copy(std::string_view line, const LineSource& place) {
  const std::size_t first = line.find(','), second = line.find(',', first + 1);
  const std::optional<u64> address =
      second == line.npos ? std::nullopt : hex_number(line.substr(first + 1, second - first - 1));
  const std::optional<u64> bytes = second == line.npos ? std::nullopt : decimal_number(line.substr(second + 1));
  if (!address || !bytes) place.refuse("a copy is written as MemcpyHtoD,0xADDRESS,BYTES, not \"{}\"", printable(line));
  check_global(place, *address, *bytes);
  return {*address, *bytes};
}

bool is_trace(std::string_view name) {
  return name.ends_with(".traceg") || name.ends_with(".traceg.xz") || name.ends_with(".traceg.zst");
}

}  // namespace

TraceFolder read_trace_folder(const std::string& path) {
  std::error_code ignored;
  if (!fs::is_directory(path, ignored)) input_error("{}: there is no such folder of traces", path);
  const std::string list_path = (fs::path(path) / kList).string();
  if (!fs::exists(list_path, ignored))
    input_error("{}: has no {}; give the folder that the tracer's post-processing wrote", path, kList);
  TraceFolder folder;
  folder.path = path;
  OpcodeTable table = OpcodeTable::read(path);
  folder.table_hash = table.hash();
  Scan scan(folder, std::move(table));
  std::map<std::string, KernelHeader> headers;
  std::vector<MemoryRange> copies;
  LineSource list(list_path);
  while (const std::optional<std::string_view> read = list.next()) {
    std::string_view line = *read;
    while (line.ends_with(' ')) line.remove_suffix(1);
    if (line.empty()) continue;
    if (line.starts_with("MemcpyHtoD,")) {
      copies.push_back(parse_copy(line, list));
      folder.commands.emplace_back(TraceFolder::Copy{copies.back()});
    } else if (line.starts_with("Memcpy")) {
      continue;  // copies to the host change nothing that is simulated
    } else if (is_trace(line)) {
      const std::string name(line);
      if (name.find('/') != name.npos) list.refuse("\"{}\" lies in another folder", printable(name));
      auto known = std::ranges::find(folder.files, name, &KernelFile::name);
      if (known == folder.files.end()) {
        const std::string file_path = (fs::path(path) / name).string();
        if (!fs::exists(file_path, ignored)) list.refuse("there is no file {}", file_path);
        KernelFile file{name, file_hash(file_path)};
        KernelTrace trace(file_path);
        scan.kernel(file, trace);
        headers.emplace(name, trace.header());
        folder.files.push_back(std::move(file));
        known = folder.files.end() - 1;
      }
      folder.commands.emplace_back(
          TraceFolder::Kernel{static_cast<u32>(known - folder.files.begin()), headers.at(name)});
    } else {
      list.refuse("\"{}\" is neither a copy (MemcpyHtoD,...) nor a trace (.traceg, .traceg.xz, .traceg.zst)",
                  printable(line));
    }
  }
  if (folder.files.empty()) input_error("{}: has no kernel", list_path);
  folder.memory = scan.memory(std::move(copies));
  return folder;
}

std::string TraceFolder::manifest() const {
  std::string text = fmt::format("{}\ntable {}\n", kFirstLine, hash_text(table_hash));
  for (const KernelFile& file : files) {
    text += fmt::format("file {} {} {} {} {}\n", hash_text(file.hash), file.blocks, file.local_first, file.local_bytes,
                        file.name);
  }
  for (const auto& command : commands) {
    if (const auto* copy = std::get_if<Copy>(&command))
      text += fmt::format("copy {:#x} {}\n", copy->to.first, copy->to.bytes);
    else
      text += fmt::format("launch {}\n", std::get<Kernel>(command).file);
  }
  for (const auto& [opcode, count] : unknown) text += fmt::format("unknown {} {}\n", count, opcode);
  return text;
}

Manifest parse_manifest(const std::string& text, const std::string& folder) {
  Manifest manifest;
  std::istringstream lines(text);
  std::string line, word, hash;
  std::getline(lines, line);
  bool good = line == kFirstLine;
  while (good && std::getline(lines, line)) {
    std::istringstream words(line);
    words >> word;
    if (word == "file") {
      KernelFile file;
      words >> hash >> file.blocks >> file.local_first >> file.local_bytes;
      words.ignore();
      good = static_cast<bool>(std::getline(words, file.name));
      manifest.files.push_back(std::move(file));
    } else if (word == "unknown") {
      u64 count = 0;
      good = static_cast<bool>(words >> count >> word);
      manifest.unknown.emplace(word, count);
    }
  }
  if (!good || manifest.files.empty()) input_error("{}: is not what was read from a folder of traces", folder);
  return manifest;
}

}  // namespace terrace::traces
