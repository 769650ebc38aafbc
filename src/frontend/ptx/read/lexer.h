// Cuts PTX text into words. Every word keeps its line, so that whatever is wrong later can say where.
// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>
#include <vector>

#include "engine/types.h"

namespace terrace::ptx {

enum class TokenKind : u8 {
  kName,     // identifiers, registers, labels, opcodes: text
  kDotted,   // .word, text without the dot; .L1::no_allocate is one word
  kInteger,  // bits holds the value
  kFloat,    // bits holds the f32 or f64 image, is_f64 says which
  kString,   // text without the quotes
  kPunctuation,
  kEnd
};

struct Token {
  TokenKind kind = TokenKind::kEnd;
  bool is_f64 = false;
  u32 line = 0;
  std::string_view text;
  u64 bits = 0;

  bool is(char punctuation) const { return kind == TokenKind::kPunctuation && text[0] == punctuation; }
  bool is_dotted(std::string_view word) const { return kind == TokenKind::kDotted && text == word; }
};

/// The tokens point into `text`, which must outlive them. The last one is kEnd. Throws InputError.
std::vector<Token> tokenize(std::string_view file, std::string_view text);

}  // namespace terrace::ptx
