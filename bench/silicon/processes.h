// Each of several pieces of work in a process of its own: one that fails, hangs or breaks the GPU costs only its own points.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "json_file.h"

namespace terrace::silicon {

struct ProcessOptions {
  u64 at_once = 1;
  double seconds = 0;     // in all: after that, none begins
  double each = 0;        // of a piece: its process ends then
  std::string hint = {};  // what to do about a piece that there was no time for
};

/// `work` writes lines as JsonFile::take_lines reads them; what it throws becomes a problem in the file. Pieces begin in the order
/// of their names.
void share_out(const std::vector<std::string>& pieces, const ProcessOptions& options, JsonFile& file,
               const std::function<void(u64 piece, std::FILE* lines)>& work);

}  // namespace terrace::silicon
