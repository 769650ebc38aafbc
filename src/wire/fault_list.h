// Faults that a unit has seen, at most one per tenant (the first), until they are taken between cycles. Tenants that share
// the unit can fault in the same cycle.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "engine/archive.h"
#include "engine/types.h"

namespace terrace {

template <class Fault>
class FaultList {
 public:
  void note(Fault fault) {
    if (std::ranges::find(faults_, fault.tenant, &Fault::tenant) == faults_.end()) faults_.push_back(std::move(fault));
  }
  std::optional<Fault> take() {
    if (faults_.empty()) return std::nullopt;
    const Fault first = std::move(faults_.front());
    faults_.erase(faults_.begin());
    return first;
  }
  void archive(Archive& a) { a(faults_); }

 private:
  std::vector<Fault> faults_;
};

}  // namespace terrace
