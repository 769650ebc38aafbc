// Everything that remembers translations (L1 TLBs, L2 TLB, walk caches), and how it forgets them. All of it happens
// between cycles and takes no time: the papers give a flush no cost. Answers that are under way are not called back, so
// pages change only while their tenant has nothing in flight.
//
// A page that changed is flushed by its address, as drivers do it. A tenant's flush names a core and an address space, as in
// MASK §5.1.
// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <vector>

#include "sm/sm.h"
#include "translation/address_space.h"
#include "translation/l2_tlb.h"
#include "translation/mmu.h"

namespace terrace {

class Translations {
 public:
  /// Refers to all of them; there is no L2 TLB and no MMU on an ideal machine.
  Translations(const AddressSpaces& spaces, const std::vector<std::unique_ptr<Sm>>& sms,
               const std::unique_ptr<L2Tlb>& tlb, const std::vector<std::unique_ptr<Mmu>>& mmus)
      : spaces_(spaces), sms_(sms), tlb_(tlb), mmus_(mmus) {}

  /// A tenant's of one core: its own TLB, and the tenant's in all that cores share.
  void flush_core(SmId sm, TenantId tenant);
  void flush_tenant(TenantId tenant);
  void flush_page(TenantId tenant, VirtAddr va);
  /// All that SMs share; for machines whose SMs have no TLBs.
  void flush_shared();

 private:
  void flush_shared(TenantId tenant);

  const AddressSpaces& spaces_;
  const std::vector<std::unique_ptr<Sm>>& sms_;
  const std::unique_ptr<L2Tlb>& tlb_;
  const std::vector<std::unique_ptr<Mmu>>& mmus_;
};

}  // namespace terrace
