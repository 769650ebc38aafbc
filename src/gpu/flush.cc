// Forgetting translations, and moving pages. All of it happens between cycles and takes no time: the papers give a
// flush no cost, and a driver that moves pages is not modelled. Answers that are under way are not called back, so a
// page moves only while its tenant has nothing in flight.
//
// Which flush is needed follows MASK §5.1: a flush names a core and an address space; a changed page-table entry
// flushes everything.
// SPDX-License-Identifier: MIT
#include <array>

#include "gpu/gpu.h"

namespace terrace {

void Gpu::flush_core(SmId sm, TenantId tenant) {
  sms_[index(sm)]->load_store().translator().flush_tenant(tenant);
  flush_shared(tenant);
}

void Gpu::flush_tenant(TenantId tenant) {
  for (const auto& sm : sms_) sm->load_store().translator().flush_tenant(tenant);
  flush_shared(tenant);
}

void Gpu::flush_shared(TenantId tenant) {
  if (tlb_) tlb_->flush_tenant(tenant);
  for (const auto& mmu : mmus_) mmu->flush_tenant(tenant);
}

void Gpu::flush_page(TenantId tenant, VirtAddr va) {
  const u64 key = page_key(tenant, spaces_.page_shift(), va.raw >> spaces_.page_shift());
  for (const auto& sm : sms_) sm->load_store().translator().flush_page(key);
  if (tlb_) tlb_->flush_page(key);
  for (const auto& mmu : mmus_) mmu->flush_page(key);
}

void Gpu::flush_translations() {
  for (const auto& sm : sms_) sm->load_store().translator().flush();
  if (tlb_) tlb_->flush();
  for (const auto& mmu : mmus_) mmu->flush();
}

/// The bytes move with their page (they are kept by virtual address); what changes is memory: the new frame and the
/// entry. The L2's lines of the old frame are dead, for nobody can name them any more.
void Gpu::remap(TenantId tenant, VirtAddr va) {
  SIM_CHECK(!dispatcher_->running(tenant), "a page of tenant {} moves while its kernel runs", index(tenant));
  const u64 page = u64{1} << spaces_.page_shift();
  const PhysAddr entry = spaces_.remap(tenant, va);
  const PhysAddr frame = spaces_.locate(tenant, {va.raw & ~(page - 1)});
  const std::array<ByteRange, 2> written{{{frame.raw, frame.raw + page}, {entry.raw, entry.raw + sizeof(TableEntry)}}};
  const u64 first = va.raw & ~(page - 1);
  forget_lines(written, {lines_of_tenant(tenant, first, first + page)});
  flush_translations();
}

}  // namespace terrace
