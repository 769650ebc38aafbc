// The forward-backward table of GPU virtual caching (ASPLOS'18 §4.1), as a structure without time. The backward table is
// found by physical page: under which virtual page its lines are cached (the leading one), which of them the L2 has or
// awaits, whether it was written. The forward table is found by leading page and names the entry of the backward table.
// A page has an entry in both or in none.
// SPDX-License-Identifier: MIT
#pragma once

#include <bit>

#include "engine/archive.h"
#include "engine/check.h"
#include "engine/tag_array.h"
#include "engine/types.h"

namespace terrace {

class FbtTable {
 public:
  struct Page {
    PhysAddr frame;   // where it begins
    u64 leading = 0;  // key of the virtual page (wire/translate.h)
    u64 lines = 0;    // a bit for each line that the L2 has or awaits; unused when a page has more than 64
    u32 count = 0;    // of those lines
    bool written = false;
    bool writable = true;  // what lines of the page are given as its permission
    bool locked = false;   // it is on its way out
  };
  static constexpr u32 kNone = ~u32{0};

  FbtTable(u32 entries, u32 ways, u32 page_shift, u32 line_shift)
      : page_shift_(page_shift),
        has_vectors_(page_shift - line_shift <= 6),
        backward_({.entries = entries, .ways = ways, .hash = SetHash::kFolded}),
        forward_({.entries = entries, .ways = ways, .hash = SetHash::kFolded}) {}

  /// The entry of a physical page, or of a leading page; kNone if there is none. Nothing changes.
  u32 by_frame(PhysAddr frame) const { return place(backward_.find(frame.raw >> page_shift_)); }
  u32 by_page(u64 key) const {
    const i32 found = forward_.find(key);
    return found < 0 ? kNone : forward_.meta(static_cast<u32>(found));
  }
  Page& operator[](u32 entry) { return backward_.meta(entry); }
  const Page& operator[](u32 entry) const { return backward_.meta(entry); }
  /// It counts as used now.
  void use(u32 entry) {
    backward_.touch(entry);
    forward_.touch(static_cast<u32>(forward_.find(backward_.meta(entry).leading)));
  }

  /// What must go before the page can come: kNone when there is room. Pages without lines go first, and locked ones, which
  /// go already, are not named; `all_locked` when there is no other.
  u32 in_the_way(PhysAddr frame, u64 key, bool& all_locked) const {
    all_locked = false;
    const u32 back =
        victim(backward_, backward_.set_of(frame.raw >> page_shift_), [](u32 entry) { return entry; }, all_locked);
    if (back != kNone || all_locked) return back;
    return victim(forward_, forward_.set_of(key), [this](u32 entry) { return forward_.meta(entry); }, all_locked);
  }
  /// A page comes; nothing is in its way.
  u32 add(PhysAddr frame, u64 key) {
    const u64 number = frame.raw >> page_shift_;
    const u32 entry = backward_.victim(number), forward = forward_.victim(key);
    SIM_CHECK(!backward_.valid(entry) && !forward_.valid(forward),
              "a page replaces another one in the forward-backward table");
    backward_.fill(entry, number) = {.frame = {number << page_shift_}, .leading = key};
    forward_.fill(forward, key) = entry;
    return entry;
  }
  void remove(u32 entry) {
    SIM_CHECK(backward_.meta(entry).count == 0, "a page leaves the forward-backward table with {} lines in the L2",
              backward_.meta(entry).count);
    forward_.invalidate(static_cast<u32>(forward_.find(backward_.meta(entry).leading)));
    backward_.invalidate(entry);
  }

  bool has(u32 entry, u32 line) const { return !has_vectors_ || (backward_.meta(entry).lines >> line & 1) != 0; }
  void set_line(u32 entry, u32 line) {
    Page& page = backward_.meta(entry);
    SIM_CHECK(!has_vectors_ || (page.lines >> line & 1) == 0, "line {} of page {:#x} is fetched although the L2 has it",
              line, page.leading);
    if (has_vectors_) page.lines |= u64{1} << line;
    pages_with_lines_ += page.count++ == 0;
  }
  void clear_line(u32 entry, u32 line) {
    Page& page = backward_.meta(entry);
    SIM_CHECK(page.count > 0 && has(entry, line), "line {} of page {:#x} leaves the L2, which does not have it", line,
              page.leading);
    if (has_vectors_) page.lines &= ~(u64{1} << line);
    pages_with_lines_ -= --page.count == 0;
  }

  /// Names every leading page.
  template <class F>
  void each_page(F&& each) const {
    for (u32 entry = 0; entry < backward_.entries(); ++entry) {
      if (backward_.valid(entry)) each(backward_.meta(entry).leading);
    }
  }
  /// Whether lines of a page are known one by one; otherwise only their number is.
  bool has_vectors() const { return has_vectors_; }
  u32 pages_with_lines() const { return pages_with_lines_; }
  u32 page_shift() const { return page_shift_; }

  void archive(Archive& a) { a(backward_, forward_, pages_with_lines_); }

 private:
  static u32 place(i32 found) { return found < 0 ? kNone : static_cast<u32>(found); }
  template <class Array, class Entry>
  u32 victim(const Array& array, u32 set, Entry&& entry_of, bool& all_locked) const {
    const u32 first = set * array.ways();
    WayMask unlocked = 0, empty = 0;
    for (u32 way = 0; way < array.ways(); ++way) {
      if (!array.valid(first + way)) return kNone;
      const Page& page = backward_.meta(entry_of(first + way));
      if (page.locked) continue;
      unlocked |= WayMask{1} << way;
      if (page.count == 0) empty |= WayMask{1} << way;
    }
    all_locked = unlocked == 0;
    return all_locked ? kNone : entry_of(array.victim_in(set, empty != 0 ? empty : unlocked));
  }

  u32 page_shift_;
  bool has_vectors_;
  TagArray<Page> backward_;
  TagArray<u32> forward_;
  u32 pages_with_lines_ = 0;
};

}  // namespace terrace
