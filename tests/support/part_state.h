// What a part of the machine saves, with the statistics that it describes (the machine saves those of all parts at once).
// For tests that let a fresh part go on where another one stands.
// SPDX-License-Identifier: MIT
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <utility>
#include <vector>

#include "engine/archive.h"
#include "stats/stat_tree.h"

namespace terrace {

template <class Part>
void archive_with_statistics(Archive& a, Part& part) {
  a(part);
  if constexpr (requires(StatFields& v) { part.describe(v); }) {
    StatTree statistics(kMaxTenants);
    statistics.add("part", part);
    statistics.archive(a);
  }
}

template <class Part>
std::vector<std::byte> state_of(Part& part) {
  SavedState saved;
  archive_with_statistics(saved, part);
  return saved.take();
}

template <class Part>
void put_state(Part& part, const std::vector<std::byte>& state) {
  RestoredState restored(state);
  archive_with_statistics(restored, part);
}

/// A fresh part with the state of `part` becomes its twin. The twin that there was must have come to the same state.
template <class Part>
void renew_twin(Part& part, std::unique_ptr<Part>& twin, std::unique_ptr<Part> fresh) {
  const auto state = state_of(part);
  if (twin) {
    ASSERT_EQ(state_of(*twin), state) << "or it remembers something else";
  }
  twin = std::move(fresh);
  put_state(*twin, state);
  ASSERT_EQ(state_of(*twin), state);
}

}  // namespace terrace
