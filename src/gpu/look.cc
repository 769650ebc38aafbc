// SPDX-License-Identifier: MIT
#include "gpu/look.h"

#include <utility>

#include "gpu/gpu.h"

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

}  // namespace

MachineLook Gpu::look() const {
  MachineLook look;
  look.cycle = now();
  for (u32 i = 0; i < tenants_.size(); ++i) {
    look.tenants.push_back(activity_.so_far(TenantId(i)));
    u32 walks = 0;
    for (const auto& mmu : mmus_) walks += mmu->walks_in_service(TenantId(i));
    look.walks_in_service.push_back(walks);
  }
  for (const auto& mmu : mmus_) look.walks_waiting += mmu->scheduler().waiting();
  look.waits = waits();
  return look;
}

/// Parts in the order in which a request meets them.
std::vector<MachineLook::Waits> Gpu::waits() const {
  std::vector<MachineLook::Waits> all;
  WaitSum tlb("L2 TLB", tenants_.size()), walks("page walkers", tenants_.size()),
      table("forward-backward table", tenants_.size()), crossbar("crossbar", tenants_.size()),
      l2("L2 cache", tenants_.size()), dram("DRAM", tenants_.size());
  if (tlb_) tlb.add(tlb_->blame);
  for (const auto& mmu : mmus_) walks.add(mmu->blame);
  if (fbt_) table.add(fbt_->blame);
  for (u32 i = 0; i < requests_->outputs(); ++i) crossbar.add(requests_->books(i).blame());
  for (u32 i = 0; i < replies_->outputs(); ++i) crossbar.add(replies_->books(i).blame());
  for (const auto& slice : slices_) l2.add(slice->blame);
  for (const auto& channel : channels_) dram.add(channel->blame);
  for (WaitSum* sum : {&tlb, &walks, &table, &crossbar, &l2, &dram}) sum->append_to(all);
  return all;
}

}  // namespace terrace
