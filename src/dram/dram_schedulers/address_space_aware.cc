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
    bool opens_ahead = false;  // chosen: only the head of the golden queue is eligible (MASK-A7)
    void describe(Fields& v) {
      v("golden_entries", golden_entries, in(1, 4096), "page-table reads that wait in a channel");
      v("silver_entries", silver_entries, in(0, 4096),
        "data reads that wait in a channel, of the tenant whose turn it is; 0: there is no silver queue");
      v("normal_entries", normal_entries, in(1, 4096), "other data reads that wait in a channel");
      v("silver_quota", silver_quota, in(1, 1'000'000),
        "reads that all tenants may add to the silver queue in a round");
      v("bypass_limit", bypass_limit, in(0, 1'000'000),
        "younger requests that may overtake the oldest request of a bank in its queue");
      v("opens_ahead", opens_ahead, "whether rows are opened for page-table reads that are not the first");
    }
  };

  AddressSpaceAwareDramScheduler(const Context& context, Params params)
      : params_(params),
        capacity_(params.golden_entries + params.silver_entries + params.normal_entries + context.write_entries),
        queues_{Queue(context.banks, params.golden_entries, capacity_),
                Queue(context.banks, params.silver_entries, capacity_),
                Queue(context.banks, params.normal_entries, capacity_),
                Queue(context.banks, context.write_entries, capacity_)},
        golden_order_(params.golden_entries),
        kind_(capacity_),
        quotas_(context.tenants, std::max(1u, params.silver_quota / context.tenants)) {}

  u32 capacity() const override { return capacity_; }

  bool offer(const DramWaiting& request, Cycle) override {
    const Kind kind = kind_of(request);
    RowQueue& queue = queues_[kind].requests;
    if (queue.full()) return false;
    queue.push(request.slot, request.bank, request.row);
    kind_[request.slot] = kind;
    if (kind == kGolden) golden_order_.push(request.slot);
    if (kind != kWrites) ++stats_.accepted[kind][request.tenant];
    if (kind == kNormal && has_turn(request.tenant)) ++stats_.overflows[request.tenant];
    if (kind == kSilver && ++added_ >= quotas_[index(turn_)]) pass_turn();
    mark_changed(request.bank);
    return true;
  }

  Choice next(const BankView& bank) const override {
    if (bank.write) return {.slot = first_ready(queues_[kWrites], bank)};
    const u16 golden = queues_[kGolden].requests.oldest(bank.bank);
    const bool head = golden != RowQueue::kNone && golden == golden_order_.front();
    if (head || (golden != RowQueue::kNone && params_.opens_ahead)) return {.slot = golden, .column = head};
    for (const Kind kind : {kSilver, kNormal}) {
      const u16 slot = first_ready(queues_[kind], bank);
      if (slot != RowQueue::kNone) return {.slot = slot, .urgency = static_cast<u8>(kind)};
    }
    return {};
  }

  void take(u16 slot, Cycle) override {
    const Kind kind = kind_[slot];
    Queue& queue = queues_[kind];
    const u32 bank = queue.requests.bank_of(slot);
    check_order(kind, bank);
    if (kind == kGolden) {
      SIM_CHECK(golden_order_.pop() == slot, "a page-table read is served before an older one");
      if (!golden_order_.empty()) mark_changed(queue.requests.bank_of(golden_order_.front()));
    } else {
      queue.passed[bank] = queue.requests.oldest(bank) == slot ? 0 : queue.passed[bank] + 1;
    }
    queue.requests.remove(slot);
  }

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
  }
  bool by_epochs() const override { return true; }

  void describe(StatFields& v) override {
    v("golden", stats_.accepted[kGolden], "lines", "page-table reads that entered the golden queue");
    v("silver", stats_.accepted[kSilver], "lines", "data reads that entered the silver queue");
    v("normal", stats_.accepted[kNormal], "lines", "data reads that entered the normal queue");
    v("overflows", stats_.overflows, "lines",
      "data reads of the tenant with the silver turn that found the silver queue full");
    v("silver_turns", stats_.turns, "turns", "silver turns that ended because the quota was used up");
  }

 private:
  enum Kind : u8 { kGolden, kSilver, kNormal, kWrites, kKinds };
  struct Queue {
    Queue(u32 banks, u32 entries, u32 slots) : requests(banks, entries, slots), passed(banks, 0) {}
    RowQueue requests;
    std::vector<u32> passed;  // by bank: how often its oldest request was passed over
  };

  bool has_turn(TenantId tenant) const { return tenant == turn_ && params_.silver_entries > 0; }
  Kind kind_of(const DramWaiting& request) const {
    if (request.write) return kWrites;
    if (request.walk_level != 0) return kGolden;
    return has_turn(request.tenant) && !queues_[kSilver].requests.full() ? kSilver : kNormal;
  }
  void pass_turn() {
    ++stats_.turns[turn_];
    turn_ = TenantId((index(turn_) + 1) % quotas_.size());
    added_ = 0;
    mark_room();  // in the silver queue, for reads of the next tenant that the normal one refused
  }
  u16 first_ready(const Queue& queue, const BankView& bank) const {
    if (bank.open_row != BankView::kClosed && queue.passed[bank.bank] < params_.bypass_limit) {
      const u16 hit = queue.requests.oldest_in_row(bank.bank, bank.open_row);
      if (hit != RowQueue::kNone) return hit;
    }
    return queue.requests.oldest(bank.bank);
  }
  void check_order(Kind kind, u32 bank) const {
    if (kind != kSilver && kind != kNormal) return;
    SIM_CHECK(golden_order_.empty() || queues_[kGolden].requests.bank_of(golden_order_.front()) != bank,
              "bank {} serves data before the first page-table read, which waits for it", bank);
    SIM_CHECK(kind == kSilver || queues_[kSilver].requests.oldest(bank) == RowQueue::kNone,
              "bank {} serves a normal request before a silver one", bank);
  }

  const Params params_;
  u32 capacity_;
  std::array<Queue, kKinds> queues_;
  Ring<u16> golden_order_;
  std::vector<Kind> kind_;  // by slot
  std::vector<u32> quotas_;
  TenantId turn_{};
  u32 added_ = 0;  // in this turn
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
