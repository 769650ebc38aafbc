// SPDX-License-Identifier: MIT
#include "gpu/translations.h"

namespace terrace {

void Translations::flush_core(SmId sm, TenantId tenant) {
  sms_[index(sm)]->load_store().translator().flush_tenant(tenant);
  flush_shared(tenant);
}

void Translations::flush_tenant(TenantId tenant) {
  for (const auto& sm : sms_) sm->load_store().translator().flush_tenant(tenant);
  flush_shared(tenant);
}

void Translations::flush_shared(TenantId tenant) {
  if (tlb_) tlb_->flush_tenant(tenant);
  for (const auto& mmu : mmus_) mmu->flush_tenant(tenant);
}

void Translations::flush_page(TenantId tenant, VirtAddr va) {
  const u64 key = spaces_.key_of(tenant, va);
  for (const auto& sm : sms_) sm->load_store().translator().flush_page(key);
  if (tlb_) tlb_->flush_page(key);
  for (const auto& mmu : mmus_) mmu->flush_page(key);
}

void Translations::flush_shared() {
  if (tlb_) tlb_->flush();
  for (const auto& mmu : mmus_) mmu->flush();
}

}  // namespace terrace
