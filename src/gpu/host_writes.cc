// SPDX-License-Identifier: MIT
#include "gpu/host_writes.h"

#include <algorithm>

namespace terrace {

void HostWrites::forget(TenantId tenant, GuestMemory& memory, Cycle now) {
  std::vector<Bytes> ranges;
  std::vector<LineRange> lines;
  const u64 page = u64{1} << wiring_.spaces.page_shift();
  for (const GuestMemory::WrittenRange& range : memory.take_host_writes()) {
    const u64 end = range.first.raw + range.bytes;
    lines.push_back(lines_of(tenant, range.first.raw, end));
    for (u64 at = range.first.raw; at < end;) {
      const u64 next = std::min(end, (at / page + 1) * page);
      const PhysAddr first = wiring_.spaces.locate(tenant, {at});
      if (first != AddressSpaces::kUnmapped) ranges.push_back({first.raw, first.raw + (next - at)});
      at = next;
    }
  }
  if (!ranges.empty()) forget(ranges, std::move(lines), now);
}

/// Pages that lie nowhere any more: caches and the table forget them, dirty lines included.
void HostWrites::forget_pages(TenantId tenant, std::span<const AddressSpaces::ChangedPage> gone, Cycle now) {
  const u64 bytes = u64{1} << wiring_.spaces.page_shift();
  std::vector<Bytes> written;
  std::vector<LineRange> lines;
  std::vector<u64> keys;
  for (const AddressSpaces::ChangedPage& page : gone) {
    written.push_back(entry_at(page.entry));
    lines.push_back(lines_of(tenant, page.va.raw, page.va.raw + bytes));
    keys.push_back(wiring_.spaces.key_of(tenant, page.va));
    written.push_back({page.frame.raw, page.frame.raw + bytes});
    if (!wiring_.fbt) continue;
    // Its lines may be cached under another name, even one that is gone.
    wiring_.fbt->each_leading(page.frame, bytes, [&](u64 leading) {
      const u64 first = page_of_key(leading) * page_bytes_of_key(leading);
      lines.push_back(lines_of(tenant_of_key(leading), first, first + page_bytes_of_key(leading)));
      keys.push_back(leading);
    });
  }
  forget(written, std::move(lines), now);
  for (const u64 key : keys) {
    if (wiring_.fbt) wiring_.fbt->forget_page(key, now);
  }
}

bool HostWrites::follow(TenantId tenant, std::span<const AddressSpaces::ChangedPage> changed, Cycle now) {
  using Kind = AddressSpaces::ChangedPage::Kind;
  std::vector<AddressSpaces::ChangedPage> gone;
  std::vector<Bytes> entries;
  bool shot_down = false;
  for (const AddressSpaces::ChangedPage& page : changed) {
    wiring_.translations.flush_page(tenant, page.va);
    if (page.kind == Kind::kGone) {
      gone.push_back(page);
      continue;
    }
    entries.push_back(entry_at(page.entry));
    // A permission that is given is found out by the first store that needs it.
    if (!wiring_.fbt || page.kind == Kind::kReadWrite) continue;
    wiring_.fbt->shoot_down_and_wait(wiring_.spaces.key_of(tenant, page.va), now);
    shot_down = true;
  }
  if (!entries.empty()) forget(entries, {}, now);
  if (!gone.empty()) forget_pages(tenant, gone, now);
  return shot_down;
}

LineRange HostWrites::lines_of(TenantId tenant, u64 first, u64 end) const {
  const u64 line_bytes = wiring_.line_bytes;
  return {LineKey::of_tenant(tenant, first / line_bytes), LineKey::of_tenant(tenant, (end - 1) / line_bytes).next()};
}

/// `lines` are the same by virtual name.
void HostWrites::forget(std::span<const Bytes> ranges, std::vector<LineRange> lines, Cycle now) {
  const u64 line_bytes = wiring_.line_bytes;
  if (wiring_.translation != TranslateAt::kAfterL2) lines.clear();
  for (const Bytes& range : ranges) {
    lines.push_back(
        {LineKey::physical(range.first / line_bytes), LineKey::physical((range.end - 1) / line_bytes).next()});
    wiring_.truth.host_writes(range.first, range.end);
  }
  lines = disjoint(std::move(lines));
  const auto gone = [&](LineKey line) {
    if (wiring_.fbt && !line.is_physical()) wiring_.fbt->forget_line(line, now);
  };
  for (const auto& slice : wiring_.slices) slice->forget(lines, gone);
}

std::vector<LineRange> disjoint(std::vector<LineRange> ranges) {
  std::sort(ranges.begin(), ranges.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<LineRange> merged;
  for (const LineRange& range : ranges) {
    if (merged.empty() || merged.back().end < range.first) {
      merged.push_back(range);
    } else {
      merged.back().end = std::max(merged.back().end, range.end);
    }
  }
  return merged;
}

}  // namespace terrace
