// SPDX-License-Identifier: MIT
#include "gpu/look.h"

#include "gpu/gpu.h"

namespace terrace {

MachineLook Gpu::look() const {
  MachineLook look;
  look.cycle = now();
  for (u32 i = 0; i < tenants_.size(); ++i) {
    look.tenants.push_back(activity_.so_far(TenantId(i)));
    u32 walks = 0;
    for (const auto& mmu : mmus_) walks += mmu->walks_in_service(TenantId(i));
    look.walks_in_service.push_back(walks);
  }
  for (const auto& mmu : mmus_) look.walks_waiting += mmu->scheduler().waiting();
  return look;
}

}  // namespace terrace
