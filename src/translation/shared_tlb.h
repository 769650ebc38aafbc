// The TLB that SMs share (the L2 TLB): looks up pages that L1 TLBs miss, merges those of several SMs, asks the MMU for
// the rest and tells everyone who waits. It is one TLB for all tenants, or one of the same size and ports for each; the
// misses are one pool in either case. Without entries it only merges, as a machine without a shared TLB still does.
// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include "engine/funnel.h"
#include "engine/link.h"
#include "engine/miss_table.h"
#include "engine/ring.h"
#include "engine/scheduler.h"
#include "stats/blame.h"
#include "stats/stat_fields.h"
#include "translation/config.h"
#include "translation/tlb.h"
#include "wire/translate.h"

namespace terrace {

struct SharedTlbStats : TlbStats {
  PerTenant<Counter> replies, fills, held, wavefronts;
  Counter wavefront_epochs;
  void describe(StatFields& v) {
    TlbStats::describe(v);
    v("replies", replies, "pages", "answers sent to SMs");
    v("fills", fills, "pages", "answers received from the MMU");
    v("held", held, "pages", "valid entries at the end of each epoch of 1,024 look-ups, summed over epochs");
    v("wavefronts", wavefronts, "warps", "distinct warps in each epoch of 1,024 look-ups, summed over epochs");
    v("wavefront_epochs", wavefront_epochs, "epochs", "completed epochs of 1,024 look-ups");
    v.ratio("mean_held", sum(held), sum(wavefront_epochs), "entries in use");
    v.ratio("wavefronts_per_epoch", sum(wavefronts), sum(wavefront_epochs), "distinct warps per 1,024 look-ups");
    v.identity("every look-up is answered", sum(lookups), sum(replies));
    v.identity("every miss is filled", sum(misses), sum(fills));
  }
};

/// Of the cache beside the TLB that a fill policy may use.
struct BypassCacheStats {
  PerTenant<Counter> hits, fills;
  void describe(StatFields& v) {
    v("hits", hits, "pages", "hits of the shared TLB that this cache answered");
    v("fills", fills, "pages", "translations that went into it");
  }
};

class SharedTlb final : public Unit {
 public:
  /// An MMU: requests go into one lane, or into one for each tenant, which it then holds up apart.
  struct MmuPort {
    Funnel<TranslationRequest>* requests;
    Link<Translation>* results;
    u32 lanes = 1;
  };
  struct Wiring {
    Funnel<TranslationRequest>& requests;          // a lane for each port: SMs, or the stages behind slices of the L2
    std::vector<Link<Translation>*> replies = {};  // by port
    std::vector<MmuPort> mmus = {};                // one, or one for each tenant
    u32 replies_per_port = 1;                      // a port never awaits more
    u32 tlbs = 1;                                  // one, or one for each tenant
    u32 tenants = 1;
    u32 sms = 1;
    u32 warps = 1;  // of an SM
    u64 seed = 1;
    Funnel<MergedWarp>* merged_warps = nullptr;  // a lane for each SM, if the fill policy wants them
    const PlantedMistake* mistake = nullptr;
  };
  SharedTlb(const L2TlbConfig& config, Wiring wiring);

  Cycle tick(Cycle now) override;
  void explain(std::ostream& out) const override;

  // Between cycles only.
  void flush();
  void flush_page(u64 key);
  void flush_tenant(TenantId tenant);

  /// An epoch has ended: the fill policy may decide anew. Between cycles only.
  void epoch(Cycle now) { fill_policy_->epoch(now); }

  /// From now on: which tenant's requests wait for which tenant. Before the first cycle.
  void enable_blame(u32 tenants);
  /// Closes statistics that run over cycles, before cycle `now`.
  void settle(Cycle now);

  SharedTlbStats stats;
  BypassCacheStats bypass_stats;
  bool has_bypass_cache() const { return bypass_.exists(); }
  Blame blame;

 private:
  struct Waiter {
    u32 port = 0;
    TlbAsker asker;
    Cycle since = 0;
  };
  struct Hit {
    Translation answer;
    u32 port = 0;
    Cycle at = 0;
  };
  struct Miss {
    TranslationRequest request;
    Cycle at = 0;
  };
  struct MissPort {
    Funnel<TranslationRequest>* requests;
    u32 lane = 0;
    u32 mmu = 0;
    Ring<Miss> waiting;
    Blame::Queue blamed;
    bool refused = false;
  };
  enum Cause : u32 { kPorts, kMisses, kMmu };
  static constexpr u32 kEpoch = 1024;  // look-ups: the statistic of the ISCA'18 paper

  void accept_merged_warps(Cycle now);
  void accept_results(Cycle now);
  void fill(const Translation& result, TenantId tenant);
  void look_up(Cycle now);
  bool look_up_one(const TranslationRequest& request, Cycle now);
  void let_go(u64 key);
  void send_misses(Cycle now);
  void send_replies(Cycle now);
  void reply(u32 port, const Translation& answer);
  void count_wavefront(const TranslationRequest& request);
  MissPort& port_of(TenantId tenant);
  void begin_waits();
  void note_waits(bool arrivals, Cycle now);
  // Rooms: requests that wait for a place for a miss; by TLB, for its ports; by MMU, misses on their way there.
  static constexpr Blame::Room kNoMissPlace = 0;
  Blame::Room at_ports(TenantId tenant) const { return 1 + tlb_number(tenant); }
  Blame::Room unsent_to(u32 mmu) const { return 1 + static_cast<u32>(tlbs_.size()) + mmu; }
  Blame::Room room_of(u32 sm, TenantId tenant) const {
    return blamed_[sm / 64] >> sm % 64 & 1 ? kNoMissPlace : at_ports(tenant);
  }
  u32 tlb_number(TenantId tenant) const { return tlbs_.size() == 1 ? 0 : index(tenant); }
  Tlb& tlb_of(TenantId tenant) { return tlbs_[tlb_number(tenant)]; }
  Cycle next_wakeup(Cycle now);

  const L2TlbConfig config_;
  Wiring wiring_;
  std::vector<Tlb> tlbs_;         // one, or one for each tenant
  std::vector<u32> lookups_;      // by TLB: of this tick
  std::vector<u64> passed_over_;  // SMs that are not asked in this tick, a bit each
  std::unique_ptr<TlbFillPolicy> fill_policy_;
  Tlb bypass_;                                             // none unless the policy wants one
  std::unordered_map<u64, std::vector<TlbAsker>> merged_;  // by page: looked up, never iterated
  std::vector<TlbAsker> askers_;                           // of the translation that arrives
  MissTable<Waiter> misses_;
  Ring<Hit> hits_;  // in order: every hit takes the same time
  std::vector<MissPort> ports_;
  std::vector<Ring<Translation>> outbox_;  // by port
  std::vector<u32> sending_;               // ports whose outbox is not empty, in no order
  u32 pointer_ = 0;                        // the SM that is asked first; moves on grants
  std::vector<u64> held_up_, nobody_;      // SMs whose request found no place for a miss, a bit each
  std::vector<u64> held_key_;              // by SM: the page of that request
  std::vector<u64> seen_;                  // warps of this epoch, by tenant and SM: an SM may change hands
  u32 seen_lookups_ = 0;
  // Who holds what others wait for: look-ups of this cycle, places for misses, and, by MMU, what is under way there.
  Holders miss_holders_;
  std::vector<Holders> port_holders_;  // by TLB
  std::vector<Holders> walk_holders_;
  std::vector<u64> blamed_;  // SMs whose requests are known to wait for a place for a miss
  bool misses_due_ = false;  // some could have been sent by the end of the last tick
};

}  // namespace terrace
