// SPDX-License-Identifier: MIT
#include "gpu/host_writes.h"

#include <algorithm>

namespace terrace {

void HostWrites::forget(TenantId tenant, GuestMemory& memory) {
  std::vector<Bytes> ranges;
  std::vector<LineRange> lines;
  const u64 page = u64{1} << spaces_.page_shift();
  for (const GuestMemory::WrittenRange& range : memory.take_host_writes()) {
    const u64 end = range.first.raw + range.bytes;
    lines.push_back(lines_of(tenant, range.first.raw, end));
    for (u64 at = range.first.raw; at < end;) {
      const u64 next = std::min(end, (at / page + 1) * page);
      const PhysAddr first = spaces_.locate(tenant, {at});
      if (first != AddressSpaces::kUnmapped) ranges.push_back({first.raw, first.raw + (next - at)});
      at = next;
    }
  }
  if (!ranges.empty()) forget(ranges, std::move(lines));
}

LineRange HostWrites::lines_of(TenantId tenant, u64 first, u64 end) const {
  return {LineKey::of_tenant(tenant, first / line_bytes_), LineKey::of_tenant(tenant, (end - 1) / line_bytes_).next()};
}

void HostWrites::forget(std::span<const Bytes> ranges, std::vector<LineRange> lines) {
  if (translation_ != TranslateAt::kAfterL2) lines.clear();
  for (const Bytes& range : ranges) {
    lines.push_back(
        {LineKey::physical(range.first / line_bytes_), LineKey::physical((range.end - 1) / line_bytes_).next()});
    truth_.host_writes(range.first, range.end);
  }
  lines = disjoint(std::move(lines));
  const auto gone = [this](LineKey line) {
    if (!line.is_physical()) line_gone(line);
  };
  for (const auto& slice : slices_) slice->forget(lines, gone);
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
