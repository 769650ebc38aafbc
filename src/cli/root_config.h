// The whole configuration of a run: what `terrace list keys` lists and every layer writes to.
// SPDX-License-Identifier: MIT
#pragma once

#include "gpu/config.h"

namespace terrace {

using RootConfig = GpuConfig;

}  // namespace terrace
