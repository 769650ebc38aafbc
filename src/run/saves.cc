// SPDX-License-Identifier: MIT
#include "run/saves.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <span>
#include <utility>

#include "config/field_text.h"
#include "engine/check.h"
#include "frontend/user_program.h"
#include "text/output.h"
#include "text/suggest.h"
#include "text/tree.h"

namespace terrace {
namespace {

const GuestMemory::Allocation* find(const GuestMemory& memory, std::string_view name) {
  const auto& all = memory.allocations();
  const auto found = std::find_if(all.begin(), all.end(), [&](const auto& buffer) { return buffer.name == name; });
  return found == all.end() ? nullptr : &*found;
}

}  // namespace

Saves::Saves(std::string command, const std::vector<std::string>& wanted, std::vector<Owner> owners)
    : command_(std::move(command)), owners_(std::move(owners)) {
  for (const std::string& text : wanted) add(text);
}

Saves::~Saves() = default;

void Saves::add(const std::string& text) {
  const std::size_t at = text.find('=');
  if (at == text.npos || at == 0 || at + 1 == text.size())
    input_error("{}: --save takes {}BUFFER=FILE, not \"{}\"", command_, owners_.size() > 1 ? "TENANT:" : "",
                printable(text));
  std::string name = text.substr(0, at), file = text.substr(at + 1);
  const u64 owner = owner_of(text, name);
  check_name(owner, name);
  saves_.push_back({owner, std::move(name), file.ends_with(".npy"), std::make_unique<OutputFile>(std::move(file))});
}

u64 Saves::owner_of(const std::string& text, std::string& name) const {
  const std::size_t colon = name.find(':');
  const auto number = colon == name.npos ? std::nullopt : parse_integer(name.substr(0, colon));
  if (!number && owners_.size() == 1) return 0;
  if (!number || *number >= owners_.size())
    input_error("{}: --save {}: say of which tenant, from 0 to {}, as in --save 0:{}=FILE", command_, printable(text),
                owners_.size() - 1, printable(name.substr(colon == name.npos ? 0 : colon + 1)));
  name.erase(0, colon + 1);
  return *number;
}

void Saves::check_name(u64 owner, const std::string& name) const {
  const GuestMemory& memory = *owners_[owner].memory;
  if (find(memory, name) != nullptr) return;
  std::vector<std::string> known;
  for (const GuestMemory::Allocation& buffer : memory.allocations()) known.push_back(buffer.name);
  const std::string suggestion = did_you_mean(name, known);
  input_error("{}: --save: the program has no buffer \"{}\"{}", command_, printable(name),
              suggestion.empty() ? fmt::format("; it has {}", fmt::join(known, ", ")) : suggestion);
}

bool Saves::any_of(u64 owner) const {
  return std::any_of(saves_.begin(), saves_.end(), [&](const Save& save) { return save.owner == owner; });
}

void Saves::take(u64 owner) {
  const auto& [program, memory] = owners_[owner];
  for (Save& save : saves_) {
    if (save.owner != owner || std::exchange(save.taken, true)) continue;
    const GuestMemory::Allocation* buffer = find(*memory, save.buffer);
    if (buffer == nullptr)
      input_error("{}: --save: the buffer \"{}\" is unmapped in the end; leave out its unmap", command_,
                  printable(save.buffer));
    if (save.npy) save.file->write(npy_header_of(*program, save.buffer, buffer->bytes));
    const std::span<const u8> bytes = memory->read(buffer->first, buffer->bytes);
    save.file->write({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  }
}

void Saves::commit() {
  for (Save& save : saves_) save.file->commit();
}

}  // namespace terrace
