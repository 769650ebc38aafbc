// SPDX-License-Identifier: MIT
#include "frontend/traces/kernel_trace.h"

#include <bit>
#include <charconv>
#include <cstdlib>

#include "text/tree.h"

namespace terrace::traces {
namespace {

constexpr u32 kOldestVersion = 3;  // before it, lines had other fields
constexpr u32 kOldestSass = 70;    // Volta
constexpr u32 kMostDestinations = 4, kMostSources = 8;

template <class T>
std::optional<T> number(std::string_view text, int base) {
  T value{};
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (failed != std::errc{} || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return value;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

/// "1,2,3", with brackets around it or not.
std::optional<Dim3> three(std::string_view text) {
  if (text.starts_with('(') && text.ends_with(')')) text = text.substr(1, text.size() - 2);
  std::array<u32, 3> parts{};
  for (u32 i = 0; i < 3; ++i) {
    const std::size_t comma = i == 2 ? text.size() : text.find(',');
    if (comma == text.npos) return std::nullopt;
    const std::optional<u32> part = number<u32>(trimmed(text.substr(0, comma)), 10);
    if (!part) return std::nullopt;
    parts[i] = *part;
    text.remove_prefix(i == 2 ? comma : comma + 1);
  }
  return Dim3{parts[0], parts[1], parts[2]};
}

/// What stands behind "name = ", or nothing when the line does not say that.
std::optional<std::string_view> value_of(std::string_view line, std::string_view name) {
  if (!line.starts_with(name)) return std::nullopt;
  line = trimmed(line.substr(name.size()));
  if (!line.starts_with('=')) return std::nullopt;
  return trimmed(line.substr(1));
}

}  // namespace

std::optional<u64> hex_number(std::string_view text) {
  if (text.starts_with("0x") || text.starts_with("0X")) text.remove_prefix(2);
  return number<u64>(text, 16);
}

std::optional<u64> decimal_number(std::string_view text) {
  return number<u64>(text, 10);
}

/// The words of a line, one after the other, each with a name for sentences.
class Words {
 public:
  Words(std::string_view line, const LineSource& place) : line_(line), place_(place) { skip_blanks(); }

  bool empty() const { return at_ == line_.size(); }
  std::size_t at() const { return at_; }
  std::string_view next(std::string_view name) {
    if (empty()) place_.refuse("the line ends before its {}", name);
    const std::size_t end = std::min(line_.find_first_of(" \t", at_), line_.size());
    const std::string_view word = line_.substr(at_, end - at_);
    at_ = end;
    skip_blanks();
    return word;
  }
  template <class T>
  T whole(std::string_view name, u64 most = ~u64{0}) {
    const std::string_view word = next(name);
    const std::optional<T> value = number<T>(word, 10);
    if (!value || (*value > 0 && static_cast<u64>(*value) > most)) wrong(word, name);
    return *value;
  }
  u32 hex32(std::string_view name) {
    const std::string_view word = next(name);
    const std::optional<u64> value = hex_number(word);
    if (!value || *value > ~u32{0}) wrong(word, name);
    return static_cast<u32>(*value);
  }
  u64 address(std::string_view name) {
    const std::string_view word = next(name);
    const std::optional<u64> value = hex_number(word);
    if (!value) wrong(word, name);
    return *value;
  }
  u16 reg(std::string_view name) {
    const std::string_view word = next(name);
    const std::optional<u32> value = word.starts_with('R') ? number<u32>(word.substr(1), 10) : std::nullopt;
    if (!value || *value >= kRegisters) wrong(word, name);
    return static_cast<u16>(*value);
  }
  [[noreturn]] void wrong(std::string_view word, std::string_view name) const {
    place_.refuse("\"{}\" is not a valid {}", printable(word), name);
  }

 private:
  void skip_blanks() { at_ = std::min(line_.find_first_not_of(" \t", at_), line_.size()); }

  std::string_view line_;
  const LineSource& place_;
  std::size_t at_ = 0;
};

KernelTrace::KernelTrace(const std::string& path) : lines_(path) {
  read_header();
}

void KernelTrace::read_header() {
  bool grid = false, block = false, shared = false, registers = false, version = false;
  while (!begun_) {
    const std::optional<std::string_view> read = lines_.next();
    if (!read) break;
    const std::string_view line = trimmed(*read);
    if (line.empty()) continue;
    if (line.starts_with("#BEGIN_TB")) {
      begun_ = true;
    } else if (line.starts_with('#')) {
      continue;  // the format, in words
    } else if (!line.starts_with('-')) {
      lines_.refuse("is neither a line of the header (-kernel name = ...) nor #BEGIN_TB; this is not a kernel trace");
    } else {
      const std::size_t equals = line.find('=');
      if (equals == line.npos) lines_.refuse("the header has no \"=\" in this line");
      const std::string_view key = trimmed(line.substr(1, equals - 1));
      header_value(key, trimmed(line.substr(equals + 1)));
      grid |= key == "grid dim";
      block |= key == "block dim";
      shared |= key == "shmem";
      registers |= key == "nregs";
      version |= key == "accelsim tracer version";
    }
  }
  const std::pair<bool, const char*> needed[] = {{!header_.kernel.empty(), "kernel name"},
                                                 {grid, "grid dim"},
                                                 {block, "block dim"},
                                                 {shared, "shmem"},
                                                 {registers, "nregs"},
                                                 {version, "accelsim tracer version"}};
  for (const auto& [there, key] : needed)
    if (!there)
      input_error("{}: the header has no line \"-{} = ...\"; this is not a kernel trace, or it is truncated",
                  lines_.path(), key);
}

void KernelTrace::header_value(std::string_view key, std::string_view value) {
  const auto wrong = [&] { lines_.refuse("\"{}\" is not a valid {}", printable(value), key); };
  const auto whole = [&](u32 most) {
    const std::optional<u64> read = decimal_number(value);
    if (!read || *read > most) wrong();
    return static_cast<u32>(*read);
  };
  const auto size = [&](const Dim3& most) {
    const std::optional<Dim3> read = three(value);
    if (!read || read->count() == 0 || !fits(*read, most)) wrong();
    return *read;
  };
  const auto address = [&] {
    const std::optional<u64> read = hex_number(value);
    if (!read) wrong();
    return *read;
  };
  if (key == "kernel name") {
    if (value.empty()) wrong();
    header_.kernel = value;
  } else if (key == "grid dim") {
    header_.grid = size(kMostBlocks);
  } else if (key == "block dim") {
    header_.block = size(kMostThreads);
    if (header_.block.count() > kMostThreadsOfBlock) wrong();
  } else if (key == "shmem") {
    header_.shared_bytes = whole(1 << 20);
  } else if (key == "nregs") {
    header_.registers = whole(kRegisters);
  } else if (key == "cuda stream id") {
    const std::optional<u64> read = decimal_number(value);
    if (!read) wrong();
    header_.stream = *read;
  } else if (key == "shmem base_addr") {
    header_.shared_base = address();
  } else if (key == "local mem base_addr") {
    header_.local_base = address();
  } else if (key == "enable lineinfo") {
    header_.source_lines = whole(1) != 0;
  } else if (key == "binary version") {
    if (const u32 sass = whole(1000); sass < kOldestSass)
      lines_.refuse("SASS of compute capability {}.{} is not supported; record the trace on Volta or later", sass / 10,
                    sass % 10);
  } else if (key == "accelsim tracer version") {
    if (const u32 version = whole(1000); version < kOldestVersion)
      lines_.refuse("traces of version {} are not supported; record it with version {} or later", version,
                    kOldestVersion);
  }
  // Other lines say nothing that is used here: kernel id, version of NVBit, what later tracers add.
}

std::optional<Dim3> KernelTrace::begin_block() {
  SIM_CHECK(!in_block_, "a block of a trace is left in the middle");
  while (!begun_) {
    const std::optional<std::string_view> read = lines_.next();
    if (!read) return std::nullopt;
    const std::string_view line = trimmed(*read);
    if (line.starts_with("#BEGIN_TB")) break;
    if (!line.empty() && !(line.starts_with('#') && !line.starts_with("#END_TB")))
      lines_.refuse("is outside of any thread block; #BEGIN_TB was expected");
  }
  begun_ = false;
  for (;;) {
    const std::optional<std::string_view> read = lines_.next();
    if (!read) lines_.refuse("the trace ends in the middle of a thread block; it is truncated");
    const std::string_view line = trimmed(*read);
    if (line.empty()) continue;
    const std::optional<std::string_view> value = value_of(line, "thread block");
    if (!value) lines_.refuse("\"thread block = x,y,z\" was expected");
    const std::optional<Dim3> block = three(*value);
    if (!block || block->x >= header_.grid.x || block->y >= header_.grid.y || block->z >= header_.grid.z)
      lines_.refuse("\"{}\" is not a block of a grid of {} x {} x {}", printable(*value), header_.grid.x,
                    header_.grid.y, header_.grid.z);
    in_block_ = true;
    warp_.reset();
    left_.reset();
    warps_seen_.assign(header_.warps(), false);
    return block;
  }
}

bool KernelTrace::skip_block() {
  if (!begin_block()) return false;
  while (const std::optional<std::string_view> line = lines_.next()) {
    if (!line->starts_with("#END_TB")) continue;
    in_block_ = false;
    return true;
  }
  lines_.refuse("the trace ends in the middle of a thread block; it is truncated");
}

/// Reads on to the next instruction in the block and returns its warp; nothing when the block ends.
std::optional<u32> KernelTrace::next_inst() {
  for (;;) {
    const std::optional<std::string_view> read = lines_.next();
    if (!read) lines_.refuse("the trace ends in the middle of a thread block; it is truncated");
    const std::string_view line = trimmed(*read);
    if (line.empty()) continue;
    const bool ends = line.starts_with("#END_TB");
    const std::optional<std::string_view> warp = value_of(line, "warp");
    if ((ends || warp) && warp_ && left_ != 0u) {
      if (!left_) lines_.refuse("warp {} has no line \"insts = ...\"", *warp_);
      lines_.refuse("{} instructions of warp {} are missing", *left_, *warp_);
    }
    if (ends) {
      in_block_ = false;
      return std::nullopt;
    }
    if (line.starts_with("#BEGIN_TB")) lines_.refuse("a thread block begins before the last one has ended");
    if (line.starts_with('#')) continue;
    if (warp) {
      const std::optional<u64> index = decimal_number(*warp);
      if (!index || *index >= header_.warps())
        lines_.refuse("\"{}\" is not a warp of a block of {} threads", printable(*warp), header_.block.count());
      if (warps_seen_[*index]) lines_.refuse("warp {} appears twice in this thread block", *index);
      warps_seen_[*index] = true;
      warp_ = static_cast<u32>(*index);
      left_.reset();
    } else if (const std::optional<std::string_view> count = value_of(line, "insts")) {
      if (!warp_) lines_.refuse("\"warp = ...\" was expected first");
      if (left_) lines_.refuse("the number of instructions of warp {} is given twice", *warp_);
      left_ = decimal_number(*count);
      if (!left_) lines_.refuse("\"{}\" is not a valid count of instructions", printable(*count));
    } else {
      if (!warp_ || !left_) lines_.refuse("\"warp = ...\" and \"insts = ...\" were expected first");
      if (*left_ == 0) lines_.refuse("warp {} has more instructions than \"insts\" says", *warp_);
      parse_inst(line);
      --*left_;
      return *warp_;
    }
  }
}

void KernelTrace::parse_inst(std::string_view line) {
  Words words(line, lines_);
  const auto registers = [&](std::vector<u16>& all, std::string_view count_name, std::string_view name, u32 most) {
    all.clear();
    for (u32 left = words.whole<u32>(count_name, most); left != 0; --left) all.push_back(words.reg(name));
  };
  inst_.source_line = header_.source_lines ? words.whole<u32>("line of the source") : 0;
  inst_.pc = words.hex32("program counter");
  inst_.mask = words.hex32("mask of lanes");
  const std::size_t fixed = words.at();
  registers(inst_.destinations, "count of destination registers", "destination register", kMostDestinations);
  inst_.opcode = words.next("opcode");
  if (inst_.opcode[0] < 'A' || inst_.opcode[0] > 'Z') words.wrong(inst_.opcode, "opcode");
  registers(inst_.sources, "count of source registers", "source register", kMostSources);
  inst_.width = words.whole<u32>("width of the access in bytes", 1 << 16);
  inst_.fixed = line.substr(fixed, words.at() - fixed);
  inst_.form = AddressForm::kNone;
  if (inst_.width != 0) parse_addresses(words);
  if (!words.empty()) {
    // Later tracers end the line with an immediate operand.
    const std::string_view word = words.next("immediate");
    if (!number<i64>(word, 10) && !hex_number(word)) words.wrong(word, "immediate");
  }
  if (!words.empty()) lines_.refuse("\"{}\" stands behind the end of the instruction", printable(words.next("")));
}

void KernelTrace::parse_addresses(Words& words) {
  const u32 lanes = static_cast<u32>(std::popcount(inst_.mask));
  inst_.addresses.clear();
  // The first address is given; each of the others is so far from the one before it.
  const auto deltas = [&](u64 at, u32 count) {
    for (u32 i = 0; i < count; ++i) {
      if (i != 0) at += static_cast<u64>(words.whole<i64>("distance between addresses"));
      inst_.addresses.push_back(at);
    }
  };
  switch (const u32 form = words.whole<u32>("form of the addresses")) {
    case 0:
      inst_.form = AddressForm::kList;
      for (u32 i = 0; i < lanes; ++i) inst_.addresses.push_back(words.address("address"));
      break;
    case 1: {
      inst_.form = AddressForm::kStride;
      inst_.base = words.address("address");
      inst_.stride = words.whole<i64>("stride");
      const u32 run = inst_.mask == 0 ? 0 : inst_.mask >> std::countr_zero(inst_.mask);
      if ((u64{run} & (u64{run} + 1)) != 0)
        lines_.refuse("addresses with a stride need contiguous lanes, but the mask is {:08x}", inst_.mask);
      break;
    }
    case 2:
      inst_.form = AddressForm::kList;
      deltas(words.address("address"), lanes);
      break;
    case 3:
      // Bulk copies: as many addresses as they say, whatever the lanes.
      inst_.form = AddressForm::kBulk;
      for (u32 left = words.whole<u32>("count of addresses", 1 << 16); left != 0; --left)
        inst_.addresses.push_back(words.address("address"));
      break;
    case 4: {
      inst_.form = AddressForm::kBulk;
      const u64 base = words.address("address");
      deltas(base, words.whole<u32>("count of addresses", 1 << 16));
      break;
    }
    default:
      lines_.refuse("the form of the addresses must be 0 to 4, not {}", form);
  }
}

}  // namespace terrace::traces
