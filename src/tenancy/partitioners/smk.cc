// SMK: blocks of all tenants on every SM, in a mix that is found at run time (tenancy/intra_sm.h).
// Slot: SmPartitioner (tenancy/sm_partitioner.h).
// SPDX-License-Identifier: MIT
#include "tenancy/intra_sm.h"

namespace terrace {
namespace {

REGISTER_POLICY(SmPartitioner, IntraSm, "smk",
                .summary = "blocks of all tenants on every SM, in a mix that is found at run time (Warped-Slicer)");

}  // namespace
}  // namespace terrace
