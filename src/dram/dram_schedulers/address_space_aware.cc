// Address-space-aware: page-table reads wait in a golden queue, which is served in order and before everything else. The
// data reads of one tenant at a time may use a silver queue, which goes before the normal queue of all others. A tenant
// keeps that turn until it has added its quota; the quotas share out `silver_quota` by how many walks each tenant had
// in service and how many warps one of its TLB misses stalled, in the last epoch. Writes wait in a queue of their own,
// as under FR-FCFS.
//
// Only the first golden request may be served; the bank that it wants serves nobody else meanwhile, the others do. With
// the golden queue full, its sources wait. With the silver queue full, its tenant's reads go into the normal one and do
// not count. A tenant that has the turn and nothing to read keeps it.
//
// Paper:  MASK, ASPLOS 2018, section 5.4.
// Slot:   DramScheduler (dram/dram_scheduler.h).   Overlay: configs/designs/mask_dram.toml
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <vector>

#include "dram/dram_scheduler.h"
#include "dram/first_ready_queue.h"
#include "dram/row_queue.h"
#include "engine/check.h"
#include "engine/ring.h"

namespace terrace {
namespace {

class AddressSpaceAwareDramScheduler final : public DramScheduler {
 public:
  struct Params {
    u32 golden_entries = 16, silver_entries = 64, normal_entries = 192;  // printed
    u32 silver_quota = 500;                                              // printed: thresh_max
    u32 bypass_limit = 16;                                               // as FR-FCFS
    bool interrupts_writes = false;  // chosen: batches of writes, as under FR-FCFS; the paper does not speak of them
    bool opens_ahead = false;        // chosen: only the head of the golden queue is eligible (MASK-A7)
    void describe(Fields& v) {
      v("golden_entries", golden_entries, in(1, 4096),
        "entries of a channel's golden queue, which holds page-table reads");
      v("silver_entries", silver_entries, in(0, 4096),
        "entries of a channel's silver queue, which holds data reads of the tenant whose turn it is; 0: no silver "
        "queue");
      v("normal_entries", normal_entries, in(1, 4096),
        "entries of a channel's normal queue, which holds other data reads");
      v("silver_quota", silver_quota, in(1, 1'000'000),
        "reads that all tenants may add to the silver queue in a round");
      v("bypass_limit", bypass_limit, in(0, 1'000'000),
        "younger requests that may overtake the oldest request of a bank in its queue");
      v("interrupts_writes", interrupts_writes, "whether a page-table read interrupts a batch of writes");
      v("opens_ahead", opens_ahead, "whether rows are opened ahead for page-table reads behind the first one");
    }
  };

  AddressSpaceAwareDramScheduler(const Context& context, Params params)
      : params_(params),
        capacity_(params.golden_entries + params.silver_entries + params.normal_entries + context.write_entries),
        golden_(context.banks, params.golden_entries, capacity_),
        golden_order_(params.golden_entries),
        data_{FirstReadyQueue(context.banks, params.silver_entries, capacity_, params.bypass_limit),
              FirstReadyQueue(context.banks, params.normal_entries, capacity_, params.bypass_limit),
              FirstReadyQueue(context.banks, context.write_entries, capacity_, params.bypass_limit)},
        kind_(capacity_),
        quotas_(context.tenants, std::max(1u, params.silver_quota / context.tenants)),
        allowed_(quotas_[0]) {}

  u32 capacity() const override { return capacity_; }

  bool offer(const DramWaiting& request, Cycle) override {
    const Kind kind = kind_of(request);
    if (kind == kGolden ? golden_.full() : queue(kind).full()) return false;
    if (kind == kGolden) {
      golden_.push(request.entry, request.bank, request.row);
      golden_order_.push(request.entry);
    } else {
      queue(kind).push(request);
    }
    kind_[request.entry] = kind;
    if (kind != kWrites) ++stats_.accepted[kind][request.tenant];
    if (kind == kNormal && has_turn(request.tenant)) ++stats_.overflows[request.tenant];
    if (kind == kSilver) count_silver(request.tenant);
    mark_changed(request.bank);
    return true;
  }

  Choice next(const BankView& bank) const override {
    if (bank.write) return {.entry = queue(kWrites).next(bank)};
    const u16 golden = golden_.oldest(bank.bank);
    const bool head = golden != RowQueue::kNone && golden == golden_order_.front();
    if (head || (golden != RowQueue::kNone && params_.opens_ahead)) return {.entry = golden, .column = head};
    for (const Kind kind : {kSilver, kNormal}) {
      const u16 entry = queue(kind).next(bank);
      if (entry != RowQueue::kNone) return {.entry = entry, .urgency = static_cast<u8>(kind)};
    }
    return {};
  }

  void take(u16 entry, Cycle) override {
    const Kind kind = kind_[entry];
    if (kind != kGolden) {
      check_order(kind, queue(kind).bank_of(entry));
      return queue(kind).take(entry);
    }
    SIM_CHECK(golden_order_.pop() == entry, "a page-table read is served before an older one");
    golden_.remove(entry);
    if (!golden_order_.empty()) mark_changed(golden_.bank_of(golden_order_.front()));
  }

  bool reads_now() const override { return params_.interrupts_writes && !golden_order_.empty(); }

  /// A counter of six bits each, as in the paper.
  void epoch(TenantEpochs tenants) override {
    constexpr u32 kMost = 63;
    std::vector<u64> weights(quotas_.size());
    u64 sum = 0;
    for (u32 i = 0; i < weights.size(); ++i) {
      const TenantEpoch& its = tenants[i];
      weights[i] = u64{std::min(its.concurrent_walks, kMost)} * std::min(its.stalled_warps, kMost);
      sum += weights[i];
    }
    for (u32 i = 0; i < weights.size(); ++i) {
      const u64 share = sum == 0 ? params_.silver_quota / weights.size() : params_.silver_quota * weights[i] / sum;
      quotas_[i] = std::max(1u, static_cast<u32>(share));
    }
    allowed_ = std::max(allowed_, quotas_[index(turn_)]);
  }
  bool by_epochs() const override { return true; }
  void archive(Archive& a) override { a(golden_, golden_order_, data_, kind_, quotas_, turn_, added_, allowed_); }

  void describe(StatFields& v) override {
    v("golden", stats_.accepted[kGolden], "lines", "page-table reads that entered the golden queue");
    v("silver", stats_.accepted[kSilver], "lines", "data reads that entered the silver queue");
    v("normal", stats_.accepted[kNormal], "lines", "data reads that entered the normal queue");
    v("overflows", stats_.overflows, "lines",
      "data reads of the tenant with the silver turn that found the silver queue full");
    v("silver_turns", stats_.turns, "turns", "silver turns that ended because the quota was used up");
  }

 private:
  enum Kind : u8 { kGolden, kSilver, kNormal, kWrites };
  FirstReadyQueue& queue(Kind kind) { return data_[kind - kSilver]; }
  const FirstReadyQueue& queue(Kind kind) const { return data_[kind - kSilver]; }
  bool has_turn(TenantId tenant) const { return tenant == turn_ && params_.silver_entries > 0; }
  Kind kind_of(const DramWaiting& request) const {
    if (request.write) return kWrites;
    if (request.walk_level != 0) return kGolden;
    return has_turn(request.tenant) && !queue(kSilver).full() ? kSilver : kNormal;
  }
  void count_silver(TenantId tenant) {
    ++added_;
    SIM_CHECK(tenant == turn_ && added_ <= allowed_,
              "tenant {} adds request {} of a turn of tenant {}, whose quota is {}, to the silver queue", index(tenant),
              added_, index(turn_), allowed_);
    if (added_ >= quotas_[index(turn_)]) pass_turn();
  }
  void pass_turn() {
    ++stats_.turns[turn_];
    turn_ = TenantId((index(turn_) + 1) % quotas_.size());
    added_ = 0;
    allowed_ = quotas_[index(turn_)];
    mark_room();  // in the silver queue, for reads of the next tenant that the normal one refused
  }
  void check_order(Kind kind, u32 bank) const {
    if (kind != kSilver && kind != kNormal) return;
    SIM_CHECK(golden_order_.empty() || golden_.bank_of(golden_order_.front()) != bank,
              "bank {} serves data before the first page-table read, which waits for it", bank);
    SIM_CHECK(kind == kSilver || queue(kSilver).empty(bank), "bank {} serves a normal request before a silver one",
              bank);
  }

  const Params params_;
  u32 capacity_;
  RowQueue golden_;
  Ring<u16> golden_order_;
  std::array<FirstReadyQueue, 3> data_;  // silver, normal, writes
  std::vector<Kind> kind_;               // by entry
  std::vector<u32> quotas_;
  TenantId turn_{};
  u32 added_ = 0;  // in this turn
  u32 allowed_;    // in this turn: the largest quota that its tenant has had meanwhile
  struct {
    std::array<PerTenant<Counter>, kWrites> accepted;
    PerTenant<Counter> overflows, turns;
  } stats_;
};

REGISTER_POLICY(DramScheduler, AddressSpaceAwareDramScheduler, "address_space_aware",
                .summary = "page-table reads first, then one tenant at a time, then all others",
                .paper = "MASK, ASPLOS 2018");

}  // namespace
}  // namespace terrace
