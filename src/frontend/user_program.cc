// SPDX-License-Identifier: MIT
#include "frontend/user_program.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <limits>
#include <memory>
#include <span>
#include <system_error>

#include "engine/check.h"
#include "engine/hash.h"
#include "engine/rng.h"
#include "frontend/stream_kind.h"
#include "text/suggest.h"
#include "text/tree.h"

namespace terrace {
namespace {

namespace fs = std::filesystem;

enum class Element : u8 { kI8, kU8, kI16, kU16, kI32, kU32, kI64, kU64, kF32, kF64 };
constexpr std::array<std::string_view, 10> kElements{"i8",  "u8",  "i16", "u16", "i32",
                                                     "u32", "i64", "u64", "f32", "f64"};

/// Calls f with a value of the C++ type that the element is.
template <class F>
auto with_type(Element element, F&& f) {
  switch (element) {
    case Element::kI8:
      return f(i8{});
    case Element::kU8:
      return f(u8{});
    case Element::kI16:
      return f(i16{});
    case Element::kU16:
      return f(u16{});
    case Element::kI32:
      return f(i32{});
    case Element::kU32:
      return f(u32{});
    case Element::kI64:
      return f(i64{});
    case Element::kU64:
      return f(u64{});
    case Element::kF32:
      return f(float{});
    case Element::kF64:
      break;
  }
  return f(double{});
}
u64 bytes_of(Element element) {
  return with_type(element, [](auto zero) { return u64{sizeof zero}; });
}

/// A place in the file: what an error names.
struct Place {
  const std::string* file;
  std::string key;
  u32 line;

  template <class... Args>
  [[noreturn]] void refuse(fmt::format_string<Args...> format, Args&&... args) const {
    input_error("{}:{}: {} {}", *file, line, key, fmt::format(format, std::forward<Args>(args)...));
  }
};

/// A number of the file as a value of the element's type; one that the type cannot hold is refused.
template <class T>
T number(const Tree& tree, const Place& place) {
  if constexpr (std::is_floating_point_v<T>) {
    if (const auto* real = std::get_if<double>(&tree.value)) return static_cast<T>(*real);
    if (const auto* whole = std::get_if<u64>(&tree.value)) return static_cast<T>(*whole);
    if (const auto* negative = std::get_if<i64>(&tree.value)) return static_cast<T>(*negative);
    place.refuse("must be a number, not {}", tree.text());
  } else {
    if (const auto* whole = std::get_if<u64>(&tree.value); whole && std::in_range<T>(*whole))
      return static_cast<T>(*whole);
    if (const auto* negative = std::get_if<i64>(&tree.value); negative && std::in_range<T>(*negative))
      return static_cast<T>(*negative);
    place.refuse("must be a whole number from {} to {}, not {}", i64{std::numeric_limits<T>::min()},
                 u64{std::numeric_limits<T>::max()}, tree.text());
  }
}

enum class Contents : u8 { kZero, kIota, kConstant, kUniform, kFile };

/// How a buffer is filled, or what it should hold.
struct ContentsSpec {
  Contents contents = Contents::kZero;
  Tree value{u64{0}};              // of constant; the first one of iota
  Tree low{u64{0}}, high{u64{1}};  // of uniform: [low, high)
  u64 seed = 1;
  std::string file;

  void describe(Fields& v, std::string_view key, std::string_view doc) {
    v(key, contents, {"zero", "iota", "constant", "uniform", "file"}, doc);
    v("seed", seed, in(0, ~u64{0}), "of uniform; the run's own when left out");
    v("file", file, "of file: the bytes of the buffer");
  }
};

struct BufferSpec : ContentsSpec {
  std::string name;
  Element type = Element::kF32;
  u64 count = 0;
  bool read_only = false;
  std::string same_as;
  u64 same_as_index = 0;
  Place place;
  bool is_mapping() const { return !same_as.empty(); }

  void describe(Fields& v) {
    v("name", name, "what launches and expectations call it");
    v("same_as", same_as, "another mapping of that buffer: the same memory at other addresses");
    v("type", type, {"i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64", "f32", "f64"}, "of an element");
    v("count", count, in(1, u64{1} << 34), "elements");
    v("read_only", read_only, "a kernel that writes to it faults");
    ContentsSpec::describe(v, "init", "first contents");
  }
};

struct LaunchSpec {
  std::string kernel;
  std::vector<u64> grid{1}, block{1};
  u32 shared = 0;
  u32 repeat = 1;
  Launch launch;
  std::vector<u64> buffer_arguments;  // per argument: which buffer, or kNoBuffer
  static constexpr u64 kNoBuffer = ~u64{0};
  /// What the host does before it, in this order: buffers by number.
  std::vector<u64> unmap, read_only, read_write;

  void describe(Fields& v) {
    v("kernel", kernel, "name of the .entry");
    v("grid", grid, in(1, (u64{1} << 31) - 1), "blocks in x, y, z");
    v("block", block, in(1, 1024), "threads in x, y, z");
    v("shared", shared, in(0, 1 << 20), "bytes of dynamic shared memory");
    v("repeat", repeat, in(1, 1'000'000), "times in a row");
  }
};

struct ExpectSpec : ContentsSpec {
  std::string buffer, digest;
  Tree tolerance;  // relative; exact without it
  u64 index = 0;
  bool compares = false;
  Place place;

  void describe(Fields& v) {
    v("buffer", buffer, "which one");
    v("digest", digest, "hash of its bytes, as exec prints it");
    ContentsSpec::describe(v, "equals", "what it should hold");
  }
};

/// The bytes of a file, as many as are wanted, without a copy of the whole: buffers may be large.
class ContentsFile {
 public:
  ContentsFile(const std::string& folder, const std::string& name, u64 bytes, const Place& place)
      : path_((fs::path(folder) / name).string()), file_(std::fopen(path_.c_str(), "rb"), std::fclose) {
    if (!file_) refuse();
    std::error_code failed;
    const u64 holds = fs::file_size(path_, failed);
    if (failed) input_error("{}: cannot be read: {}", path_, failed.message());
    if (holds != bytes) place.refuse("needs {} bytes and {} holds {}", bytes, name, holds);
  }
  /// The next ones.
  void read(void* to, u64 bytes) {
    if (std::fread(to, 1, bytes, file_.get()) != bytes) refuse();
  }

 private:
  [[noreturn]] void refuse() const {
    input_error("{}: cannot be read: {}", path_, errno != 0 ? std::strerror(errno) : "it became shorter meanwhile");
  }

  std::string path_;
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_;
};

/// A buffer that begins there holds zeros. Pages of its own go back to the host, which gives zeros in their place: they cost
/// nothing until they are touched.
void clear(GuestMemory& memory, VirtAddr first) {
  const GuestMemory::Allocation& buffer = *memory.nearest(first);
  const std::span<u8> all = memory.write(first, buffer.bytes);
  const u64 page = static_cast<u64>(memory.page_size()), pages = (buffer.bytes + page - 1) / page * page;
  const bool shared = buffer.shared != 0;  // bytes that are mapped several times lie in a file
  if (shared || madvise(all.data(), pages, MADV_DONTNEED) != 0) std::ranges::fill(all, u8{0});
}

/// Calls `take(values, first)` with the contents of a buffer of `count` elements, a few at a time and in order.
template <class T, class F>
void visit_contents(const ContentsSpec& spec, u64 count, const std::string& folder, const Place& place, F&& take) {
  constexpr u64 kAtOnce = 4096;
  std::array<T, kAtOnce> values;
  const auto visit = [&](auto&& write) {
    for (u64 first = 0; first < count; first += kAtOnce) {
      const std::span<T> some(values.data(), std::min(kAtOnce, count - first));
      write(some, first);
      take(std::span<const T>(some), first);
    }
  };
  switch (spec.contents) {
    case Contents::kZero:
      return visit([](std::span<T> some, u64) { std::ranges::fill(some, T{0}); });
    case Contents::kConstant: {
      const T value = number<T>(spec.value, place);
      return visit([=](std::span<T> some, u64) { std::ranges::fill(some, value); });
    }
    case Contents::kIota: {
      const T start = number<T>(spec.value, place);
      return visit([=](std::span<T> some, u64 first) {
        for (u64 i = 0; i < some.size(); ++i) some[i] = static_cast<T>(start + static_cast<T>(first + i));
      });
    }
    case Contents::kUniform: {
      Rng rng(spec.seed, "user." + place.key);
      const auto low = static_cast<double>(number<T>(spec.low, place));  // both must fit the element
      const auto high = static_cast<double>(number<T>(spec.high, place));
      if (!(low < high)) place.refuse("needs low ({}) below high ({})", low, high);
      return visit([&](std::span<T> some, u64) {
        for (T& value : some) value = static_cast<T>(rng.uniform(low, high));
      });
    }
    case Contents::kFile: {
      ContentsFile file(folder, spec.file, count * sizeof(T), place);
      return visit([&](std::span<T> some, u64) { file.read(some.data(), some.size_bytes()); });
    }
  }
}

std::string digest_of(std::span<const u8> bytes) {
  return hash_text(hash64({reinterpret_cast<const char*>(bytes.data()), bytes.size()}));
}

/// Reads the tables of the file into specs.
class Reader {
 public:
  /// Keys of a launch that change buffers, and where their numbers go.
  static constexpr std::array<std::pair<std::string_view, std::vector<u64> LaunchSpec::*>, 3> kChanges{
      {{"unmap", &LaunchSpec::unmap}, {"read_only", &LaunchSpec::read_only}, {"read_write", &LaunchSpec::read_write}}};

  Reader(const std::string& path, u64 seed)
      : file_(path), folder_(fs::path(path).parent_path().string()), seed_(seed) {}

  std::string source;
  std::vector<BufferSpec> buffers;
  std::vector<LaunchSpec> launches;
  std::vector<ExpectSpec> expectations;
  const std::string& folder() const { return folder_; }
  const std::string& file() const { return file_; }

  void read() {
    const Tree document = read_toml(file_);
    for (const auto& [key, value] : document.members()) {
      if (key == "source") {
        read_source(value);
      } else if (key == "buffer") {
        for_each_table(key, value, [this](const Tree& table, Place place) { read_buffer(table, std::move(place)); });
      } else if (key == "launch") {
        for_each_table(key, value, [this](const Tree& table, const Place& place) { read_launch(table, place); });
      } else if (key == "expect") {
        for_each_table(key, value, [this](const Tree& table, Place place) { read_expect(table, std::move(place)); });
      } else {
        const std::vector<std::string> known{"source", "buffer", "launch", "expect"};
        input_error("{}:{}: {} is not a known key{}", file_, value.line, key, did_you_mean(key, known));
      }
    }
    if (source.empty()) input_error("{}: names no device code; add source = \"FILE.cu\" or \"FILE.ptx\"", file_);
    if (launches.empty()) input_error("{}: launches nothing; add a [[launch]]", file_);
  }

 private:
  void read_source(const Tree& value) {
    const auto* name = std::get_if<std::string>(&value.value);
    if (!name) input_error("{}:{}: source must be the name of a file, not {}", file_, value.line, value.text());
    source = (fs::path(folder_) / *name).string();
  }

  template <class F>
  void for_each_table(const std::string& key, const Tree& value, F&& each) {
    if (!value.is_list()) input_error("{}:{}: write [[{}]], one table for each", file_, value.line, key);
    u32 number = 0;
    for (const Tree& table : value.items()) {
      if (!table.is_table()) input_error("{}:{}: write [[{}]], one table for each", file_, value.line, key);
      each(table, Place{&file_, fmt::format("{}[{}]", key, number++), table.line});
    }
  }

  /// Sets the fields that `describe` knows; the keys in `raw` are taken as they are.
  template <class Spec>
  void fill(Spec& spec, const Tree& table, const Place& place,
            std::initializer_list<std::pair<std::string_view, Tree*>> raw) {
    for (const auto& [key, value] : table.members()) {
      const auto found = std::find_if(raw.begin(), raw.end(), [&](const auto& entry) { return entry.first == key; });
      if (found != raw.end()) {
        *found->second = value;
      } else {
        assign(spec, Given{.path = key, .value = value, .origin = {file_, value.line}}, place.key);
      }
    }
  }

  void read_buffer(const Tree& table, Place place) {
    BufferSpec spec;
    spec.seed = seed_;
    fill(spec, table, place, {{"value", &spec.value}, {"low", &spec.low}, {"high", &spec.high}});
    if (spec.name.empty()) place.refuse("has no name; add name = \"...\"");
    if (spec.is_mapping()) take_mapping(table, spec, place);
    if (spec.count == 0) place.refuse("has no count; add count = ...");
    if (find(spec.name)) place.refuse("is a second buffer called {}; rename it", spec.name);
    spec.place = std::move(place);
    buffers.push_back(std::move(spec));
  }

  /// A second mapping has the elements of the first and says nothing else about them.
  void take_mapping(const Tree& table, BufferSpec& spec, const Place& place) const {
    for (const auto& [key, value] : table.members()) {
      if (key == "name" || key == "same_as" || key == "read_only") continue;
      of_key(table, place, key)
          .refuse("is that of \"{}\", whose memory this is; remove it, or remove same_as", spec.same_as);
    }
    spec.same_as_index = index_of(spec.same_as, of_key(table, place, "same_as"));
    spec.type = buffers[spec.same_as_index].type;
    spec.count = buffers[spec.same_as_index].count;
  }

  /// The lists of buffers that a launch changes beforehand.
  void read_changes(const Tree& table, LaunchSpec& spec, const Place& place) {
    for (const auto& [key, buffers_of] : kChanges) {
      const Tree* names = table.find(std::string(key));
      if (names == nullptr) continue;
      const Place here = of_key(table, place, std::string(key));
      if (!names->is_list()) here.refuse("must be a list of buffers, not {}", names->text());
      for (const Tree& name : names->items()) {
        const auto* text = std::get_if<std::string>(&name.value);
        if (text == nullptr) here.refuse("must be a list of buffers, not of {}", name.text());
        const u64 buffer = index_of(*text, here);
        if (is_unmapped(buffer)) here.refuse("names \"{}\", which was unmapped before", *text);
        if (key == "unmap") unmapped_.push_back(buffer);
        if (key == "read_write" &&
            std::find(spec.read_only.begin(), spec.read_only.end(), buffer) != spec.read_only.end())
          here.refuse("names \"{}\", which read_only names too; choose one", *text);
        (spec.*buffers_of).push_back(buffer);
      }
    }
  }
  bool is_unmapped(u64 buffer) const {
    return std::find(unmapped_.begin(), unmapped_.end(), buffer) != unmapped_.end();
  }

  void read_launch(const Tree& table, const Place& place) {
    LaunchSpec spec;
    Tree arguments = Tree::list(), ignored;
    fill(spec, table, place,
         {{"args", &arguments}, {"unmap", &ignored}, {"read_only", &ignored}, {"read_write", &ignored}});
    read_changes(table, spec, place);
    if (spec.kernel.empty()) place.refuse("has no kernel; add kernel = \"...\"");
    if (spec.grid.empty() || spec.grid.size() > 3) place.refuse("needs one to three numbers in grid");
    if (spec.block.empty() || spec.block.size() > 3) place.refuse("needs one to three numbers in block");
    const auto dimensions = [](const std::vector<u64>& sizes) {
      const auto at = [&](u64 i) { return i < sizes.size() ? static_cast<u32>(sizes[i]) : 1; };
      return Dim3{at(0), at(1), at(2)};
    };
    spec.launch.kernel = spec.kernel;
    spec.launch.grid = dimensions(spec.grid);
    spec.launch.block = dimensions(spec.block);
    spec.launch.dynamic_shared_bytes = spec.shared;
    check_size(table, place, "grid", "blocks", spec.launch.grid, kMostBlocks);
    check_size(table, place, "block", "threads", spec.launch.block, kMostThreads);
    if (spec.launch.block.count() > kMostThreadsOfBlock)
      of_key(table, place, "block")
          .refuse("is {} threads; make it at most {}", spec.launch.block.count(), kMostThreadsOfBlock);
    if (!arguments.is_list()) place.refuse("needs a list in args, not {}", arguments.text());
    for (const Tree& argument : arguments.items()) read_argument(argument, spec, place);
    launches.push_back(std::move(spec));
  }

  static Place of_key(const Tree& table, const Place& place, const std::string& key) {
    const Tree* value = table.find(key);
    return {place.file, place.key + "." + key, value ? value->line : place.line};
  }
  static void check_size(const Tree& table, const Place& place, const std::string& key, std::string_view what,
                         const Dim3& size, const Dim3& most) {
    if (!fits(size, most))
      of_key(table, place, key)
          .refuse("is {} x {} x {} {}; make it at most {} x {} x {}", size.x, size.y, size.z, what, most.x, most.y,
                  most.z);
  }

  /// A buffer's name, a number (whole: i32, otherwise f32), or { TYPE = number }.
  void read_argument(const Tree& argument, LaunchSpec& spec, const Place& place) {
    const Place here{&file_, fmt::format("{}.args[{}]", place.key, spec.launch.arguments.size()), argument.line};
    u64 buffer = LaunchSpec::kNoBuffer;
    if (const auto* name = std::get_if<std::string>(&argument.value)) {
      buffer = index_of(*name, here);
      if (is_unmapped(buffer)) here.refuse("names \"{}\", which was unmapped before", *name);
      spec.launch.argument(u64{0});  // its address is known when it is allocated
      spec.launch.arguments.back().kind = KernelArgument::Kind::kWhole;
    } else if (argument.is_table()) {
      if (argument.members().size() != 1) here.refuse("must be one type with one number, as in {{ f64 = 0.5 }}");
      const auto& [type, value] = argument.members().front();
      const auto found = std::find(kElements.begin(), kElements.end(), type);
      if (found == kElements.end())
        here.refuse("has the unknown type {}; the types are {}", type, fmt::join(kElements, ", "));
      add_number(spec.launch, static_cast<Element>(found - kElements.begin()), value, here);
    } else {
      const bool real = std::holds_alternative<double>(argument.value);
      add_number(spec.launch, real ? Element::kF32 : Element::kI32, argument, here);
    }
    spec.launch.arguments.back().origin = fmt::format("{}:{}: {}", file_, here.line, here.key);
    spec.buffer_arguments.push_back(buffer);
  }
  static void add_number(Launch& launch, Element type, const Tree& value, const Place& place) {
    with_type(type, [&](auto zero) {
      launch.argument(number<decltype(zero)>(value, place));
      launch.arguments.back().kind =
          std::is_floating_point_v<decltype(zero)> ? KernelArgument::Kind::kFloat : KernelArgument::Kind::kWhole;
    });
  }

  void read_expect(const Tree& table, Place place) {
    ExpectSpec spec;
    fill(spec, table, place, {{"value", &spec.value}, {"tolerance", &spec.tolerance}});
    spec.compares = table.find("equals") != nullptr;
    if (spec.compares == !spec.digest.empty()) place.refuse("needs either equals or digest");
    if (spec.contents == Contents::kUniform) place.refuse("cannot expect random contents; use file or digest");
    if (table.find("tolerance") != nullptr) check_tolerance(table, spec, place);
    spec.index = index_of(spec.buffer, place);
    if (is_unmapped(spec.index)) place.refuse("names \"{}\", which a launch unmaps", spec.buffer);
    spec.place = std::move(place);
    expectations.push_back(std::move(spec));
  }

  static void check_tolerance(const Tree& table, const ExpectSpec& spec, const Place& place) {
    const Place here = of_key(table, place, "tolerance");
    if (!spec.compares) here.refuse("needs equals: a digest allows no error");
    const double tolerance = number<double>(spec.tolerance, here);
    if (!(tolerance >= 0) || std::isinf(tolerance))
      here.refuse("is a relative error: a number of at least 0, not {}", spec.tolerance.text());
  }

  const BufferSpec* find(std::string_view name) const {
    const auto found = std::find_if(buffers.begin(), buffers.end(), [&](const auto& b) { return b.name == name; });
    return found == buffers.end() ? nullptr : &*found;
  }
  u64 index_of(const std::string& name, const Place& place) const {
    if (const BufferSpec* spec = find(name)) return static_cast<u64>(spec - buffers.data());
    std::vector<std::string> known;
    for (const BufferSpec& spec : buffers) known.push_back(spec.name);
    place.refuse("names no buffer defined above it: \"{}\"{}", name, did_you_mean(name, known));
  }

  std::string file_, folder_;
  u64 seed_;                   // of contents that are drawn, unless the file gives one
  std::vector<u64> unmapped_;  // by the launches read so far
};

class UserProgram final : public Program {
 public:
  explicit UserProgram(std::unique_ptr<Reader> reader) : spec_(std::move(reader)) {}

  void allocate(GuestMemory& memory) override {
    buffers_.resize(spec_->buffers.size());
    mapped_.assign(spec_->buffers.size(), false);
    map_all(memory);
  }

  /// Maps what is not mapped, as the file has it: again when launches have unmapped buffers.
  void map_all(GuestMemory& memory) {
    for (u64 i = 0; i < buffers_.size(); ++i) {
      const BufferSpec& buffer = spec_->buffers[i];
      const Permission permission = buffer.read_only ? Permission::kReadOnly : Permission::kReadWrite;
      if (mapped_[i])
        buffers_[i].protect(memory, permission);
      else if (buffer.is_mapping())
        buffers_[i] = buffers_[buffer.same_as_index].map_again(memory, buffer.name, permission);
      else
        buffers_[i] = Buffer<u8>(memory, buffer.name, buffer.count * bytes_of(buffer.type), permission);
      mapped_[i] = true;
    }
    for (LaunchSpec& launch : spec_->launches) {
      for (u64 i = 0; i < launch.buffer_arguments.size(); ++i) {
        if (launch.buffer_arguments[i] == LaunchSpec::kNoBuffer) continue;
        const u64 address = buffers_[launch.buffer_arguments[i]].address().raw;
        std::memcpy(launch.launch.arguments[i].bytes.data(), &address, sizeof address);
      }
    }
  }

  void initialise(GuestMemory& memory) override {
    // Memory of which a mapping was left behind by an earlier execution is not that of a buffer which is mapped anew.
    for (u64 i = 0; i < buffers_.size(); ++i) {
      const BufferSpec& buffer = spec_->buffers[i];
      if (buffer.is_mapping() && mapped_[i] && !mapped_[buffer.same_as_index]) unmap(memory, i);
    }
    map_all(memory);
    for (u64 i = 0; i < buffers_.size(); ++i) {
      const BufferSpec& buffer = spec_->buffers[i];
      if (buffer.is_mapping()) continue;
      if (buffer.contents == Contents::kZero) {
        clear(memory, buffers_[i].address());
        continue;
      }
      with_type(buffer.type, [&](auto zero) {
        using T = decltype(zero);
        T* const all = reinterpret_cast<T*>(buffers_[i].write(memory).data());
        visit_contents<T>(buffer, buffer.count, spec_->folder(), buffer.place,
                          [=](std::span<const T> some, u64 first) { std::ranges::copy(some, all + first); });
      });
    }
    launch_ = repeat_ = 0;
  }

  std::optional<Launch> next(GuestMemory& memory) override {
    if (launch_ < spec_->launches.size() && repeat_ == spec_->launches[launch_].repeat) ++launch_, repeat_ = 0;
    if (launch_ == spec_->launches.size()) return std::nullopt;
    const LaunchSpec& launch = spec_->launches[launch_];
    if (repeat_++ == 0) {
      for (const u64 buffer : launch.unmap) unmap(memory, buffer);
      for (const u64 buffer : launch.read_only) buffers_[buffer].protect(memory, Permission::kReadOnly);
      for (const u64 buffer : launch.read_write) buffers_[buffer].protect(memory, Permission::kReadWrite);
    }
    return launch.launch;
  }

  CheckResult check(const GuestMemory& memory) const override {
    if (spec_->expectations.empty()) {
      std::string digests;
      for (u64 i = 0; i < buffers_.size(); ++i) {
        if (!mapped_[i]) continue;
        digests += fmt::format(" {}={}", spec_->buffers[i].name, digest_of(buffers_[i].read(memory)));
      }
      return {false, fmt::format("{}: expects nothing; add an [[expect]]. Digests are{}", spec_->file(), digests)};
    }
    CheckResult all{true, ""};
    for (const ExpectSpec& expect : spec_->expectations) {
      const CheckResult one = expect.compares ? compare(expect, memory) : compare_digest(expect, memory);
      all.passed = all.passed && one.passed;
      all.message += (all.message.empty() ? "" : "; ") + one.message;
    }
    return all;
  }

 private:
  void unmap(GuestMemory& memory, u64 buffer) {
    buffers_[buffer].free(memory);
    mapped_[buffer] = false;
  }

  CheckResult compare_digest(const ExpectSpec& expect, const GuestMemory& memory) const {
    const std::string got = digest_of(buffers_[expect.index].read(memory));
    return {got == expect.digest, fmt::format("{}: digest {} ({} expected)", expect.buffer, got, expect.digest)};
  }

  CheckResult compare(const ExpectSpec& expect, const GuestMemory& memory) const {
    const BufferSpec& buffer = spec_->buffers[expect.index];
    return with_type(buffer.type, [&](auto zero) -> CheckResult {
      using T = decltype(zero);
      const T* got = reinterpret_cast<const T*>(buffers_[expect.index].read(memory).data());
      const bool exact = std::holds_alternative<std::monostate>(expect.tolerance.value);
      const double tolerance = exact ? 0 : number<double>(expect.tolerance, expect.place);
      std::string first_wrong;
      visit_contents<T>(expect, buffer.count, spec_->folder(), expect.place, [&](std::span<const T> want, u64 first) {
        for (u64 i = 0; first_wrong.empty() && i < want.size(); ++i) {
          const double is = static_cast<double>(got[first + i]), should_be = static_cast<double>(want[i]);
          // Nothing is near infinity, and one NaN is as good as another.
          const bool near =
              !exact && std::isfinite(should_be) && std::fabs(is - should_be) <= tolerance * std::fabs(should_be);
          const bool both_nan = std::isnan(is) && std::isnan(should_be);
          if (got[first + i] != want[i] && !near && !both_nan)
            first_wrong = fmt::format("{}[{}] is {} and should be {}", buffer.name, first + i, got[first + i], want[i]);
        }
      });
      if (!first_wrong.empty()) return {false, first_wrong};
      return {true, fmt::format("{}: {} values as expected", buffer.name, buffer.count)};
    });
  }

  std::unique_ptr<Reader> spec_;  // where it is: places in it point to its file's name
  std::vector<Buffer<u8>> buffers_;
  std::vector<bool> mapped_;  // by buffer
  u64 launch_ = 0;
  u32 repeat_ = 0;
};

}  // namespace

ProgramInstance load_user_program(const std::string& toml_path, u64 seed) {
  auto reader = std::make_unique<Reader>(toml_path, seed);
  reader->read();
  DeviceCode code = read_device_code(reader->source);
  return {std::make_unique<UserProgram>(std::move(reader)), std::move(code)};
}

ProgramInstance load_program(const std::string& text, InputSize size, std::string_view option,
                             std::optional<u64> seed) {
  if (const StreamKind* kind = kind_that_reads(text)) return kind->load(text, seed.value_or(1));
  if (text.ends_with(".toml")) return load_user_program(text, seed.value_or(1));
  WorkloadRequest request = parse_workload(text, size, option);
  request.seed = seed;
  return make_workload(request);
}

bool names_file(std::string_view text) {
  return text.ends_with(".toml") || kind_that_reads(text) != nullptr;
}

}  // namespace terrace
