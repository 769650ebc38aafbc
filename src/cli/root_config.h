// The whole configuration of a run: what `terrace list keys` lists and every layer writes to. Until the GPU brings its
// own struct this one has what is there. SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "config/fields.h"
#include "config/registry.h"
#include "config/validation.h"
#include "experiment/until.h"
#include "sm/warp_scheduler.h"

namespace terrace {

struct RootConfig {
  struct Run {
    std::string until = "completed";
    u64 seed = 1;
    u64 warmup = 0;
    bool relaunch = true;
    void describe(Fields& v) {
      v("until", until, "when the run ends: completed, cycles:N or instructions:N");
      v("seed", seed, {}, "where all randomness comes from");
      v("warmup", warmup, {}, "cycles that statistics leave out");
      v("relaunch", relaunch, "a tenant that completes starts again while others have not");
    }
    void validate(Validation& v) const {
      v.require(parse_until(until).has_value(), "until",
                "is none of \"completed\", \"cycles:N\" and \"instructions:N\"");
    }
  };
  struct Sm {
    Policy<WarpScheduler> warp_scheduler{"gto"};
    void describe(Fields& v) { v.policy("warp_scheduler", warp_scheduler, "which of the ready warps issues"); }
  };

  Sm sm;
  Run run;
  void describe(Fields& v) {
    v.group("sm", sm, "streaming multiprocessors");
    v.group("run", run, "what runs and for how long");
  }
};

}  // namespace terrace
