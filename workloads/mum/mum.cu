// Longest matches of short queries in a long text of DNA, by a suffix tree of the text: one query a thread, every lane on
// its own path through the tree.
// SPDX-License-Identifier: MIT
#include "terrace_device.h"

namespace {
/// A, C, T, G.
__device__ __forceinline__ int code(u8 base) {
  return base >> 1 & 3;
}
}  // namespace

/// A record of a node: start and end, in the text, of the edge that leads to it; its depth, the characters from the root
/// to there; its link, the node of the same string without its first character. Node 0 is the root.
///
/// For each place of a query where a match of `least` characters could begin: the node whose edge the longest match ends
/// on, and its length.
extern "C" __global__ void mum_match(const u8* text, const int* children, const int4* records, const u8* queries,
                                     int2* matches, u32 count, u32 length, u32 least) {
  const u32 query_number = global_thread();
  if (query_number >= count) return;
  const u8* query = queries + query_number * length;
  const int size = static_cast<int>(length);
  const int places = size - static_cast<int>(least) + 1;
  int2* match = matches + query_number * static_cast<u32>(places);
  int node = 0, depth = 0;  // the last node that was reached, and its depth
#pragma unroll 1
  for (int place = 0; place < places; ++place) {
    int at = place + depth;  // the next character of the query
    int last = node;
#pragma unroll 1
    while (at < size) {
      const int child = children[4 * node + code(query[at])];
      if (child == 0) break;
      const int4 edge = records[child];
      last = child;
      ++at;
      int in_text = edge.x + 1;
#pragma unroll 1
      while (in_text < edge.y && at < size && text[in_text] == query[at]) {
        ++in_text;
        ++at;
      }
      if (in_text < edge.y) break;
      node = child;
      depth = edge.z;
    }
    match[place].x = last;
    match[place].y = at - place;
    // Without its first character the string of the last node reached is that of its link; the root has none.
    if (depth > 0) {
      node = records[node].w;
      --depth;
    }
  }
}
