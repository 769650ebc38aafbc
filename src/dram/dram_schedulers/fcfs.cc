// First come first served: column commands are issued in the order of arrival, among reads and among writes. Banks are
// prepared ahead: each may open the row of the oldest request that waits for it.
//
// Slot:   DramScheduler (dram/dram_scheduler.h).
// SPDX-License-Identifier: MIT
#include <vector>

#include "dram/dram_scheduler.h"
#include "dram/row_queue.h"
#include "engine/ring.h"

namespace terrace {
namespace {

class FcfsDramScheduler final : public DramScheduler {
 public:
  struct Params {
    void describe(Fields&) {}
  };

  FcfsDramScheduler(const Context& context, Params)
      : capacity_(context.read_entries + context.write_entries),
        kinds_{Kind(context.banks, context.read_entries, capacity_),
               Kind(context.banks, context.write_entries, capacity_)},
        write_(capacity_) {}

  u32 capacity() const override { return capacity_; }

  bool offer(const DramWaiting& request, Cycle) override {
    Kind& kind = kinds_[request.write];
    if (kind.queue.full()) return false;
    kind.queue.push(request.entry, request.bank, request.row);
    kind.order.push(request.entry);
    write_[request.entry] = request.write;
    mark_changed(request.bank);
    return true;
  }

  Choice next(const BankView& bank) const override {
    const Kind& kind = kinds_[bank.write];
    const u16 oldest = kind.queue.oldest(bank.bank);
    return {.entry = oldest, .column = oldest != RowQueue::kNone && oldest == kind.order.front()};
  }

  void take(u16 entry, Cycle) override {
    Kind& kind = kinds_[write_[entry]];
    kind.order.pop();
    kind.queue.remove(entry);
    if (!kind.order.empty()) mark_changed(kind.queue.bank_of(kind.order.front()));
  }
  void archive(Archive& a) override { a(kinds_, write_); }

 private:
  struct Kind {
    Kind(u32 banks, u32 most, u32 entries) : queue(banks, most, entries), order(most) {}
    void archive(Archive& a) { a(queue, order); }
    RowQueue queue;
    Ring<u16> order;
  };

  u32 capacity_;
  Kind kinds_[2];  // reads, writes
  std::vector<u8> write_;
};

REGISTER_POLICY(DramScheduler, FcfsDramScheduler, "fcfs", .summary = "in order of arrival");

}  // namespace
}  // namespace terrace
