// What a cache calls a line: its number in a space, which is physical memory or one tenant's virtual memory. Caches
// compare names and cannot tell which kind they are; what a cache uses is a choice of the machine (`translation`).
// SPDX-License-Identifier: MIT
#pragma once

#include <compare>

#include "engine/archive.h"
#include "engine/types.h"

namespace terrace {

class LineKey {
 public:
  constexpr LineKey() = default;
  static constexpr LineKey physical(u64 number) { return LineKey(number); }
  static constexpr LineKey of_tenant(TenantId tenant, u64 number) {
    return LineKey(u64{index(tenant) + 1u} << kNumberBits | number);
  }
  /// No line, but a number that only the requester understands.
  static constexpr LineKey no_line(u64 number) { return LineKey(u64{0xff} << kNumberBits | number); }
  /// A name as a tag array keeps it.
  static constexpr LineKey from_raw(u64 raw) { return LineKey(raw); }

  constexpr bool is_physical() const { return raw_ >> kNumberBits == 0; }
  /// Whose virtual memory; of a virtual name.
  constexpr TenantId tenant() const { return TenantId((raw_ >> kNumberBits) - 1); }
  constexpr bool is_line() const { return raw_ >> kNumberBits != 0xff; }
  constexpr u64 number() const { return raw_ & ((u64{1} << kNumberBits) - 1); }
  /// Space and number in one word. Names of physical lines are their numbers.
  constexpr u64 raw() const { return raw_; }
  constexpr LineKey next() const { return LineKey(raw_ + 1); }
  void archive(Archive& a) { a(raw_); }

  friend constexpr auto operator<=>(LineKey, LineKey) = default;

 private:
  // Addresses have at most 48 bits, so that eight are left for the space.
  static constexpr u32 kNumberBits = 56;
  explicit constexpr LineKey(u64 raw) : raw_(raw) {}
  u64 raw_ = 0;
};

/// Lines of one space, from the first up to but not including `end`.
struct LineRange {
  LineKey first, end;
};

}  // namespace terrace
