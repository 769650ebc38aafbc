// CD-search: classify tenants by the off-SM bandwidth model, then search for the fewest SMs that memory-intensive ones
// need (tenancy/cd_search.h).
// Slot: SmPartitioner (tenancy/sm_partitioner.h).
// SPDX-License-Identifier: MIT
#include "tenancy/cd_search.h"

namespace terrace {
namespace {

REGISTER_POLICY(SmPartitioner, CdSearch, "cd_search",
                .summary =
                    "classify tenants by what they ask of the memory system, then search for the SMs that "
                    "memory-intensive ones need (CD-search)");

}  // namespace
}  // namespace terrace
