// SPDX-License-Identifier: MIT
#include "suffix_tree.h"

#include <algorithm>

namespace terrace {

SuffixTree::SuffixTree(const std::string& text) {
  const i32 size = static_cast<i32>(text.size());
  add(0, 0);  // the root
  for (i32 i = 0; i < size; ++i) insert(text, i);
  // A node comes after its parent only by way of the walk: depths follow the edges.
  std::vector<i32> open{0};
  while (!open.empty()) {
    const i32 node = open.back();
    open.pop_back();
    for (u32 by = 0; by <= kBases; ++by) {
      const i32 below = by < kBases ? children_[static_cast<u64>(node)][by] : end_children_[static_cast<u64>(node)];
      if (below == 0) continue;
      Node& record = nodes_[static_cast<u64>(below)];
      record.end = std::min(record.end, size);
      record.depth = nodes_[static_cast<u64>(node)].depth + record.end - record.start;
      open.push_back(below);
    }
  }
}

i32 SuffixTree::add(i32 start, i32 end) {
  nodes_.push_back({start, end, 0, 0});
  children_.push_back({});
  end_children_.push_back(0);
  return static_cast<i32>(nodes_.size()) - 1;
}

i32& SuffixTree::child(i32 node, char by) {
  const u64 at = static_cast<u64>(node);
  return by == kEnd ? end_children_[at] : children_[at][code(by)];
}

/// All suffixes that end with this character and are not in the tree yet.
void SuffixTree::insert(const std::string& text, i32 position) {
  constexpr i32 kOpen = 0x7fff'ffff;  // a leaf's edge grows with the text
  const auto at = [&text](i32 i) { return text[static_cast<u64>(i)]; };
  i32 waiting = 0;  // an inner node made in this call, for which a link is to be found
  const auto link_to = [&](i32 node) {
    if (waiting) nodes_[static_cast<u64>(waiting)].link = node;
    waiting = node;
  };
  ++remaining_;
  while (remaining_ > 0) {
    if (active_length_ == 0) active_edge_ = position;
    const i32 next = child(active_node_, at(active_edge_));
    if (next == 0) {
      const i32 leaf = add(position, kOpen);
      child(active_node_, at(active_edge_)) = leaf;
      link_to(active_node_);
    } else {
      const i32 start = nodes_[static_cast<u64>(next)].start;
      const i32 length = std::min(nodes_[static_cast<u64>(next)].end, position + 1) - start;
      if (active_length_ >= length) {  // further down
        active_edge_ += length;
        active_length_ -= length;
        active_node_ = next;
        continue;
      }
      if (at(start + active_length_) == at(position)) {  // there already: so are all shorter ones
        ++active_length_;
        link_to(active_node_);
        break;
      }
      const i32 split = add(start, start + active_length_);
      child(active_node_, at(active_edge_)) = split;
      const i32 leaf = add(position, kOpen);
      child(split, at(position)) = leaf;
      nodes_[static_cast<u64>(next)].start += active_length_;
      child(split, at(nodes_[static_cast<u64>(next)].start)) = next;
      link_to(split);
    }
    --remaining_;
    if (active_node_ == 0 && active_length_ > 0) {
      --active_length_;
      active_edge_ = position - remaining_ + 1;
    } else if (active_node_ != 0) {
      active_node_ = nodes_[static_cast<u64>(active_node_)].link;
    }
  }
}

SuffixTree::Match SuffixTree::longest_match(const std::string& text, std::string_view query) const {
  Match match;
  u64 matched = 0;
  for (i32 node = 0; matched < query.size();) {
    const i32 below = children_[static_cast<u64>(node)][code(query[matched])];
    if (below == 0) break;
    const Node& edge = nodes_[static_cast<u64>(below)];
    match.node = below;
    i32 i = edge.start;
    while (i < edge.end && matched < query.size() && text[static_cast<u64>(i)] == query[matched]) ++i, ++matched;
    if (i < edge.end) break;
    node = below;
  }
  match.length = static_cast<i32>(matched);
  return match;
}

}  // namespace terrace
