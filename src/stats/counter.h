// What units count. An increment is one addition on a struct member; everything else about statistics happens when
// results are exported. Counters only grow: a level (how many are waiting now) is no counter.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>

#include "engine/types.h"

namespace terrace {

struct Counter {
  u64 value = 0;

  Counter& operator++() {
    ++value;
    return *this;
  }
  Counter& operator+=(u64 more) {
    value += more;
    return *this;
  }
};

/// One for each tenant a machine can name.
template <class T>
class PerTenant {
 public:
  T& operator[](TenantId tenant) { return each_[index(tenant)]; }
  const T& operator[](TenantId tenant) const { return each_[index(tenant)]; }
  std::array<T, kMaxTenants>& each() { return each_; }
  const std::array<T, kMaxTenants>& each() const { return each_; }

 private:
  std::array<T, kMaxTenants> each_{};
};

}  // namespace terrace
