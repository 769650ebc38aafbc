// What `terrace report` and `terrace reproduce` write of a store.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>

namespace terrace {

/// The pages, tables and boards of a store, with the claims of those papers of which it has runs. Returns what was written, for a
/// person.
std::string report_store(const std::string& store, const std::string& out, bool stats);

}  // namespace terrace
