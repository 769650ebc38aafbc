// SPDX-License-Identifier: MIT
#include "frontend/traces/opcode_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <span>
#include <variant>

#include "engine/check.h"
#include "engine/hash.h"
#include "text/program_folder.h"
#include "text/suggest.h"
#include "text/tree.h"

namespace terrace::traces {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::pair<std::string_view, InstClass>, 7> kPipelines{{{"integer", InstClass::kInteger},
                                                                            {"float", InstClass::kFloat},
                                                                            {"double", InstClass::kDouble},
                                                                            {"special", InstClass::kSpecial},
                                                                            {"control", InstClass::kControl},
                                                                            {"barrier", InstClass::kBarrier},
                                                                            {"fence", InstClass::kFence}}};
constexpr std::array<std::pair<std::string_view, MemoryAction>, 4> kActions{{{"load", MemoryAction::kLoad},
                                                                             {"store", MemoryAction::kStore},
                                                                             {"atomic", MemoryAction::kAtomic},
                                                                             {"reduction", MemoryAction::kReduction}}};
constexpr std::array<std::pair<std::string_view, MemorySpace>, 5> kSpaces{{{"global", MemorySpace::kGlobal},
                                                                           {"shared", MemorySpace::kShared},
                                                                           {"local", MemorySpace::kLocal},
                                                                           {"constant", MemorySpace::kConstant},
                                                                           {"generic", MemorySpace::kGeneric}}};

/// A file of the table, with sentences about its mistakes.
class TableFile {
 public:
  explicit TableFile(const std::string& path) : path_(path) {}

  template <class Range>
  auto choice(const Tree& tree, std::string_view key, const Range& choices) const {
    std::vector<std::string> names;
    const std::string given = text(tree, key);
    for (const auto& [name, value] : choices) {
      if (name == given) return value;
      names.emplace_back(name);
    }
    refuse(tree, "{} must be one of {}, not \"{}\"{}", key, fmt::join(names, ", "), printable(given),
           did_you_mean(given, names));
  }
  std::string text(const Tree& tree, std::string_view key) const {
    if (const auto* value = std::get_if<std::string>(&tree.value)) return *value;
    refuse(tree, "{} must be text, not {}", key, tree.text());
  }
  std::vector<std::string> texts(const Tree& tree, std::string_view key) const {
    if (!tree.is_list()) refuse(tree, "{} must be a list of names, not {}", key, tree.text());
    std::vector<std::string> all;
    for (const Tree& item : tree.items()) all.push_back(text(item, key));
    return all;
  }
  template <class... Args>
  [[noreturn]] void refuse(const Tree& at, fmt::format_string<Args...> format, Args&&... args) const {
    input_error("{}:{}: {}", path_, at.line, fmt::format(format, std::forward<Args>(args)...));
  }

 private:
  const std::string& path_;
};

Opcode read_access(const TableFile& file, const std::string& name, const Tree& tree) {
  Opcode opcode{true, InstClass::kMemory};
  if (!tree.is_table()) file.refuse(tree, "{} must be a table of action and space, not {}", name, tree.text());
  for (const auto& [key, value] : tree.members()) {
    if (key == "action") {
      opcode.action = file.choice(value, "action", kActions);
    } else if (key == "space") {
      opcode.space = file.choice(value, "space", kSpaces);
    } else if (key == "bytes") {
      const u64* bytes = std::get_if<u64>(&value.value);
      if (!bytes || *bytes == 0 || *bytes > 16 || (*bytes & (*bytes - 1)) != 0)
        file.refuse(value, "bytes must be 1, 2, 4, 8 or 16, not {}", value.text());
      opcode.bytes = static_cast<u8>(*bytes);
    } else {
      file.refuse(value, "{} has no key \"{}\"; available: action, space, bytes", name, printable(key));
    }
  }
  if (opcode.action == MemoryAction::kNone || opcode.space == MemorySpace::kNone)
    file.refuse(tree, "{} needs an action and a space", name);
  return opcode;
}

/// The key of a list of tensor instructions.
u16 read_work(const TableFile& file, const std::string& key, const Tree& at) {
  u16 work = 0;
  const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), work);
  if (error != std::errc{} || end != key.data() + key.size() || work == 0)
    file.refuse(at, "a key of tensor must be a number of multiply-accumulates from 1 to 65535, not \"{}\"",
                printable(key));
  return work;
}

std::string shipped_table() {
  const fs::path folder = program_folder();
  std::error_code ignored;
  for (const fs::path& root : {folder.parent_path() / "share" / "terrace", folder.parent_path().parent_path()}) {
    const fs::path table = root / "configs" / "traces" / "opcodes.toml";
    if (fs::is_regular_file(table, ignored)) return table.string();
  }
  input_error("the program in {} does not find configs/traces/opcodes.toml; reinstall it", folder.string());
}

}  // namespace

OpcodeTable OpcodeTable::read(const std::string& folder) {
  OpcodeTable table;
  table.add(shipped_table());
  const fs::path own = fs::path(folder) / "opcodes.toml";
  std::error_code ignored;
  if (fs::exists(own, ignored)) table.add(own.string());
  return table;
}

void OpcodeTable::add(const std::string& path) {
  const std::string text = read_file(path);
  const Tree tree = parse_toml(text, path);
  const TableFile file(path);
  hash_ = hash64(hash_text(hash_) + text);
  std::map<std::string, Opcode, std::less<>> added;
  const auto take = [&](const std::string& name, const Opcode& opcode, const Tree& at) {
    if (!added.emplace(name, opcode).second) file.refuse(at, "{} is listed twice in this file", printable(name));
  };
  for (const auto& [section, value] : tree.members()) {
    if (section == "pipelines") {
      for (const auto& [pipeline, names] : value.members()) {
        const Opcode opcode{true, file.choice(Tree(pipeline), "a pipeline", kPipelines)};
        for (const std::string& name : file.texts(names, pipeline)) take(name, opcode, names);
      }
    } else if (section == "tensor") {
      for (const auto& [work, names] : value.members()) {
        Opcode opcode{true, InstClass::kTensor};
        opcode.tensor_work = read_work(file, work, names);
        for (const std::string& name : file.texts(names, work)) take(name, opcode, names);
      }
    } else if (section == "accesses") {
      for (const auto& [name, access] : value.members()) take(name, read_access(file, name, access), access);
    } else if (section == "modifiers") {
      for (const auto& [key, names] : value.members()) {
        if (key != "bypass_l1") file.refuse(names, "modifiers has no key \"{}\"; available: bypass_l1", printable(key));
        bypass_l1_ = file.texts(names, key);
      }
    } else {
      file.refuse(value, "there is no section \"{}\"; available: pipelines, tensor, accesses, modifiers",
                  printable(section));
    }
  }
  for (auto& [name, opcode] : added) opcodes_.insert_or_assign(name, opcode);
}

Opcode OpcodeTable::find(std::string_view opcode) const {
  for (std::string_view words = opcode; !words.empty();) {
    if (const auto found = opcodes_.find(words); found != opcodes_.end()) {
      Opcode known = found->second;
      known.bypasses_l1 =
          known.action != MemoryAction::kNone && std::ranges::any_of(bypass_l1_, [&](const std::string& modifier) {
            const std::size_t at = opcode.find("." + modifier);
            const std::size_t end = at + 1 + modifier.size();
            return at != opcode.npos && (end == opcode.size() || opcode[end] == '.');
          });
      return known;
    }
    const std::size_t dot = words.rfind('.');
    words = dot == words.npos ? std::string_view{} : words.substr(0, dot);
  }
  return {};
}

u8 bytes_of_modifiers(std::string_view opcode) {
  constexpr std::array<std::pair<std::string_view, u8>, 13> kBytes{{{"U8", 1},
                                                                    {"S8", 1},
                                                                    {"U16", 2},
                                                                    {"S16", 2},
                                                                    {"32", 4},
                                                                    {"U32", 4},
                                                                    {"S32", 4},
                                                                    {"F32", 4},
                                                                    {"64", 8},
                                                                    {"U64", 8},
                                                                    {"S64", 8},
                                                                    {"F64", 8},
                                                                    {"128", 16}}};
  for (std::size_t dot = opcode.find('.'); dot != opcode.npos;) {
    const std::size_t end = opcode.find('.', dot + 1);
    const std::string_view word = opcode.substr(dot + 1, end == opcode.npos ? end : end - dot - 1);
    for (const auto& [modifier, bytes] : kBytes)
      if (word == modifier) return bytes;
    dot = end;
  }
  return 0;
}

}  // namespace terrace::traces
