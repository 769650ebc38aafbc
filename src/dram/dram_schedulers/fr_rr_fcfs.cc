// Application-aware: row hits first, as in FR-FCFS; otherwise tenants take turns in each bank, and each is served in
// order of arrival. So that a stream of hits does not starve the others, the oldest request of a bank is passed over by
// younger row hits at most bypass_limit times.
//
// Paper:  Jog et al., Application-aware memory system for fair and efficient execution of concurrent GPGPU applications,
//         GPGPU-7, 2014. MASK names "the application-aware scheduler of Jog et al."; their later one (Anatomy of GPU
//         memory system for multi-application execution, MEMSYS 2015) goes by misses and bandwidth and is not this.
// Slot:   DramScheduler (dram/dram_scheduler.h).   Overlay: configs/designs/alt_memsched.toml
// SPDX-License-Identifier: MIT
#include <array>
#include <vector>

#include "dram/dram_scheduler.h"
#include "dram/row_queue.h"

namespace terrace {
namespace {

class FrRrFcfsDramScheduler final : public DramScheduler {
 public:
  struct Params {
    u32 bypass_limit = 16;  // as FR-FCFS
    void describe(Fields& v) {
      v("bypass_limit", bypass_limit, in(0, 1'000'000),
        "row hits that may overtake the tenant whose turn it is in a bank");
    }
  };

  FrRrFcfsDramScheduler(const Context& context, Params params)
      : capacity_(context.read_entries + context.write_entries),
        tenants_(context.tenants),
        limit_(params.bypass_limit),
        kinds_{Kind(context, context.read_entries, capacity_), Kind(context, context.write_entries, capacity_)},
        waiting_(capacity_) {}

  u32 capacity() const override { return capacity_; }

  bool offer(const DramWaiting& request, Cycle) override {
    Kind& kind = kinds_[request.write];
    if (kind.held == kind.capacity) return false;
    ++kind.held;
    kind.queues[index(request.tenant)].push(request.entry, request.bank, request.row);
    waiting_[request.entry] = {request.age, request.row, request.tenant, request.write};
    mark_changed(request.bank);
    return true;
  }

  Choice next(const BankView& bank) const override {
    const Kind& kind = kinds_[bank.write];
    if (bank.open_row != BankView::kClosed && kind.passed[bank.bank] < limit_) {
      const u16 found = hit(kind, bank.bank, bank.open_row);
      if (found != kNone) return {.entry = found};
    }
    return {.entry = of_turn(kind, bank.bank)};
  }

  void take(u16 entry, Cycle) override {
    const Waiting its = waiting_[entry];
    Kind& kind = kinds_[its.write];
    RowQueue& queue = kind.queues[index(its.tenant)];
    const u32 bank = queue.bank_of(entry);
    if (of_turn(kind, bank) == entry) {
      kind.turn[bank] = (index(waiting_[in_turn(kind, bank)].tenant) + 1) % tenants_;
      kind.passed[bank] = 0;
    } else {
      ++kind.passed[bank];
    }
    queue.remove(entry);
    --kind.held;
  }
  void archive(Archive& a) override { a(kinds_, waiting_); }

 private:
  struct Kind {
    Kind(const Context& context, u32 most, u32 entries)
        : capacity(most),
          queues(context.tenants, RowQueue(context.banks, most, entries)),
          turn(context.banks),
          passed(context.banks) {}
    void archive(Archive& a) {
      for (RowQueue& queue : queues) a(queue);
      a(held, turn, passed);
    }
    u32 capacity, held = 0;
    std::vector<RowQueue> queues;  // by tenant
    std::vector<u32> turn;         // by bank: the tenant that is asked first
    std::vector<u32> passed;       // by bank: how often the one whose turn it is was passed over
  };
  struct Waiting {
    u64 age = 0;
    u32 row = 0;
    TenantId tenant{};
    bool write = false;
  };

  u16 older(u16 a, u16 b) const {
    if (a == kNone || b == kNone) return a == kNone ? b : a;
    return waiting_[a].age < waiting_[b].age ? a : b;
  }
  /// Oldest of all that hit the open row.
  u16 hit(const Kind& kind, u32 bank, u32 row) const {
    u16 oldest = kNone;
    for (const RowQueue& queue : kind.queues) oldest = older(oldest, queue.oldest_in_row(bank, row));
    return oldest;
  }
  /// Its row will be open when it is served: then the oldest that wants that row goes first, whosever it is.
  u16 of_turn(const Kind& kind, u32 bank) const {
    const u16 entry = in_turn(kind, bank);
    return entry == kNone ? kNone : hit(kind, bank, waiting_[entry].row);
  }
  u16 in_turn(const Kind& kind, u32 bank) const {
    for (u32 i = 0; i < tenants_; ++i) {
      const u16 entry = kind.queues[(kind.turn[bank] + i) % tenants_].oldest(bank);
      if (entry != kNone) return entry;
    }
    return kNone;
  }

  u32 capacity_;
  u32 tenants_;
  u32 limit_;
  std::array<Kind, 2> kinds_;     // reads, writes
  std::vector<Waiting> waiting_;  // by entry
};

REGISTER_POLICY(DramScheduler, FrRrFcfsDramScheduler, "fr_rr_fcfs",
                .summary = "row hits first, then tenants take turns", .paper = "GPGPU-7 2014");

}  // namespace
}  // namespace terrace
