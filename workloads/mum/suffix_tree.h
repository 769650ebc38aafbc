// The suffix tree of a text over A, C, G and T, by Ukkonen's algorithm. The text ends in a character that occurs nowhere
// else, so that every suffix is a leaf.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "engine/types.h"

namespace terrace {

class SuffixTree {
 public:
  static constexpr char kEnd = '$';
  static constexpr u32 kBases = 4;

  struct Node {
    i32 start = 0, end = 0;  // of the edge that leads here, in the text
    i32 depth = 0;           // characters from the root to the end of the edge
    i32 link = 0;            // the node of the same string without its first character; 0 is the root
  };

  /// `text` ends in kEnd.
  explicit SuffixTree(const std::string& text);

  const std::vector<Node>& nodes() const { return nodes_; }
  /// 0 where there is none. The child by kEnd is left out: no query has that character.
  const std::vector<std::array<i32, kBases>>& children() const { return children_; }

  /// A, C, T, G.
  static u32 code(char base) { return static_cast<u32>(base) >> 1 & 3; }

  struct Match {
    i32 node = 0, length = 0;
  };
  /// The longest prefix of `query` that occurs in the text, walked from the root, and the node whose edge it ends on.
  Match longest_match(const std::string& text, std::string_view query) const;

 private:
  i32 add(i32 start, i32 end);
  i32& child(i32 node, char by);
  void insert(const std::string& text, i32 position);

  std::vector<Node> nodes_;
  std::vector<std::array<i32, kBases>> children_;
  std::vector<i32> end_children_;  // by kEnd, while the tree grows
  // Where the next suffix goes in: so many are to come, below this node, on its edge by this character, so far along.
  i32 remaining_ = 0, active_node_ = 0, active_edge_ = 0, active_length_ = 0;
};

}  // namespace terrace
