// SPDX-License-Identifier: MIT
#include "gpu/controllers/cpu.h"

namespace terrace {

void Cpu::act(Cycle now) {
  if (now == last_) return;
  last_ = now;
  if (is_due(now, config_.probe_interval)) probe(now);
  if (is_due(now, config_.shootdown_interval)) shoot_down(now);
  if (is_due(now, config_.flush_interval)) flush(now);
}

/// Lines that only the CPU uses lie behind the memory of the GPU.
void Cpu::probe(Cycle now) {
  const u64 page_bytes = u64{1} << spaces_.page_shift();
  const u64 offset = random_.below(page_bytes / line_bytes_) * line_bytes_;
  const auto tenant = static_cast<TenantId>(random_.below(tenants_));
  const PhysAddr frame = spaces_.locate(tenant, random_page(tenant));
  const bool shared = random_.below(100) < config_.shared_percent && frame != AddressSpaces::kUnmapped;
  fbt_.probe({(shared ? frame.raw : memory_bytes_) + offset}, now);
}

/// Translations are forgotten first, so that whoever asks afterwards walks.
void Cpu::shoot_down(Cycle now) {
  const auto tenant = static_cast<TenantId>(random_.below(tenants_));
  const VirtAddr page = random_page(tenant);
  translations_.flush_page(tenant, page);
  fbt_.shoot_down(spaces_.key_of(tenant, page), now);
}

/// SMs have no TLBs of their own: translation stands behind the L2.
void Cpu::flush(Cycle now) {
  translations_.flush_shared();
  fbt_.shoot_down_all(now);
}

VirtAddr Cpu::random_page(TenantId tenant) {
  const u64 pages = spaces_.near_pages(tenant);
  return {GuestMemory::kBase + (pages == 0 ? 0 : random_.below(pages) << spaces_.page_shift())};
}

}  // namespace terrace
