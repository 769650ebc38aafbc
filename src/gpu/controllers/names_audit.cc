// SPDX-License-Identifier: MIT
#include "gpu/controllers/names_audit.h"

#include <unordered_set>

#include "engine/check.h"

namespace terrace {

void NamesAudit::act(Cycle now) {
  if (now == 0 || now % kEvery != 0) return;
  std::unordered_set<u64> seen;  // physical lines
  for (const auto& slice : slices_) {
    slice->each_line([&](LineKey line) {
      if (line.is_physical()) return;
      SIM_CHECK(fbt_.tracks(line),
                "line {:#x} of tenant {} is in the L2 and the forward-backward table does not know of it",
                line.number(), index(line.tenant()));
      SIM_CHECK(seen.insert(fbt_.address_of(line).raw).second, "line {:#x} of tenant {} is in the L2 under two names",
                line.number(), index(line.tenant()));
    });
  }
}

}  // namespace terrace
