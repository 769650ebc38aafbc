// A CPU that shares memory with the GPU: takes lines for itself (coherence probes), and shoots down pages, at random or all at
// once. Only behind a virtual L2 does that reach caches (translation/fbt.h).
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>

#include "engine/archive.h"
#include "engine/rng.h"
#include "gpu/config.h"
#include "gpu/controller.h"
#include "gpu/translations.h"
#include "translation/address_space.h"
#include "translation/fbt.h"

namespace terrace {

class Cpu final : public Controller {
 public:
  Cpu(const GpuConfig& config, u32 tenants, const AddressSpaces& spaces, Fbt& fbt, Translations& translations)
      : config_(config.cpu),
        line_bytes_(config.line_bytes),
        memory_bytes_(config.pages.memory_bytes),
        tenants_(tenants),
        spaces_(spaces),
        fbt_(fbt),
        translations_(translations),
        random_(config.run.seed, "cpu") {}

  Cycle next(Cycle now) const override {
    return std::min({after(now, config_.probe_interval), after(now, config_.shootdown_interval),
                     after(now, config_.flush_interval)});
  }
  void act(Cycle now) override;
  void archive(Archive& a) override { a(random_, last_); }

 private:
  static Cycle after(Cycle now, u64 interval) { return interval == 0 ? kNever : (now / interval + 1) * interval; }
  static bool is_due(Cycle now, u64 interval) { return interval != 0 && now % interval == 0; }
  void probe(Cycle now);
  void shoot_down(Cycle now);
  void flush(Cycle now);
  VirtAddr random_page(TenantId tenant);

  const CpuConfig config_;
  const u64 line_bytes_, memory_bytes_;
  const u32 tenants_;
  const AddressSpaces& spaces_;
  Fbt& fbt_;
  Translations& translations_;
  Rng random_;
  Cycle last_ = 0;
};

}  // namespace terrace
