// SPDX-License-Identifier: MIT
#include "fw/distances.h"

#include "engine/rng.h"

namespace terrace {
namespace {

constexpr u32 kOneEdgeIn = 4;  // density 25 %
constexpr u32 kMostWeight = 100;

}  // namespace

std::vector<i32> draw_distances(u32 dim, u64 seed) {
  Rng rng(seed, "fw.edges");
  std::vector<i32> dist(u64{dim} * dim);
  for (u64 at = 0; at < dist.size(); ++at) {
    const bool edge = rng.below(kOneEdgeIn) == 0;
    const i32 weight = static_cast<i32>(rng.below(kMostWeight + 1));
    dist[at] = at % (u64{dim} + 1) == 0 ? 0 : edge ? weight : kNoEdge;
  }
  return dist;
}

}  // namespace terrace
