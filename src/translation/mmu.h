// The MMU: takes pages that no L2 TLB knows and walks the page tables for them. On the GPU's side it is walkers and
// their queues; as an IOMMU it has TLBs of its own in front, lies behind a transit, and reads memory past the L2. Both
// are configurations of the same parts.
//
// A request is looked up in the front TLBs, then placed: on an idle walker, or where the walk scheduler lets it wait. A
// walker looks into the walk caches and reads the levels that are left, one after the other. Every translation that a
// walk produces is compared with the address space: a wrong one ends the run.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <memory>
#include <unordered_set>
#include <vector>

#include "blame/waiting.h"
#include "engine/archive.h"
#include "engine/funnel.h"
#include "engine/link.h"
#include "engine/out_of_line.h"
#include "engine/ring.h"
#include "engine/scheduler.h"
#include "stats/stat_fields.h"
#include "translation/address_space.h"
#include "translation/config.h"
#include "translation/tlb.h"
#include "translation/walk_cache.h"
#include "translation/walk_memory.h"
#include "translation/walk_queues.h"
#include "wire/line_shape.h"
#include "wire/timeline.h"
#include "wire/translate.h"

namespace terrace {

struct MmuStats {
  PerTenant<Counter> requests, tlb1_hits, tlb2_hits, walks, walks_done, waited, reads, skipped;
  PerTenant<Counter> first_touches;
  PerTenant<Counter> queue_cycles, service_cycles, held_up_cycles;
  Histogram concurrent{1}, queued{3};
  u64 under_way = 0;  // level: walks that have not ended
  void describe(StatFields& v) {
    v("requests", requests, "pages", "requests for a page");
    v("tlb1_hits", tlb1_hits, "pages", "hits in the first IOMMU TLB");
    v("tlb2_hits", tlb2_hits, "pages", "hits in the second IOMMU TLB");
    v("walks", walks, "walks", "page walks accepted, whether they started at once or were queued");
    v("first_touches", first_touches, "walks", "of those, first walks for a page of their tenant (run.first_touches)");
    v("walks_done", walks_done, "walks", "page walks completed");
    v("waited", waited, "walks", "walks that were queued before they started");
    v("reads", reads, "lines", "page-table reads");
    v("skipped", skipped, "levels", "page-table levels skipped by hits in walk caches");
    v("queue_cycles", queue_cycles, "cycles", "cycles that walks waited in a queue, summed");
    v("service_cycles", service_cycles, "cycles", "cycles from the start of a walk to its end, summed");
    v("held_up_cycles", held_up_cycles, "cycles",
      "cycles that requests waited because the walk queues were full, summed");
    v("concurrent", concurrent, "walks", "walks in service whenever a walk starts, itself included");
    v("queued", queued, "walks", "queued walks whenever a walk arrives");
    v.ratio("mean_queue_cycles", sum(queue_cycles), sum(walks_done), "cycles that a walk waits");
    v.ratio("mean_service_cycles", sum(service_cycles), sum(walks_done), "cycles of a walk in service");
    v.ratio("reads_per_walk", sum(reads), sum(walks_done), "reads of page-table entries per walk");
    v.identity("a request hits a front TLB or becomes a walk", sum(requests), sum(tlb1_hits, tlb2_hits, walks));
    v.identity("every walk ends", sum(walks), sum(walks_done, under_way));
  }
};

class Mmu final : public Unit {
 public:
  struct Wiring {
    Funnel<TranslationRequest>& requests;  // inputs from the L2 TLB
    Link<Translation>& results;
    u32 most_requests = 1;  // that can be under way at a time
    const AddressSpaces& spaces;
    std::array<std::unique_ptr<WalkMemory>, WalkPath::kWays> memory;  // null: a way that is not used
    const PlantedMistake* mistake = nullptr;
  };
  Mmu(const MmuConfig& config, LineShape lines, u32 tenants, u64 seed, Wiring wiring);

  Cycle tick(Cycle now) override;
  void explain(std::ostream& out) const override;

  // Between cycles only. Front TLBs and walk caches forget.
  void flush();
  void flush_page(u64 key);
  void flush_tenant(TenantId tenant);
  /// Who shares the walkers from now on; wake the unit for `now`. Between cycles only.
  void divide_among(const std::vector<TenantId>& tenants, Cycle now);

  /// An epoch has ended: the walk path may be chosen anew. Between cycles only.
  void epoch(TenantEpochs tenants) { path_->epoch(tenants); }
  /// The most walks of a tenant that were in service at once since the epoch began.
  u32 most_walks(TenantId tenant) const { return most_walks_[tenant]; }
  void begin_epoch() { most_walks_ = walking_; }
  u32 walks_in_service(TenantId tenant) const { return walking_[tenant]; }
  u32 walkers() const { return static_cast<u32>(walkers_.size()); }

  /// From now on: which tenant's walks wait for which tenant. Before the first cycle.
  void enable_blame(u32 tenants);
  /// From now on: which walks are the first for their page. Before the first cycle.
  void count_first_touches() { walked_ = std::make_unique<std::unordered_set<u64>>(); }
  /// From now on: keeps walks that end, at most so many. Before the first cycle.
  void keep_walks(std::size_t most) { walk_spans_ = std::make_unique<Sampled<WalkSpan>>(most); }
  /// Null when they are not kept.
  const Sampled<WalkSpan>* kept_walks() const { return walk_spans_.get(); }
  /// Closes statistics that run over cycles, before cycle `now`.
  void settle(Cycle now) { blame.settle(now); }

  void archive(Archive& a);

  MmuStats stats;
  Blame blame;
  WalkScheduler& scheduler() const { return queues_->scheduler(); }
  WalkPath& walk_path() const { return *path_; }

 private:
  struct Arrival {
    TranslationRequest request;
    Cycle at = 0;  // when its look-ups are over
    Cycle refused_since = kNever;
    TenantId whose() const { return request.tenant; }
  };
  struct Input {
    WaitingRing<Arrival> arrivals;
    bool refused = false;  // its first found no place, and nothing has started since
  };
  struct FrontHit {
    Translation answer;
    Cycle at = 0;
  };
  struct Walker {
    Walk walk;
    u64 sequence = 0;
    Cycle started = 0;
    PhysAddr node{};  // of the level to be read
    WalkRead read{};  // the entry to be read
    u32 level = 0;
    u32 reads = 0;
  };
  /// A read that has not left.
  struct Unsent {
    u32 walker = 0;
    TenantId tenant{};
    Cycle at = 0;
  };
  struct Result {
    Translation answer;
    Cycle at = 0;
    TenantId whose() const { return tenant_of_key(answer.key); }
  };
  struct Due {
    Cycle at;
    u32 walker;
    friend auto operator<=>(const Due&, const Due&) = default;
  };

  void accept_reads(Cycle now);
  void accept_requests(Cycle now);
  TERRACE_OUT_OF_LINE bool front_tlbs_know(const TranslationRequest& request, Cycle now);
  void place_walks(Cycle now);
  bool place(Input& input, Cycle now);
  void advance_walkers(Cycle now);
  void send_reads(Cycle now);
  void send_results(Cycle now);

  void start(u32 walker, const Walk& walk, Cycle now);
  void start_next(u32 walker, Cycle now);
  void begin_levels(u32 walker, Cycle now);
  void look_at_level(u32 walker, Cycle now);
  void follow(u32 walker, TableEntry entry, Cycle now);
  void finish(u32 walker, PhysAddr frame, Cycle now);
  void look_up_walk_cache(u32 walker, Cycle earliest);
  void queue_read(u32 walker, Cycle now);
  WalkMemory& memory_of(u32 link) { return *wiring_.memory[link < first_link_[1] ? 0 : 1]; }
  void say_what_inputs_wait_for();
  bool is_full(u32 input) const { return full_inputs_[input / 64] >> input % 64 & 1; }
  VirtAddr address(const Walk& walk) const { return {walk.page << shape_.page_shift()}; }
  Cycle next_wakeup(Cycle now);

  const MmuConfig config_;
  const LineShape lines_;
  Wiring wiring_;
  WaitingFunnel<TranslationRequest> requests_;
  CyclePorts intake_;
  const TableShape& shape_;
  Tlb tlb1_, tlb2_;
  u32 front_cycles_ = 0;  // until a request has missed in both
  WalkCache walk_cache_;
  std::unique_ptr<WalkQueues> queues_;
  PerTenant<u32> walking_, most_walks_;  // in service; the most since the epoch began
  std::unique_ptr<WalkPath> path_;
  std::vector<Input> inputs_;
  // The input that is asked first, for what it brings and for what it wants to place; both move on grants.
  u32 pointer_ = 0, place_pointer_ = 0;
  std::vector<u64> full_inputs_;  // a bit each: their arrivals hold no more
  Ring<FrontHit> tlb1_hits_, tlb2_hits_;
  std::vector<Walker> walkers_;
  std::vector<Due> due_;                    // a heap: walkers that wait for a look-up of their own
  std::vector<OutletRing<Unsent>> unsent_;  // by link to memory, one way behind the other
  std::array<u32, WalkPath::kWays> first_link_{};
  OutletRing<Result> results_;
  u64 next_order_ = 0, next_sequence_ = 0;
  std::unique_ptr<std::unordered_set<u64>> walked_;  // keys of pages; null: not counted. Never iterated
  std::unique_ptr<Sampled<WalkSpan>> walk_spans_;    // null: no timeline is wanted
};

}  // namespace terrace
