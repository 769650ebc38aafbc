// A command as a memory channel issued it, and how a log says so.
// SPDX-License-Identifier: MIT
#pragma once

#include <fmt/format.h>

#include <string>

#include "engine/types.h"

namespace terrace {

struct DramCommand {
  enum class Kind : u8 { kActivate, kPrecharge, kRead, kWrite, kRefresh };
  Kind kind;
  u32 bank;             // of a refresh: the rank's first
  u64 cycle;            // of the command clock
  u32 row;              // 0 of those that name none
  bool closes = false;  // a column command with auto-precharge
  friend bool operator==(const DramCommand&, const DramCommand&) = default;
};

/// "RD bank 3 row 17, command clock 898": in the letters of the standards.
inline std::string text_of(const DramCommand& command) {
  using Kind = DramCommand::Kind;
  static constexpr const char* kNames[] = {"ACT", "PRE", "RD", "WR", "REF"};
  const bool names_row = command.kind != Kind::kPrecharge && command.kind != Kind::kRefresh;
  return fmt::format("{} bank {}{}{}, command clock {}", kNames[static_cast<int>(command.kind)], command.bank,
                     names_row ? fmt::format(" row {}", command.row) : "", command.closes ? " closes it" : "",
                     command.cycle);
}

}  // namespace terrace
