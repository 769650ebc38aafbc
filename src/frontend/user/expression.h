// Whole numbers that a user's file computes: "(n >> i) / 256", where n is one of its [define]s and i counts repetitions.
//
// Operators are those of C, with its precedence: ?: | ^ & == != < <= > >= << >> + - * / % unary - ~ and parentheses, besides
// min(a, b) and max(a, b). Everything is signed and has 64 bits; what does not fit is refused.
// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>

#include "frontend/user/element.h"

namespace terrace::user {

/// What names in expressions stand for.
struct Names {
  std::map<std::string, i64, std::less<>> values;
  std::set<std::string, std::less<>> used;  // by what was evaluated so far
};

/// The value of an expression; anything wrong with it is refused at `place`.
i64 evaluate(std::string_view text, Names& names, const Place& place);

/// A table of a launch with numbers in place of its expressions: sizes, offsets, counts, values and arguments.
Tree with_numbers(const Tree& launch, Names& names, const Place& place);

/// A number, or an expression's.
Tree number_of(const Tree& tree, Names& names, const Place& place);

}  // namespace terrace::user
