// NumPy's .npy files: a line that says type and shape, then the elements.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdio>
#include <string>

#include "frontend/user/element.h"

namespace terrace::user {

/// Reads the head of a file that should hold `count` elements of the type, in whatever shape; returns its bytes, and leaves
/// the file where the elements begin. What does not fit is an InputError that says what the file has.
u64 read_npy_header(std::FILE* file, const std::string& path, Element type, u64 count, const Place& place);

/// The head of a file with a list of `count` elements.
std::string npy_header(Element type, u64 count);

}  // namespace terrace::user
