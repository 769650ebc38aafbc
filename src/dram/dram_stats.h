// What a memory channel counts.
// SPDX-License-Identifier: MIT
#pragma once

#include "stats/stat_fields.h"

namespace terrace {

/// Of data accesses, or of page walks.
struct DramTrafficStats {
  PerTenant<Counter> reads, writes, replies, row_hits, row_misses, row_conflicts, bus_cycles, read_latency;
  Histogram wait{3}, latency{3};

  void describe(StatFields& v) {
    v("reads", reads, "lines", "reads accepted");
    v("writes", writes, "lines", "writes accepted");
    v("replies", replies, "lines", "reads answered");
    v("row_hits", row_hits, "lines", "served from a row that was open");
    v("row_misses", row_misses, "lines", "served from a row opened in a closed bank");
    v("row_conflicts", row_conflicts, "lines", "served from a row for which another one was closed");
    v("bus_cycles", bus_cycles, "DRAM cycles", "data bus in use");
    v("read_latency", read_latency, "cycles", "reads issued so far: acceptance to the last data, summed");
    v("wait", wait, "cycles", "reads and writes: acceptance to column command");
    v("latency", latency, "cycles", "reads: acceptance to the last data");
    v.ratio("row_hit_rate", sum(row_hits), sum(row_hits, row_misses, row_conflicts), "row hits per line served");
    v.ratio("mean_read_latency", sum(read_latency), sum(replies), "cycles from acceptance to the last data");
  }
};

struct DramStats {
  DramTrafficStats data, walk;
  Counter activations, precharges, refreshes, turns;
  u64 waiting = 0;          // levels: lines that wait for their column command,
  u64 reads_in_flight = 0;  // and reads accepted but not answered

  void describe(StatFields& v) {
    v.group("data", data);
    v.group("walk", walk);
    v("activations", activations, "commands", "rows opened");
    v("precharges", precharges, "commands", "rows closed, by command or with a column command");
    v("refreshes", refreshes, "commands", "refreshes of a rank");
    v("turns", turns, "turns", "changes between reading and writing");
    v.identity("every accepted read is answered or in flight", sum(data.reads, walk.reads),
               sum(data.replies, walk.replies, reads_in_flight));
    v.identity("every accepted line is served from some row or waits",
               sum(data.reads, walk.reads, data.writes, walk.writes),
               sum(data.row_hits, walk.row_hits, data.row_misses, walk.row_misses, data.row_conflicts,
                   walk.row_conflicts, waiting));
  }
};

}  // namespace terrace
