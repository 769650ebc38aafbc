// A queue with the rule of FR-FCFS: a bank serves the oldest request that hits its open row, otherwise its oldest. So
// that a stream of hits does not starve the others, the oldest request of a bank is passed over at most `limit` times.
// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "dram/dram_scheduler.h"
#include "dram/row_queue.h"

namespace terrace {

class FirstReadyQueue {
 public:
  /// At most `most` requests, named by entries below `entries`.
  FirstReadyQueue(u32 banks, u32 most, u32 entries, u32 limit)
      : requests_(banks, most, entries), limit_(limit), passed_(banks, 0) {}

  bool full() const { return requests_.full(); }
  bool empty(u32 bank) const { return requests_.oldest(bank) == RowQueue::kNone; }
  u32 bank_of(u16 entry) const { return requests_.bank_of(entry); }
  void push(const DramWaiting& request) { requests_.push(request.entry, request.bank, request.row); }

  /// RowQueue::kNone: nothing waits for the bank.
  u16 next(const BankView& bank) const {
    if (bank.open_row != BankView::kClosed && passed_[bank.bank] < limit_) {
      const u16 hit = requests_.oldest_in_row(bank.bank, bank.open_row);
      if (hit != RowQueue::kNone) return hit;
    }
    return requests_.oldest(bank.bank);
  }
  void take(u16 entry) {
    const u32 bank = requests_.bank_of(entry);
    passed_[bank] = requests_.oldest(bank) == entry ? 0 : passed_[bank] + 1;
    requests_.remove(entry);
  }

  void archive(Archive& a) { a(requests_, passed_); }

 private:
  RowQueue requests_;
  u32 limit_;
  std::vector<u32> passed_;  // by bank: how often its oldest request was passed over
};

}  // namespace terrace
