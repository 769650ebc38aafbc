// What an L2 slice (or a walker that goes straight to memory) and a memory channel say to each other, a line at a time.
// SPDX-License-Identifier: MIT
#pragma once

#include "engine/types.h"
#include "wire/line_key.h"
#include "wire/line_truth.h"

namespace terrace {

/// Of a request that has only a name so far.
inline constexpr PhysAddr kUnknownLine{~u64{0}};

struct DramRequest {
  /// Word for the forward-backward table on the way: the line left unchanged, or is written to for the first time; or somebody
  /// who asked for another name of it, line number `words` of the tenant, wants to write.
  enum class Notice : u8 { kNone, kDropped, kWritten, kSynonymWrite };
  PhysAddr line;   // address of the line's first byte
  LineKey name{};  // what the requester calls it; comes back with the reply
  u32 tag = 0;     // comes back with the reply and means nothing to the channel: a walker, or who asks for the line
  TenantId tenant{};
  u8 walk_level = 0;                      // 0 for data
  u64 words = ~u64{0};                    // of the line that are written or wanted; bursts without any are left out
  bool write = false;                     // writes are posted: no reply
  bool for_write = false;                 // a fetch on behalf of a store or an atomic
  bool check = false;                     // the line is here, and says that its page may not be written: may it?
  Notice notice = Notice::kNone;          // never reaches a channel
  [[no_unique_address]] LineCopy copy{};  // what a write carries
  bool is_posted() const { return write || notice != Notice::kNone; }
};

/// In the tag of a line that the forward-backward table lets through: kernels may not write to its page.
inline constexpr u32 kReadOnlyPage = u32{1} << 31;

/// The first instruction that asks for a line: its SM and warp.
constexpr u32 asker_tag(SmId sm, u8 warp) {
  return u32{index(sm)} << 8 | warp;
}

struct DramReply {
  PhysAddr line;
  LineKey name{};
  u32 tag = 0;
  TenantId tenant{};  // whose read it answers
  [[no_unique_address]] LineCopy copy{};
  u64 words = ~u64{0};  // of the line, that were asked for
};

}  // namespace terrace
