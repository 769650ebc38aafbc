// SPDX-License-Identifier: MIT
#include "gpu/look.h"

#include <utility>

#include "blame/blame.h"

namespace terrace {

namespace {

/// The sum over these books, by tenant.
class WaitSum {
 public:
  WaitSum(const char* part, std::size_t tenants) : waits_{part, std::vector<u64>(tenants)} {}
  void add(const Blame& books) {
    counted_ |= books.on();
    for (u32 i = 0; i < waits_.cycles.size(); ++i) waits_.cycles[i] += books.waited(TenantId(i));
  }
  void append_to(std::vector<MachineLook::Waits>& all) {
    if (counted_) all.push_back(std::move(waits_));
  }

 private:
  MachineLook::Waits waits_;
  bool counted_ = false;
};

/// Parts in the order in which a request meets them.
std::vector<MachineLook::Waits> waits_in(const MachineParts& parts) {
  std::vector<MachineLook::Waits> all;
  WaitSum tlb("L2 TLB", parts.tenants), walks("page walkers", parts.tenants),
      table("forward-backward table", parts.tenants), crossbar("crossbar", parts.tenants),
      l2("L2 cache", parts.tenants), dram("DRAM", parts.tenants);
  if (parts.tlb) tlb.add(parts.tlb->blame);
  for (const auto& mmu : parts.mmus) walks.add(mmu->blame);
  if (parts.fbt) table.add(parts.fbt->blame);
  for (u32 i = 0; i < parts.requests->outputs(); ++i) crossbar.add(parts.requests->books(i).blame());
  for (u32 i = 0; i < parts.replies->outputs(); ++i) crossbar.add(parts.replies->books(i).blame());
  for (const auto& slice : parts.slices) l2.add(slice->blame);
  for (const auto& channel : parts.channels) dram.add(channel->blame);
  for (WaitSum* sum : {&tlb, &walks, &table, &crossbar, &l2, &dram}) sum->append_to(all);
  return all;
}

}  // namespace

MachineLook look_at(const MachineParts& parts, const TenantActivity& activity, Cycle now) {
  MachineLook look;
  look.cycle = now;
  for (u32 i = 0; i < parts.tenants; ++i) {
    look.tenants.push_back(activity.so_far(TenantId(i)));
    u32 walks = 0;
    for (const auto& mmu : parts.mmus) walks += mmu->walks_in_service(TenantId(i));
    look.walks_in_service.push_back(walks);
  }
  for (const auto& mmu : parts.mmus) look.walks_waiting += mmu->scheduler().waiting();
  look.waits = waits_in(parts);
  return look;
}

}  // namespace terrace
