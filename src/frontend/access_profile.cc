// SPDX-License-Identifier: MIT
#include "frontend/access_profile.h"

#include <bit>
#include <numeric>

namespace terrace {
namespace {

/// Distinct numbers of one access. Neighbouring lanes mostly share theirs, so the newest are looked at first.
class Distinct {
 public:
  void add(u64 value) {
    for (u32 i = count_; i > 0; --i) {
      if (values_[i - 1] == value) return;
    }
    if (count_ < values_.size()) values_[count_++] = value;
  }
  u32 count() const { return count_; }

 private:
  std::array<u64, 256> values_;  // 64 lanes of at most 4 words
  u32 count_ = 0;
};

}  // namespace

void AccessProfile::record(const DecodedInst& inst, const Effect& effect) {
  ++by_class_[index(inst.cls)];
  thread_instructions_ += static_cast<u64>(std::popcount(effect.active));
  if (effect.action == MemoryAction::kNone || effect.active == 0) return;
  if (effect.space == MemorySpace::kShared || effect.shared_lanes != 0) ++shared_accesses_;
  if (effect.space == MemorySpace::kGlobal || effect.space == MemorySpace::kLocal) record_access(effect);
}

void AccessProfile::record_access(const Effect& effect) {
  Distinct lines, pages;
  for (u64 rest = effect.active & ~effect.shared_lanes; rest != 0; rest &= rest - 1) {
    const u64 first = effect.address[static_cast<u32>(std::countr_zero(rest))];
    for (u32 word = 0; word < effect.words; ++word) {
      lines.add((first + word * effect.stride) / kLineBytes);
      pages.add((first + word * effect.stride) / kPageBytes);
    }
  }
  ++accesses_;
  lines_ += lines.count();
  pages_ += pages.count();
  most_pages_ = std::max(most_pages_, pages.count());
}

u64 AccessProfile::warp_instructions() const {
  return std::accumulate(by_class_.begin(), by_class_.end(), u64{0});
}

}  // namespace terrace
