// SPDX-License-Identifier: MIT
#include "gpu/controllers/faults.h"

namespace terrace {

void Faults::act(Cycle now) {
  for (const auto& sm : sms_) {
    const std::optional<SmFault> fault = sm->take_fault();
    if (!fault || tenants_[fault->tenant].ended) continue;
    tenants_[fault->tenant].done.fault = fault->sentence;
    presence_.end(fault->tenant, now);
  }
}

}  // namespace terrace
