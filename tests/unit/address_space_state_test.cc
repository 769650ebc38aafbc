// Address spaces that get the state of others go on alike: the same frames, the same entries of page tables.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <tuple>

#include "engine/rng.h"
#include "support/part_state.h"
#include "translation/address_space.h"

namespace terrace {
namespace {

using Case = std::tuple<FrameOrder, u32, u32>;  // frames, page bytes, parts of memory

class AddressSpacesThatMove : public testing::TestWithParam<Case> {
 protected:
  using Change = GuestMemory::PageChange;
  static constexpr u32 kTenants = 2;

  static std::unique_ptr<AddressSpaces> make() {
    // So few bits per level that one root does not reach all addresses.
    const PagesConfig pages{.bytes = std::get<1>(GetParam()),
                            .frames = std::get<0>(GetParam()),
                            .memory_bytes = u64{1} << 36,
                            .level_bits = 5};
    return std::make_unique<AddressSpaces>(pages, 128, 5, kTenants, std::get<2>(GetParam()));
  }
  u64 page_bytes() const { return std::get<1>(GetParam()); }
  /// One of some near and far pages.
  VirtAddr any_page(Rng& rng) const {
    const u64 starts[] = {GuestMemory::kBase, GuestMemory::kBase + GuestMemory::kNearBytes, u64{3} << 40, u64{1} << 46};
    return {starts[rng.below(4)] + rng.below(60) * page_bytes()};
  }
  /// What a walk reads, down to the page or to where nothing is.
  static std::vector<u64> walk(const AddressSpaces& spaces, TenantId tenant, VirtAddr va) {
    std::vector<u64> entries;
    const TableShape& shape = spaces.tables().shape();
    PhysAddr node = spaces.root(tenant, va);
    for (u32 level = 1; level <= shape.leaf_level(); ++level) {
      const TableEntry entry = spaces.tables().read(node, shape.entry_of(level, va));
      entries.push_back(entry.raw);
      if (!entry.present()) break;
      node = entry.target();
    }
    return entries;
  }
};

TEST_P(AddressSpacesThatMove, GoOnAlike) {
  constexpr u32 kSteps = 6'000, kTwin = 170;
  Rng rng(12, "pages");
  const auto spaces = make();
  std::unique_ptr<AddressSpaces> twin;
  std::set<std::pair<TenantId, VirtAddr>> taken;
  const auto change = [&](TenantId tenant, const Change& what) {
    const auto mine = spaces->cover(tenant, {&what, 1}), its = twin->cover(tenant, {&what, 1});
    ASSERT_EQ(its.size(), mine.size());
    for (u32 i = 0; i < mine.size(); ++i) {
      ASSERT_EQ(std::tuple(its[i].va, its[i].frame, its[i].entry, its[i].kind),
                std::tuple(mine[i].va, mine[i].frame, mine[i].entry, mine[i].kind));
    }
  };
  for (u32 step = 0; step < kSteps; ++step) {
    if (step % kTwin == 0) {
      const auto state = state_of(*spaces);
      if (twin) {
        ASSERT_EQ(state_of(*twin), state);
      }
      twin = make();
      put_state(*twin, state);
      ASSERT_EQ(state_of(*twin), state);
    }
    const auto tenant = TenantId(rng.below(kTenants));
    const VirtAddr va = any_page(rng), other = any_page(rng);
    const auto its = taken.find({tenant, va});
    const auto permission = rng.below(3) == 0 ? Permission::kReadOnly : Permission::kReadWrite;
    if (its == taken.end()) {
      Change what{.first = va, .bytes = page_bytes(), .permission = permission};
      if (taken.contains({tenant, other}) && rng.below(3) == 0) what.same_as = other;
      taken.insert({tenant, va});
      change(tenant, what);
    } else if (rng.below(3) == 0) {
      taken.erase(its);
      change(tenant, {.first = va, .bytes = page_bytes(), .kind = Change::Kind::kFreed});
    } else if (rng.below(2) == 0) {
      change(tenant, {.first = va, .bytes = page_bytes(), .kind = Change::Kind::kProtected, .permission = permission});
    } else {
      for (AddressSpaces* each : {spaces.get(), twin.get()}) each->touch(tenant, va);
    }
    if (HasFailure()) return;
    ASSERT_EQ(twin->locate(tenant, va), spaces->locate(tenant, va)) << "in step " << step;
    ASSERT_EQ(twin->writable(tenant, va), spaces->writable(tenant, va));
    ASSERT_EQ(twin->near_pages(tenant), spaces->near_pages(tenant));
    if (spaces->locate(tenant, va) == AddressSpaces::kUnmapped) continue;
    ASSERT_EQ(twin->root(tenant, va), spaces->root(tenant, va));
    ASSERT_EQ(walk(*twin, tenant, va), walk(*spaces, tenant, va));
  }
}

std::string name_of(const testing::TestParamInfo<Case>& tested) {
  const auto [order, bytes, parts] = tested.param;
  const char* frames = order == FrameOrder::kRandom       ? "random_"
                       : order == FrameOrder::kFirstTouch ? "first_touch_"
                                                          : "contiguous_";
  return frames + std::to_string(bytes) + "_bytes_" + std::to_string(parts) + "_parts";
}
INSTANTIATE_TEST_SUITE_P(All, AddressSpacesThatMove,
                         testing::Values(Case{FrameOrder::kRandom, 4096, 1}, Case{FrameOrder::kRandom, 65536, 2},
                                         Case{FrameOrder::kFirstTouch, 4096, 2},
                                         Case{FrameOrder::kContiguous, 2097152, 1}),
                         name_of);

}  // namespace
}  // namespace terrace
