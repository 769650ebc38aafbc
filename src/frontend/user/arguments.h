// Arguments of a launch in a user's file: numbers, buffers with an offset, structs of these.
// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "frontend/program.h"
#include "frontend/user/element.h"

namespace terrace::user {

/// A buffer's address in the bytes of an argument; it is known when the buffer is allocated.
struct Address {
  u64 at = 0;      // byte of the argument
  u64 buffer = 0;  // by number
  u64 offset = 0;  // bytes from its beginning
};

struct Argument {
  KernelArgument value;
  u64 align = 1;
  std::vector<Address> addresses;
};

struct NamedBuffer {
  u64 number, count;
  Element type;
};
/// Finds a buffer by its name, or refuses it.
using FindBuffer = std::function<NamedBuffer(const std::string& name, const Place& place)>;

/// NAME of a buffer; { buffer = NAME, offset = elements }; a number (whole: i32, otherwise f32); { TYPE = number },
/// { TYPE = [numbers] }; { struct = [such members] }, laid out as C++ does.
Argument read_argument(const Tree& tree, const Place& place, const FindBuffer& find);

}  // namespace terrace::user
