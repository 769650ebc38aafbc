// The TLB that SMs share (the L2 TLB): looks up pages that L1 TLBs miss, merges those of several SMs, asks the MMU for
// the rest and tells everyone who waits. It is one TLB for all tenants, or one of the same size and ports for each; the
// misses are one pool in either case. Without entries it only merges, as a machine without an L2 TLB still does.
// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <memory>
#include <unordered_map>
#include <vector>

#include "blame/waiting.h"
#include "engine/archive.h"
#include "engine/funnel.h"
#include "engine/link.h"
#include "engine/out_of_line.h"
#include "engine/scheduler.h"
#include "stats/stat_fields.h"
#include "translation/config.h"
#include "translation/tlb.h"
#include "wire/translate.h"

namespace terrace {

struct L2TlbStats : TlbStats {
  PerTenant<Counter> replies, fills, neighbours, held, wavefronts;
  Counter wavefront_epochs;
  void describe(StatFields& v) {
    TlbStats::describe(v);
    v("replies", replies, "pages", "answers sent to SMs");
    v("fills", fills, "pages", "answers received from the MMU");
    v("neighbours", neighbours, "pages", "entries filled by walks for a neighbouring page (l2_tlb.walk_pages)");
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
    v("hits", hits, "pages", "hits of the L2 TLB that this cache answered");
    v("fills", fills, "pages", "translations that went into it");
  }
};

/// Of a TLB that is divided into banks.
struct L2TlbBankStats {
  PerTenant<Counter> conflicts;
  void describe(StatFields& v) {
    v("conflicts", conflicts, "cycles", "requests that found their bank taken, summed over cycles");
  }
};

class L2Tlb final : public Unit {
 public:
  /// An MMU: requests go into one input, or into one for each tenant, which it then holds up apart.
  struct MmuPort {
    Funnel<TranslationRequest>* requests;
    Link<Translation>* results;
    u32 inputs = 1;
    Link<Translation>* early_results = nullptr;  // of what stands in between and may know the answer, if anything does
  };
  struct Wiring {
    Funnel<TranslationRequest>& requests;          // an input for each port: SMs, or the stages behind slices of the L2
    std::vector<Link<Translation>*> replies = {};  // by port
    std::vector<MmuPort> mmus = {};                // one, or one for each tenant
    u32 replies_per_port = 1;                      // a port never awaits more
    u32 tlbs = 1;                                  // one, or one for each tenant
    u32 tenants = 1;
    u32 sms = 1;
    u32 warps = 1;  // of an SM
    u64 seed = 1;
    Funnel<MergedWarp>* merged_warps = nullptr;  // an input for each SM, if the fill policy wants them
    const PlantedMistake* mistake = nullptr;
    // Where the page of a key lies, or AddressSpaces::kUnmapped: what a walk finds beside its own entry.
    std::function<PhysAddr(u64)> locate = {};
  };
  L2Tlb(const L2TlbConfig& config, Wiring wiring);

  Cycle tick(Cycle now) override;
  void explain(std::ostream& out) const override;

  // Between cycles only.
  void flush();
  void flush_page(u64 key);
  void flush_tenant(TenantId tenant);

  /// An epoch has ended: the fill policy may decide anew. Between cycles only.
  void epoch(TenantEpochs tenants) { fill_policy_->epoch(tenants); }

  /// From now on: which tenant's requests wait for which tenant. Before the first cycle.
  void enable_blame(u32 tenants);
  /// Closes statistics that run over cycles, before cycle `now`.
  void settle(Cycle now) { blame.settle(now); }

  void archive(Archive& a);

  L2TlbStats stats;
  BypassCacheStats bypass_stats;
  L2TlbBankStats bank_stats;
  TlbFillPolicy& fill_policy() const { return *fill_policy_; }
  bool has_bypass_cache() const { return bypass_.exists(); }
  bool has_banks() const { return config_.banks > 1; }
  Blame blame;

 private:
  struct Waiter {
    u32 port = 0;
    TlbAsker asker;
    Cycle since = 0;
    u32 tag = 0;
  };
  struct Hit {
    Translation answer;
    u32 port = 0;
    Cycle at = 0;
  };
  struct Miss {
    TranslationRequest request;
    Cycle at = 0;
    TenantId whose() const { return request.tenant; }
  };
  struct MissPort {
    Funnel<TranslationRequest>* requests;
    u32 input = 0;
    u32 mmu = 0;
    WaitingRing<Miss> waiting;
    bool refused = false;
    void archive(Archive& a) { a(waiting, refused); }
  };
  struct Reply {
    Translation answer;
    Cycle at = 0;
    TenantId whose() const { return tenant_of_key(answer.key); }
  };
  static constexpr u32 kEpoch = 1024;  // look-ups: the statistic of the ISCA'18 paper

  void accept_merged_warps(Cycle now);
  void accept_results(Cycle now);
  void accept_result(Translation result, u32 mmu, Cycle now);
  void fill(const Translation& result, TenantId tenant);
  TERRACE_OUT_OF_LINE void fill_neighbours(u64 key, TenantId tenant);
  void look_up(Cycle now);
  bool look_up_one(const TranslationRequest& request, Cycle now);
  void let_go(u64 key);
  void send_misses(Cycle now);
  bool send_reply(u32 port, Cycle now);
  void send_replies(Cycle now);
  void reply(u32 port, const Translation& answer, Cycle now);
  void count_wavefront(const TranslationRequest& request);
  MissPort& port_of(TenantId tenant);
  /// What no two look-ups of a cycle have in common, as a bit.
  u64 bank_of(u64 key) const { return u64{1} << (key & (config_.banks - 1)); }
  u32 tlb_number(TenantId tenant) const { return tlbs_.size() == 1 ? 0 : index(tenant); }
  Tlb& tlb_of(TenantId tenant) { return tlbs_[tlb_number(tenant)]; }
  Cycle next_wakeup(Cycle now);

  const L2TlbConfig config_;
  Wiring wiring_;
  LackingFunnel<TranslationRequest> requests_;
  std::vector<Tlb> tlbs_;  // one, or one for each tenant
  std::vector<CyclePorts> tlb_ports_;
  std::vector<u64> taken_banks_;  // by TLB, a bit each: of this cycle
  std::vector<u64> passed_over_;  // SMs that are not asked in this tick, a bit each
  std::unique_ptr<TlbFillPolicy> fill_policy_;
  Tlb bypass_;                                             // none unless the policy wants one
  std::unordered_map<u64, std::vector<TlbAsker>> merged_;  // by page: looked up, never iterated
  std::vector<TlbAsker> askers_;                           // of the translation that arrives
  HeldMissTable<Waiter> misses_;
  Ring<Hit> hits_;  // in order: every hit takes the same time
  std::vector<MissPort> ports_;
  std::vector<Resource> at_mmu_;           // by MMU: held by the tenants whose requests are there
  std::vector<OutletRing<Reply>> outbox_;  // by port
  std::vector<u32> sending_;               // ports whose outbox is not empty, in no order
  u32 pointer_ = 0;                        // the SM that is asked first; moves on grants
  std::vector<u64> held_up_, nobody_;      // SMs whose request found no place for a miss, a bit each
  std::vector<u64> held_key_;              // by SM: the page of that request
  std::vector<u64> seen_;                  // warps of this epoch, by tenant and SM: an SM may change hands
  u32 seen_lookups_ = 0;
};

}  // namespace terrace
