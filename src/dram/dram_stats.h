// What a memory channel counts.
// SPDX-License-Identifier: MIT
#pragma once

#include "stats/stat_fields.h"

namespace terrace {

/// Of data accesses, or of page walks.
struct DramTrafficStats {
  PerTenant<Counter> reads, writes, reads_for_writes, replies, row_hits, row_misses, row_conflicts, bus_cycles,
      read_latency;
  Histogram wait{3}, latency{3};

  void describe(StatFields& v) {
    v("reads", reads, "lines", "reads accepted");
    v("writes", writes, "lines", "writes accepted");
    v("reads_for_writes", reads_for_writes, "lines", "reads of bursts of which a part is to be written");
    v("replies", replies, "lines", "reads answered");
    v("row_hits", row_hits, "lines", "accesses to an open row");
    v("row_misses", row_misses, "lines", "accesses that opened a row in a closed bank");
    v("row_conflicts", row_conflicts, "lines", "accesses that closed another row first");
    v("bus_cycles", bus_cycles, "DRAM cycles", "cycles in which the data bus is in use");
    v("read_latency", read_latency, "cycles", "acceptance to the last data of each read, summed");
    v("wait", wait, "cycles", "acceptance to column command of each read and write");
    v("latency", latency, "cycles", "acceptance to the last data of each read");
    v.ratio("row_hit_rate", sum(row_hits), sum(row_hits, row_misses, row_conflicts), "row hits per line served");
    v.ratio("mean_read_latency", sum(read_latency), sum(replies), "cycles from acceptance to the last data");
  }
};

struct DramStats {
  DramTrafficStats data, walk;
  Counter activations, precharges, refreshes, turns;
  PerTenant<Counter> activations_of;  // not exported: the power model asks for them
  u64 waiting = 0;                    // levels: lines that wait for their column command,
  u64 reads_in_flight = 0;            // and reads accepted but not answered

  void describe(StatFields& v) {
    v.group("data", data);
    v.group("walk", walk);
    v("activations", activations, "commands", "rows opened");
    v("precharges", precharges, "commands", "rows closed, by a precharge or by a column command with auto-precharge");
    v("refreshes", refreshes, "commands", "refreshes of a rank");
    v("turns", turns, "turns", "switches between reads and writes");
    v.identity("every accepted read is answered or in flight", sum(data.reads, walk.reads),
               sum(data.replies, walk.replies, reads_in_flight));
    v.identity("every accepted line is served from some row or waits",
               sum(data.reads, walk.reads, data.writes, walk.writes, data.reads_for_writes, walk.reads_for_writes),
               sum(data.row_hits, walk.row_hits, data.row_misses, walk.row_misses, data.row_conflicts,
                   walk.row_conflicts, waiting));
  }
};

}  // namespace terrace
