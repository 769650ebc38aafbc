// Buffers that are written to files when a program is done: --save.
// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/types.h"

namespace terrace {

class GuestMemory;
class OutputFile;
class Program;

class Saves {
 public:
  struct Owner {
    const Program* program;
    const GuestMemory* memory;
  };
  /// `wanted` are BUFFER=FILE, or TENANT:BUFFER=FILE with the number of an owner, which may be left out where there is only
  /// one. Names are looked up, and files made, before the program runs; messages begin with `command`.
  Saves(std::string command, const std::vector<std::string>& wanted, std::vector<Owner> owners);
  ~Saves();

  /// Whether a buffer of this owner is wanted.
  bool any_of(u64 owner) const;
  /// What the buffers of this owner hold now; its first call counts.
  void take(u64 owner);
  /// The files get their names, once all are taken.
  void commit();

 private:
  struct Save {
    u64 owner;
    std::string buffer;
    bool npy;
    std::unique_ptr<OutputFile> file;
    bool taken = false;
  };
  void add(const std::string& text);
  /// The number before the colon, if there is one, and the name behind it.
  u64 owner_of(const std::string& text, std::string& name) const;
  void check_name(u64 owner, const std::string& name) const;

  std::string command_;
  std::vector<Owner> owners_;
  std::vector<Save> saves_;
};

}  // namespace terrace
