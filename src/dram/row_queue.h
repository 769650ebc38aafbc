// Requests that wait, found in constant time by bank (the oldest) and by row (the oldest that hits it): what FR-FCFS
// and its relatives are made of. A scheduler with several queues has several of these.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <bit>
#include <vector>

#include "engine/archive.h"
#include "engine/check.h"
#include "engine/types.h"

namespace terrace {

class RowQueue {
 public:
  static constexpr u16 kNone = 0xffff;
  static constexpr u32 kBucketsPerRequest = 4;  // a choice: few rows share a bucket

  /// At most `most` requests, named by entries below `entries`.
  RowQueue(u32 banks, u32 most, u32 entries)
      : most_(most),
        banks_(banks),
        nodes_(entries),
        buckets_(std::bit_ceil(kBucketsPerRequest * std::max(most, 1u)), kNone) {
    shift_ = 64 - static_cast<u32>(std::countr_zero(buckets_.size()));
  }

  bool full() const { return size_ >= most_; }
  u32 size() const { return size_; }
  u16 oldest(u32 bank) const { return banks_[bank].oldest; }
  u16 oldest_in_row(u32 bank, u32 row) const {
    u16 at = buckets_[bucket(bank, row)];
    while (at != kNone && (nodes_[at].row != row || nodes_[at].bank != bank)) at = nodes_[at].next_row;
    return at;
  }
  u32 bank_of(u16 entry) const { return nodes_[entry].bank; }

  /// The youngest of all.
  void push(u16 entry, u32 bank, u32 row) {
    SIM_DCHECK(!full(), "push to a full queue of {}", most_);
    Node& node = nodes_[entry];
    Bank& in = banks_[bank];
    node = {.row = row, .bank = static_cast<u8>(bank), .older = in.youngest, .last_in_row = entry};
    (in.youngest == kNone ? in.oldest : nodes_[in.youngest].younger) = entry;
    in.youngest = entry;
    if (const u16 first = oldest_in_row(bank, row); first != kNone) {
      nodes_[nodes_[first].last_in_row].next_in_row = entry;
      nodes_[first].last_in_row = entry;
    } else {
      u16& head = buckets_[bucket(bank, row)];
      node.next_row = head;
      head = entry;
    }
    ++size_;
  }

  /// Only the oldest of its row.
  void remove(u16 entry) {
    const Node node = nodes_[entry];
    Bank& in = banks_[node.bank];
    (node.older == kNone ? in.oldest : nodes_[node.older].younger) = node.younger;
    (node.younger == kNone ? in.youngest : nodes_[node.younger].older) = node.older;
    u16* link = &buckets_[bucket(node.bank, node.row)];
    while (*link != entry) {
      SIM_DCHECK(*link != kNone, "entry {} is not the oldest of its row", entry);
      link = &nodes_[*link].next_row;
    }
    if (node.next_in_row == kNone) {
      *link = node.next_row;
    } else {
      Node& successor = nodes_[node.next_in_row];
      successor.last_in_row = node.last_in_row;
      successor.next_row = node.next_row;
      *link = node.next_in_row;
    }
    --size_;
  }

  void archive(Archive& a) { a(size_, banks_, nodes_, buckets_); }

 private:
  struct Node {
    u32 row = 0;
    u8 bank = 0;
    u16 older = kNone, younger = kNone;  // in the bank
    u16 next_in_row = kNone;             // the next younger one that wants the same row
    u16 last_in_row = kNone;             // of the oldest of a row: the youngest one
    u16 next_row = kNone;                // of the oldest of a row: the next row in the same bucket
  };
  struct Bank {
    u16 oldest = kNone, youngest = kNone;
  };
  /// Fibonacci hashing: 2^64 divided by the golden ratio.
  u32 bucket(u32 bank, u32 row) const {
    return static_cast<u32>((u64{row} << 6 | bank) * 0x9e3779b97f4a7c15 >> shift_);
  }

  u32 most_;
  u32 size_ = 0;
  u32 shift_;
  std::vector<Bank> banks_;
  std::vector<Node> nodes_;
  std::vector<u16> buckets_;  // the oldest request of each row that somebody wants
};

}  // namespace terrace
