// SPDX-License-Identifier: MIT
#include "frontend/user/program_file.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <initializer_list>
#include <utility>

#include "config/assign.h"
#include "frontend/device_code.h"
#include "text/plain_file.h"
#include "text/suggest.h"

namespace terrace::user {
namespace {

namespace fs = std::filesystem;

/// Reads the tables of the file into specs.
class Reader {
 public:
  Reader(ProgramFile& into, u64 seed) : program_(into), file_(into.file), seed_(seed) {}

  void read() {
    const Tree document = read_toml(file_);
    if (const Tree* defined = document.find("define")) read_names(*defined);
    for (const auto& [key, value] : document.members()) {
      if (key == "define") continue;
      if (key == "source") {
        read_source(value);
      } else if (key == "heap_bytes") {
        constexpr u64 kMost = u64{16} << 30;  // half of what a tenant can allocate
        program_.heap_bytes = bytes_from(value, key, kMost);
      } else if (key == "stack_bytes") {
        program_.stack_bytes = bytes_from(value, key, DeviceCode::kMostStackBytes);
      } else if (key == "buffer") {
        for_each_table(key, value, [this](const Tree& table, Place place) { read_buffer(table, std::move(place)); });
      } else if (key == "launch") {
        for_each_table(key, value, [this](const Tree& table, const Place& place) { read_launch(table, place); });
      } else if (key == "group") {
        for_each_table(key, value, [this](const Tree& table, Place place) { read_group(table, std::move(place)); });
      } else if (key == "variable") {
        for_each_table(key, value, [this](const Tree& table, Place place) { read_variable(table, std::move(place)); });
      } else if (key == "expect") {
        for_each_table(key, value, [this](const Tree& table, Place place) { read_expect(table, std::move(place)); });
      } else {
        const std::vector<std::string> known{"source", "heap_bytes", "stack_bytes", "define", "buffer",
                                             "group",  "launch",     "variable",    "expect"};
        input_error("{}:{}: {} is not a known key{}", file_, value.line, key, did_you_mean(key, known));
      }
    }
    if (program_.sources.empty())
      input_error("{}: names no device code; add source = \"FILE.cu\" or \"FILE.ptx\"", file_);
    if (program_.launches.empty()) input_error("{}: launches nothing; add a [[launch]]", file_);
    for (const GroupSpec& group : program_.groups)
      if (group.end == 0) group.place.refuse("has no launch; add group = \"{}\" to those that repeat", group.name);
  }

 private:
  /// Keys of a launch that change buffers, and where their numbers go.
  static constexpr std::array<std::pair<std::string_view, std::vector<u64> LaunchSpec::*>, 3> kChanges{
      {{"unmap", &LaunchSpec::unmap}, {"read_only", &LaunchSpec::read_only}, {"read_write", &LaunchSpec::read_write}}};

  void read_source(const Tree& value) {
    const auto add = [&](const Tree& each) {
      const auto* name = std::get_if<std::string>(&each.value);
      if (!name)
        input_error("{}:{}: source must be the name of a file, or a list of names, not {}", file_, value.line,
                    value.text());
      program_.sources.push_back((fs::path(program_.folder) / *name).string());
    };
    if (!value.is_list()) return add(value);
    for (const Tree& each : value.items()) add(each);
  }

  /// Whole numbers that expressions may name; later ones may use earlier ones.
  void read_names(const Tree& table) {
    if (!table.is_table()) input_error("{}:{}: write [define], a table of numbers", file_, table.line);
    Names& names = program_.names;
    for (const auto& [name, value] : table.members()) {
      const Place place{&file_, "define." + name, value.line};
      if (name == kRepetition || name == kRound || name == "min" || name == "max")
        place.refuse("is a name that expressions have already; choose another");
      names.values.emplace(name, number<i64>(number_of(value, names, place), place));
    }
  }

  u64 bytes_from(const Tree& value, std::string_view key, u64 most) const {
    const auto* bytes = std::get_if<u64>(&value.value);
    if (!bytes || *bytes > most)
      input_error("{}:{}: {} must be a whole number from 0 to {}, not {}", file_, value.line, key, most, value.text());
    return *bytes;
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

  /// With a number in place of an expression.
  Tree with_count(const Tree& table, const Place& place) {
    Tree result = table;
    if (table.find("count") != nullptr)
      result["count"] = number_of(*table.find("count"), program_.names, of_key(table, place, "count"));
    return result;
  }

  void read_buffer(const Tree& given_table, Place place) {
    const Tree table = with_count(given_table, place);
    BufferSpec spec;
    spec.seed = seed_;
    fill(spec, table, place, {{"value", &spec.value}, {"step", &spec.step}, {"low", &spec.low}, {"high", &spec.high}});
    if (spec.name.empty()) place.refuse("has no name; add name = \"...\"");
    if (spec.is_mapping()) take_mapping(table, spec, place);
    if (spec.count == 0) place.refuse("has no count; add count = ...");
    if (find(spec.name)) place.refuse("is a second buffer called {}; rename it", spec.name);
    spec.place = std::move(place);
    program_.buffers.push_back(std::move(spec));
  }

  /// A second mapping has the elements of the first and says nothing else about them.
  void take_mapping(const Tree& table, BufferSpec& spec, const Place& place) const {
    for (const auto& [key, value] : table.members()) {
      if (key == "name" || key == "same_as" || key == "read_only") continue;
      of_key(table, place, key)
          .refuse("is that of \"{}\", whose memory this is; remove it, or remove same_as", spec.same_as);
    }
    spec.same_as_index = index_of(spec.same_as, of_key(table, place, "same_as"));
    spec.type = program_.buffers[spec.same_as_index].type;
    spec.count = program_.buffers[spec.same_as_index].count;
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

  /// What expressions call the number of a repetition, and of a round of the group, from 0 on.
  static constexpr std::string_view kRepetition = "i", kRound = "round";

  void read_launch(const Tree& table, const Place& place) {
    Names names = program_.names;
    names.used.clear();
    LaunchSpec spec;
    read_changes(table, spec, place);
    spec.times.push_back(read_once(table, place, 0, 0, spec, names));
    join_group(table, spec, place);
    read_repetitions(table, place, spec, names);
    program_.launches.push_back(std::move(spec));
  }

  /// The other repetitions of a launch whose expressions ask for their number.
  void read_repetitions(const Tree& table, const Place& place, LaunchSpec& spec, Names& names) {
    constexpr u64 kMost = 100'000;  // of a size that memory holds, and that is read in seconds
    const GroupSpec* group = find_group(spec.group);
    const u64 repetitions = names.used.contains(kRepetition) ? spec.repeat : 1;
    const u64 rounds = group != nullptr && names.used.contains(kRound) ? group->repeat : 1;
    if (repetitions * rounds > kMost)
      place.refuse("repeats {} times with expressions; at most {} are possible", repetitions * rounds, kMost);
    for (u64 n = 1; n < repetitions * rounds; ++n) {
      LaunchSpec ignored;
      spec.times.push_back(read_once(table, place, n % repetitions, n / repetitions, ignored, names));
    }
    spec.per_repeat = repetitions > 1 ? 1 : 0;
    spec.per_round = rounds > 1 ? repetitions : 0;
  }

  /// A launch with the numbers of one repetition; what does not depend on it goes into the spec.
  LaunchOnce read_once(const Tree& given_table, const Place& place, u64 repetition, u64 round, LaunchSpec& spec,
                       Names& names) {
    names.values.insert_or_assign(std::string(kRepetition), static_cast<i64>(repetition));
    names.values.insert_or_assign(std::string(kRound), static_cast<i64>(round));
    const Tree table = with_numbers(given_table, names, place);
    LaunchOnce once;
    Tree arguments = Tree::list(), ignored;
    fill(spec, table, place,
         {{"args", &arguments},
          {"unmap", &ignored},
          {"read_only", &ignored},
          {"read_write", &ignored},
          {"fill", &ignored},
          {"copy", &ignored}});
    if (spec.kernel.empty()) place.refuse("has no kernel; add kernel = \"...\"");
    if (spec.grid.empty() || spec.grid.size() > 3) place.refuse("needs one to three numbers in grid");
    if (spec.block.empty() || spec.block.size() > 3) place.refuse("needs one to three numbers in block");
    const auto dimensions = [](const std::vector<u64>& sizes) {
      const auto at = [&](u64 i) { return i < sizes.size() ? static_cast<u32>(sizes[i]) : 1; };
      return Dim3{at(0), at(1), at(2)};
    };
    once.launch.kernel = spec.kernel;
    once.launch.origin = fmt::format("{}:{}: {}", file_, place.line, place.key);
    once.launch.grid = dimensions(spec.grid);
    once.launch.block = dimensions(spec.block);
    once.launch.dynamic_shared_bytes = spec.shared;
    check_size(table, place, "grid", "blocks", once.launch.grid, kMostBlocks);
    check_size(table, place, "block", "threads", once.launch.block, kMostThreads);
    if (once.launch.block.count() > kMostThreadsOfBlock)
      of_key(table, place, "block")
          .refuse("is {} threads; make it at most {}", once.launch.block.count(), kMostThreadsOfBlock);
    if (!arguments.is_list()) place.refuse("needs a list in args, not {}", arguments.text());
    for (const Tree& argument : arguments.items()) add_argument(argument, once, place);
    read_host_work(table, once, place);
    return once;
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

  /// Of a buffer that a launch may use: one that no launch has unmapped before.
  NamedBuffer usable(const std::string& name, const Place& place) const {
    const u64 buffer = index_of(name, place);
    if (is_unmapped(buffer)) place.refuse("names \"{}\", which was unmapped before", name);
    return {buffer, program_.buffers[buffer].count, program_.buffers[buffer].type};
  }

  void add_argument(const Tree& tree, LaunchOnce& spec, const Place& place) {
    const Place here{&file_, fmt::format("{}.args[{}]", place.key, spec.launch.arguments.size()), tree.line};
    Argument argument =
        read_argument(tree, here, [this](const std::string& name, const Place& at) { return usable(name, at); });
    argument.value.origin = fmt::format("{}:{}: {}", file_, here.line, here.key);
    spec.launch.arguments.push_back(std::move(argument.value));
    spec.addresses.push_back(std::move(argument.addresses));
  }

  /// A list of tables, each with `key` in the launch, as for_each_table does for those of the file.
  template <class F>
  void for_each_work(const Tree& table, const Place& place, const std::string& key, F&& each) {
    const Tree* list = table.find(key);
    if (list == nullptr) return;
    const Place here = of_key(table, place, key);
    if (!list->is_list()) here.refuse("must be a list of tables, not {}", list->text());
    u64 i = 0;
    for (const Tree& work : list->items()) {
      const Place at{&file_, fmt::format("{}[{}]", here.key, i++), work.line != 0 ? work.line : here.line};
      if (!work.is_table()) at.refuse("must be a table, not {}", work.text());
      each(work, at);
    }
  }

  /// The elements from `offset` on; as many as are left when the file does not say how many.
  static void take_rest(u64& count, u64 offset, u64 of, std::string_view name, const Place& place) {
    if (offset >= of) place.refuse("begins at element {} of \"{}\", which has {}", offset, name, of);
    if (count == 0) count = of - offset;
    check_end(count, offset, of, name, place);
  }
  static void check_end(u64 count, u64 offset, u64 of, std::string_view name, const Place& place) {
    if (offset > of || count > of - offset)
      place.refuse("ends at element {} of \"{}\", which has {}", offset + count, name, of);
  }

  void read_host_work(const Tree& table, LaunchOnce& spec, const Place& place) {
    for_each_work(table, place, "fill", [&](const Tree& work, const Place& here) {
      FillSpec one;
      fill(one, work, here, {{"value", &one.value}});
      const NamedBuffer buffer = usable(one.buffer, here);
      one.index = buffer.number;
      take_rest(one.count, one.offset, buffer.count, one.buffer, here);
      with_type(buffer.type, [&](auto zero) { number<decltype(zero)>(one.value, here); });
      one.place = here;
      spec.fills.push_back(std::move(one));
    });
    for_each_work(table, place, "copy", [&](const Tree& work, const Place& here) {
      CopySpec one;
      fill(one, work, here, {});
      const NamedBuffer from = usable(one.from, here), to = usable(one.to, here);
      if (from.type != to.type)
        here.refuse("copies {} into {}; both buffers must have the same type", kElements[static_cast<u8>(from.type)],
                    kElements[static_cast<u8>(to.type)]);
      one.from_index = from.number;
      one.to_index = to.number;
      take_rest(one.count, one.from_offset, from.count, one.from, here);
      check_end(one.count, one.to_offset, to.count, one.to, here);
      spec.copies.push_back(std::move(one));
    });
  }

  void read_group(const Tree& table, Place place) {
    GroupSpec spec;
    fill(spec, table, place, {});
    if (spec.name.empty()) place.refuse("has no name; add name = \"...\"");
    if (find_group(spec.name) != nullptr) place.refuse("is a second group called {}; rename it", spec.name);
    spec.place = std::move(place);
    program_.groups.push_back(std::move(spec));
  }
  GroupSpec* find_group(std::string_view name) {
    const auto found = std::ranges::find(program_.groups, name, &GroupSpec::name);
    return found == program_.groups.end() ? nullptr : &*found;
  }

  /// The launch that is read next belongs to the group.
  void join_group(const Tree& table, const LaunchSpec& spec, const Place& place) {
    if (spec.group.empty()) return;
    const Place here = of_key(table, place, "group");
    GroupSpec* group = find_group(spec.group);
    if (group == nullptr) {
      std::vector<std::string> known;
      for (const GroupSpec& each : program_.groups) known.push_back(each.name);
      here.refuse("names no [[group]] defined above it: \"{}\"{}", spec.group, did_you_mean(spec.group, known));
    }
    const u64 number = program_.launches.size();
    if (group->end == 0) group->first = group->end = number;
    if (group->end != number) here.refuse("must follow the other launches of \"{}\" directly", spec.group);
    if (!spec.unmap.empty()) place.refuse("cannot unmap in a group: the buffer would be gone when the group repeats");
    group->end = number + 1;
  }

  void read_variable(const Tree& given_table, Place place) {
    const Tree table = with_count(given_table, place);
    VariableSpec spec;
    spec.seed = seed_;
    fill(spec, table, place, {{"value", &spec.value}, {"step", &spec.step}, {"low", &spec.low}, {"high", &spec.high}});
    if (spec.name.empty()) place.refuse("has no name; add name = \"...\"");
    if (spec.count == 0) place.refuse("has no count; add count = ...");
    spec.place = std::move(place);
    program_.variables.push_back(std::move(spec));
  }

  void read_expect(const Tree& table, Place place) {
    ExpectSpec spec;
    fill(spec, table, place,
         {{"value", &spec.value}, {"step", &spec.step}, {"tolerance", &spec.tolerance}, {"absolute", &spec.absolute}});
    spec.compares = table.find("equals") != nullptr;
    if (spec.compares == !spec.digest.empty()) place.refuse("needs either equals or digest");
    if (spec.contents == Contents::kUniform) place.refuse("cannot expect random contents; use file or digest");
    if (given(spec.tolerance)) check_tolerance(table, "tolerance", "a relative", spec, spec.tolerance, place);
    if (given(spec.absolute)) check_tolerance(table, "absolute", "an absolute", spec, spec.absolute, place);
    spec.index = index_of(spec.buffer, place);
    if (is_unmapped(spec.index)) place.refuse("names \"{}\", which a launch unmaps", spec.buffer);
    spec.place = std::move(place);
    program_.expectations.push_back(std::move(spec));
  }

  static void check_tolerance(const Tree& table, const char* key, std::string_view kind, const ExpectSpec& spec,
                              const Tree& given_as, const Place& place) {
    const Place here = of_key(table, place, key);
    if (!spec.compares) here.refuse("needs equals: a digest allows no error");
    const double tolerance = number<double>(given_as, here);
    if (!(tolerance >= 0) || std::isinf(tolerance))
      here.refuse("must be {} error, a number of at least 0, not {}", kind, given_as.text());
  }

  const BufferSpec* find(std::string_view name) const {
    const auto found =
        std::find_if(program_.buffers.begin(), program_.buffers.end(), [&](const auto& b) { return b.name == name; });
    return found == program_.buffers.end() ? nullptr : &*found;
  }
  u64 index_of(const std::string& name, const Place& place) const {
    if (const BufferSpec* spec = find(name)) return static_cast<u64>(spec - program_.buffers.data());
    std::vector<std::string> known;
    for (const BufferSpec& spec : program_.buffers) known.push_back(spec.name);
    place.refuse("names no buffer defined above it: \"{}\"{}", name, did_you_mean(name, known));
  }

  ProgramFile& program_;
  const std::string& file_;
  u64 seed_;                   // of contents that are drawn, unless the file gives one
  std::vector<u64> unmapped_;  // by the launches read so far
};

}  // namespace

std::unique_ptr<const ProgramFile> read_program_file(const std::string& path, u64 seed) {
  require_plain_file(path);
  auto program = std::make_unique<ProgramFile>();
  program->file = path;
  program->folder = fs::path(path).parent_path().string();
  Reader(*program, seed).read();
  return program;
}

}  // namespace terrace::user
