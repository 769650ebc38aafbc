// Setting one field of a described struct from what a user wrote, in a file or on the command line. A wrong key, type
// or range is an InputError whose one sentence names the place, the key, what it may be, and what was probably meant:
//
//   dws.toml:12: mmu.walk_scheduler.dws.epohc is not a known key; did you mean "epoch"?
//   --set: mmu.walkers must be a whole number from 1 to 1024, not 4096
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/fields.h"
#include "text/tree.h"

namespace terrace {

/// Where a value came from: "default", "--set", or a file and a line.
struct Origin {
  std::string source = "default";
  u32 line = 0;

  std::string text() const;  // "dws.toml:12", "--set"
  friend bool operator==(const Origin&, const Origin&) = default;
};

/// A value as it was written. Bare text (from the command line) takes the type of its key; a value from a file has one.
struct Given {
  std::string path;  // "mmu.walkers"
  Tree value;
  bool bare_text = false;
  Origin origin;
};

/// `shown_under` is put before the key in messages ("bfs" makes "bfs.vertices").
void assign(Described target, const Given& given, std::string_view shown_under = "");

/// "key=value" from the command line, split; `option` is what messages call the place ("--set").
Given split_assignment(std::string_view text, std::string_view option);

/// The same for a list of them, "vertices=1000,graph=uniform". A list's commas stand in brackets: "sizes=[1,2,3]".
/// Naming one key twice is an InputError.
std::vector<Given> split_assignments(std::string_view list, std::string_view option);

}  // namespace terrace
