// How many pages a forward-backward table knows.
// SPDX-License-Identifier: MIT
#pragma once

#include "translation/fbt_table.h"

namespace terrace {

inline u32 pages_of(const FbtTable& table) {
  u32 pages = 0;
  table.each_page([&](u64) { ++pages; });
  return pages;
}

}  // namespace terrace
