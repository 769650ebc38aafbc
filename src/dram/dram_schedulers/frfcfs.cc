// First ready, first come first served: a bank serves the oldest request that hits its open row, otherwise its oldest.
// So that a stream of hits does not starve the others, the oldest request of a bank is passed over by younger ones at
// most bypass_limit times.
//
// Paper:  Memory access scheduling, Rixner et al., ISCA 2000; the limit is the cap of Mutlu and Moscibroda, MICRO 2007.
// Slot:   DramScheduler (dram/dram_scheduler.h).
// SPDX-License-Identifier: MIT
#include <vector>

#include "dram/dram_scheduler.h"
#include "dram/row_queue.h"

namespace terrace {
namespace {

class FrfcfsDramScheduler final : public DramScheduler {
 public:
  struct Params {
    // Chosen: the 16 lines of 128 bytes of a GDDR5 row of 2 KiB, so that one sweep over a row is never cut.
    u32 bypass_limit = 16;
    void describe(Fields& v) {
      v("bypass_limit", bypass_limit, in(0, 1'000'000),
        "younger requests that may overtake the oldest request of a bank");
    }
  };

  FrfcfsDramScheduler(const Context& context, Params params)
      : capacity_(context.read_entries + context.write_entries),
        limit_(params.bypass_limit),
        kinds_{Kind(context.banks, context.read_entries, capacity_),
               Kind(context.banks, context.write_entries, capacity_)},
        write_(capacity_) {}

  u32 capacity() const override { return capacity_; }

  bool offer(const DramWaiting& request, Cycle) override {
    RowQueue& queue = kinds_[request.write].queue;
    if (queue.full()) return false;
    queue.push(request.slot, request.bank, request.row);
    write_[request.slot] = request.write;
    mark_changed(request.bank);
    return true;
  }

  Choice next(const BankView& bank) const override {
    const Kind& kind = kinds_[bank.write];
    if (bank.open_row != BankView::kClosed && kind.passed[bank.bank] < limit_) {
      const u16 hit = kind.queue.oldest_in_row(bank.bank, bank.open_row);
      if (hit != RowQueue::kNone) return {.slot = hit};
    }
    return {.slot = kind.queue.oldest(bank.bank)};
  }

  void take(u16 slot, Cycle) override {
    Kind& kind = kinds_[write_[slot]];
    const u32 bank = kind.queue.bank_of(slot);
    kind.passed[bank] = kind.queue.oldest(bank) == slot ? 0 : kind.passed[bank] + 1;
    kind.queue.remove(slot);
  }

 private:
  struct Kind {
    Kind(u32 banks, u32 entries, u32 slots) : queue(banks, entries, slots), passed(banks, 0) {}
    RowQueue queue;
    std::vector<u32> passed;  // by bank: how often its oldest request was passed over
  };

  u32 capacity_;
  u32 limit_;
  Kind kinds_[2];  // reads, writes
  std::vector<u8> write_;
};

REGISTER_POLICY(DramScheduler, FrfcfsDramScheduler, "frfcfs",
                .summary = "row hits first, then the oldest, with a limit on overtaking", .paper = "ISCA 2000");

}  // namespace
}  // namespace terrace
