// What travels between SMs, L2 TLBs and the MMU: a page that somebody wants to know the frame of, and the answer.
// SPDX-License-Identifier: MIT
#pragma once

#include "engine/types.h"

namespace terrace {

/// Names a page in every TLB and miss table: address space, page size, page number. Bits: 8 of tenant, 8 of size, 48 of
/// number; an address has at most 48 bits.
constexpr u64 page_key(TenantId tenant, u32 page_shift, u64 page) {
  return u64{index(tenant)} << 56 | u64{page_shift} << 48 | page;
}
constexpr TenantId tenant_of_key(u64 key) {
  return TenantId(key >> 56);
}
constexpr u64 page_of_key(u64 key) {
  return key & ((u64{1} << 48) - 1);
}
constexpr u64 page_bytes_of_key(u64 key) {
  return u64{1} << (key >> 48 & 0xff);
}
/// The page's first virtual address.
constexpr u64 address_of_key(u64 key) {
  return page_of_key(key) * page_bytes_of_key(key);
}
constexpr u64 key_without_tenant(u64 key) {
  return key & ~(u64{0xff} << 56);
}

struct TranslationRequest {
  u64 key = 0;
  u64 page = 0;  // virtual address / page size
  u32 inst = 0;  // the dynamic instruction that asked first
  u32 tag = 0;   // comes back with the answer
  u16 port = 0;  // where the answer goes
  SmId sm{};     // of the instruction
  u8 warp = 0;
  TenantId tenant{};
};

/// Word of a warp that waits for a page which its SM has asked for already.
struct MergedWarp {
  u64 key = 0;
  SmId sm{};
  u8 warp = 0;
};

/// What a walk cost, told to the instruction that asked for it first; the others, and TLB hits, get a blank one.
struct WalkReport {
  u64 sequence = 0;  // among all walks of the MMU, in the order in which they started
  Cycle finished = 0;
  u32 accesses = 0;  // reads of page-table entries; 0: no walk
};

struct Translation {
  u64 key = 0;
  PhysAddr frame;  // where the page begins
  WalkReport walk;
  u32 tag = 0;  // of the request that it answers
};

}  // namespace terrace
