// The whole configuration of a run: what `terrace list keys` lists. SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "config/fields.h"
#include "config/validation.h"
#include "engine/types.h"
#include "sm/sm_config.h"

namespace terrace {

/// When a run ends: when every tenant has completed once, or after so many cycles or warp instructions.
struct Until {
  enum class Kind : u8 { kCompleted, kCycles, kInstructions };
  Kind kind = Kind::kCompleted;
  u64 count = 0;
};
/// "completed", "cycles:N", "instructions:N"; nothing for anything else.
std::optional<Until> parse_until(std::string_view text);

struct RunConfig {
  u64 seed = 1;
  std::string until = "completed";
  Cycle warmup = 0;
  bool sleep = true;

  void describe(Fields& v) {
    v("seed", seed, {}, "seed of every random stream");
    v("until", until, "when the run ends: completed, cycles:N or instructions:N");
    v("warmup", warmup, {}, "cycles at the start that statistics leave out");
    v("sleep", sleep, "units without work are not ticked; off gives the same results, slower");
  }
  void validate(Validation& v) const {
    v.require(parse_until(until).has_value(), "until", "is none of \"completed\", \"cycles:N\" and \"instructions:N\"");
  }
};

struct Config {
  RunConfig run;
  SmConfig sm;

  void describe(Fields& v) {
    v.group("run", run, "how long and how a run goes");
    v.group("sm", sm, "one streaming multiprocessor");
  }
};

}  // namespace terrace
