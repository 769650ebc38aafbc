// What units count. An increment is one addition on a struct member; everything else about statistics happens when
// results are exported. Counters only grow: a level (how many are waiting now) is no counter.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <span>
#include <vector>

#include "engine/archive.h"
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
  void archive(Archive& a) { a(each_); }

 private:
  std::array<T, kMaxTenants> each_{};
};

/// A count for each pair of tenants (row, column), and a last column for nobody. Empty until `resize` is called.
class TenantMatrix {
 public:
  void resize(u32 tenants) {
    columns_ = tenants + 1;
    cells_.assign(size_t{tenants} * columns_, {});
  }
  std::span<Counter> row(u32 tenant) { return std::span(cells_).subspan(size_t{tenant} * columns_, columns_); }
  std::span<Counter> cells() { return cells_; }
  std::span<const Counter> cells() const { return cells_; }
  u32 columns() const { return columns_; }
  void archive(Archive& a) { a(cells_); }

 private:
  u32 columns_ = 1;
  std::vector<Counter> cells_;
};

}  // namespace terrace
