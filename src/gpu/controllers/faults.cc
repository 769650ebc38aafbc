// SPDX-License-Identifier: MIT
#include "gpu/controllers/faults.h"

#include <fmt/format.h>

namespace terrace {

void Faults::act(Cycle now) {
  for (const auto& sm : sms_) {
    while (const std::optional<SmFault> fault = sm->take_fault()) end(fault->tenant, fault->sentence, now);
  }
  if (fbt_ == nullptr) return;
  while (const std::optional<SynonymFault> fault = fbt_->take_fault()) end(fault->tenant, sentence(*fault), now);
}

void Faults::end(TenantId tenant, const std::string& sentence, Cycle now) {
  if (tenants_[tenant].ended) return;
  tenants_[tenant].done.fault = sentence;
  presence_.end(tenant, now);
}

std::string Faults::sentence(const SynonymFault& fault) const {
  const GuestMemory& memory = *tenants_.setup(fault.tenant).memory;
  const auto place = [&](VirtAddr va) {
    const GuestMemory::Allocation* its = memory.nearest(va);
    return its == nullptr ? fmt::format("{:#x}", va.raw) : fmt::format("{:#x} in \"{}\"", va.raw, its->name);
  };
  return fmt::format(
      "a kernel {} the line at {}, which is cached under its other name, {}{}, and virtual caches cannot keep both "
      "copies coherent; map memory that kernels write to only once, use a design with physical caches, or set "
      "fbt.rw_synonyms = \"count\"",
      fault.write ? "writes to" : "reads", place(fault.va), place(fault.leading),
      fault.write ? "" : ", and was written to under it");
}

}  // namespace terrace
