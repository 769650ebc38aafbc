// What the host does to memory between launches, and what caches, TLBs and the forward-backward table must forget of it. What it
// writes goes to memory past all caches: the L2 forgets those lines. (L1s are emptied by each launch.) A page that
// changes is forgotten by whatever knows of it, in one call.
// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "cache/l2_slice.h"
#include "frontend/guest_memory.h"
#include "gpu/translations.h"
#include "translation/address_space.h"
#include "translation/config.h"
#include "translation/fbt.h"
#include "wire/line_key.h"
#include "wire/line_truth.h"

namespace terrace {

class HostWrites {
 public:
  struct Wiring {
    u32 line_bytes = 128;
    TranslateAt translation{};
    const AddressSpaces& spaces;
    const std::vector<std::unique_ptr<L2Slice>>& slices;
    const std::unique_ptr<Fbt>& fbt;  // may be none
    Translations& translations;
    LineTruth& truth;
  };
  explicit HostWrites(const Wiring& wiring) : wiring_(wiring) {}

  /// What the host wrote to a tenant's memory since the last call.
  void forget(TenantId tenant, GuestMemory& memory, Cycle now);

  /// Follows what a tenant allocated, freed, mapped a second time and protected: everything that knows of the pages forgets
  /// them. Where a page loses a name or a permission and its frame lives on, a table shoots it down, which takes time;
  /// true if so: then nothing may run before `shooting_down` is false.
  bool follow(TenantId tenant, std::span<const AddressSpaces::ChangedPage> changed, Cycle now);
  bool shooting_down(TenantId tenant) const { return wiring_.fbt && wiring_.fbt->shooting_down(tenant); }

 private:
  struct Bytes {
    u64 first, end;  // physical
  };
  void forget_pages(TenantId tenant, std::span<const AddressSpaces::ChangedPage> gone, Cycle now);
  void forget(std::span<const Bytes> ranges, std::vector<LineRange> lines, Cycle now);
  LineRange lines_of(TenantId tenant, u64 first, u64 end) const;
  Bytes entry_at(PhysAddr entry) const { return {entry.raw, entry.raw + sizeof(TableEntry)}; }

  const Wiring wiring_;
};

/// The same lines in rising order, each range ahead of the next: a host that writes a buffer and then one element of it
/// names some lines twice.
std::vector<LineRange> disjoint(std::vector<LineRange> ranges);

}  // namespace terrace
