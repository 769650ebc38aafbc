// The tables of a store, as docs/sweeps.md explains them to users. Each step leads from one version to the next; a
// published step is never changed, a new version adds one.
// SPDX-License-Identifier: MIT
#pragma once

#include "store/database.h"

namespace terrace {

/// Written to the file's header, so that a stranger's database is known as such: "Terr".
inline constexpr u64 kStoreApplication = 0x54657272;
u32 store_schema();  // the newest

/// Refuses what is not a store, is damaged, or is of a newer version, without changing anything.
void check_store(Database& database);
/// Brings a new or older store to `schema`.
void migrate_store(Database& database, u32 schema);

}  // namespace terrace
