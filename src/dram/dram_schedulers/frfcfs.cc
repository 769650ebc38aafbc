// First ready, first come first served: a bank serves the oldest request that hits its open row, otherwise its oldest.
// So that a stream of hits does not starve the others, the oldest request of a bank is passed over by younger ones at
// most bypass_limit times.
//
// Paper:  Memory access scheduling, Rixner et al., ISCA 2000; the limit is the cap of Mutlu and Moscibroda, MICRO 2007.
// Slot:   DramScheduler (dram/dram_scheduler.h).
// SPDX-License-Identifier: MIT
#include <vector>

#include "dram/dram_scheduler.h"
#include "dram/first_ready_queue.h"

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
        kinds_{FirstReadyQueue(context.banks, context.read_entries, capacity_, params.bypass_limit),
               FirstReadyQueue(context.banks, context.write_entries, capacity_, params.bypass_limit)},
        write_(capacity_) {}

  u32 capacity() const override { return capacity_; }

  bool offer(const DramWaiting& request, Cycle) override {
    FirstReadyQueue& queue = kinds_[request.write];
    if (queue.full()) return false;
    queue.push(request);
    write_[request.entry] = request.write;
    mark_changed(request.bank);
    return true;
  }

  Choice next(const BankView& bank) const override { return {.entry = kinds_[bank.write].next(bank)}; }

  void take(u16 entry, Cycle) override { kinds_[write_[entry]].take(entry); }
  void archive(Archive& a) override { a(kinds_, write_); }

 private:
  u32 capacity_;
  FirstReadyQueue kinds_[2];  // reads, writes
  std::vector<u8> write_;
};

REGISTER_POLICY(DramScheduler, FrfcfsDramScheduler, "frfcfs",
                .summary = "row hits first, then the oldest, with a limit on overtaking", .paper = "ISCA 2000");

}  // namespace
}  // namespace terrace
