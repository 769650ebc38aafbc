// Tenants that come and go when they like, such as programs that attach to a server: no configuration knows the cycle. Each
// visit is one execution of the tenant's program (program.h). The GPU asks between cycles; the answers follow real time, and
// with them the results of a run.
// SPDX-License-Identifier: MIT
#pragma once

#include <span>
#include <vector>

#include "engine/types.h"

namespace terrace {

class Visitors {
 public:
  virtual ~Visitors() = default;
  /// Those of the `free` tenants, whose last visit is over, who come now. Does not wait.
  virtual std::vector<TenantId> admit(std::span<const TenantId> free) = 0;
  /// Whether others may come later.
  virtual bool open() const = 0;
  /// Nobody is on the GPU, and simulated time stands still: waits until somebody wants to come, or nobody will.
  virtual void wait() = 0;
};

}  // namespace terrace
