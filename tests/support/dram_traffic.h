// Random scripts for memory channels, in several mixtures.
// SPDX-License-Identifier: MIT
#pragma once

#include "engine/rng.h"
#include "support/dram_bench.h"

namespace terrace {

struct DramMix {
  std::string name;
  u32 writes_percent, walks_percent;
  u32 rows;  // that a bank's requests are spread over
  u32 gap;   // mean cycles between requests of a source; 0: as fast as the link takes them
};

inline const std::vector<DramMix>& dram_mixes() {
  static const std::vector<DramMix> kMixes = {{"random", 0, 10, 100'000, 0},
                                              {"row_hits", 0, 0, 2, 0},
                                              {"mixed", 40, 10, 4, 0},
                                              {"writes", 90, 0, 50, 0},
                                              {"sparse", 30, 20, 20, 60}};
  return kMixes;
}

inline void add_traffic(DramBench& bench, const DramMix& mix, u32 per_source, u32 line_bytes, u32 tenants, u64 seed) {
  for (u32 source = 0; source < bench.sources.size(); ++source) {
    Rng rng(seed, mix.name + std::to_string(source));
    Cycle at = 0;
    for (u32 i = 0; i < per_source; ++i) {
      ScriptedRequest request;
      if (mix.gap != 0) at += rng.below(2 * mix.gap + 1) + (rng.below(100) == 0 ? 20'000 : 0);  // now and then a rest
      request.at = at;
      request.place = {0, static_cast<u32>(rng.below(u64{bench.full.ranks} * bench.full.banks)),
                       static_cast<u32>(rng.below(mix.rows)),
                       static_cast<u32>(rng.below(bench.full.row_bytes / line_bytes)) * line_bytes};
      request.write = rng.below(100) < mix.writes_percent;
      request.walk_level = !request.write && rng.below(100) < mix.walks_percent ? 4 : 0;
      request.tenant = TenantId(rng.below(tenants));
      bench.send(request, source);
    }
  }
}

}  // namespace terrace
