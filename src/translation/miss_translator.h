// Translation behind the L2, for caches whose lines have virtual names: stands between an L2 slice and the memory
// channels, asks the L2 TLB for the page of each line that the slice fetches, and sends the request on when it knows
// the address. Lines with physical names (page tables) and write-backs, whose address the slice kept, pass at once.
//
// A line that waits for its page never holds up what comes behind it: a walk for that page may be among it.
// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "engine/archive.h"
#include "engine/funnel.h"
#include "engine/link.h"
#include "engine/miss_table.h"
#include "engine/pool.h"
#include "engine/ring.h"
#include "engine/scheduler.h"
#include "stats/stat_fields.h"
#include "wire/dram.h"
#include "wire/line_map.h"
#include "wire/translate.h"

namespace terrace {

struct MissTranslatorStats {
  PerTenant<Counter> passed, waited, requests, answers;
  void describe(StatFields& v) {
    v("passed", passed, "lines", "requests whose translation was known");
    v("waited", waited, "lines", "fetches that waited for a translation");
    v("requests", requests, "pages", "requests for a page");
    v("answers", answers, "pages", "answers received");
    v.identity("every translation arrives", sum(requests), sum(answers));
  }
};

class MissTranslator final : public Unit {
 public:
  struct Wiring {
    Link<DramRequest>& from_slice;
    std::vector<Link<DramRequest>*> channels;
    const LineMap& map;
    Funnel<TranslationRequest>& requests;  // input `port`
    Link<Translation>& answers;
    u32 port = 0;
    u32 lines = 1;        // that the slice fetches at a time, at most
    u32 write_backs = 1;  // places for those that wait for a channel, besides fetches
    u32 line_shift = 7;
    u32 page_shift = 12;
  };
  explicit MissTranslator(const Wiring& wiring);

  Cycle tick(Cycle now) override;
  void explain(std::ostream& out) const override;

  void archive(Archive& a) { a(misses_, unasked_, known_); }

  MissTranslatorStats stats;

 private:
  void accept_answers(Cycle now);
  void accept_requests(Cycle now);
  void set_aside(const DramRequest& request);
  void ask(Cycle now);
  void send(Cycle now);
  u64 key_of(const DramRequest& request) const {
    return page_key(request.tenant, wiring_.page_shift, page_of(request));
  }
  u64 page_of(const DramRequest& request) const {
    return request.name.number() >> (wiring_.page_shift - wiring_.line_shift);
  }

  Wiring wiring_;
  MissTable<DramRequest> misses_;     // by page
  Ring<TranslationRequest> unasked_;  // pages that the L2 TLB has not been asked for
  Ring<DramRequest> known_;           // requests that know their address
};

}  // namespace terrace
