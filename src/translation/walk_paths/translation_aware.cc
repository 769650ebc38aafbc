// Translation-aware L2 bypass: page-table reads of a level that hit the L2 less often than data do go straight to
// memory. They are not looked up, not kept, and wait in no queue of the L2. Hit rates are those of the last epoch, over
// all tenants. One in `sample` reads of a level that bypasses still goes through the L2, so that its rate stays known;
// it is decided anew when there are enough of them.
//
// Paper:  MASK, ASPLOS 2018, section 5.3.
// Slot:   WalkPath (translation/walk_path.h).   Overlay: configs/designs/mask_cache.toml
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <array>

#include "translation/walk_path.h"

namespace terrace {
namespace {

class TranslationAwareWalkPath final : public WalkPath {
 public:
  struct Params {
    // Neither is printed (MASK-A5).
    u32 sample = 32;
    u32 least_samples = 100;
    void describe(Fields& v) {
      v("sample", sample, in(0, 1'000'000),
        "one in this many reads of a bypassing level still goes through the L2, to measure its hit rate; 0: none");
      v("least_samples", least_samples, in(1, 1'000'000),
        "look-ups, of a level and of data, that are needed before the level starts or stops bypassing");
    }
  };

  TranslationAwareWalkPath(const Context&, Params params) : params_(params) {}

  bool uses(Way) const override { return true; }

  Way choose(const WalkRead& read) override {
    Level& level = levels_[read.level - 1];
    if (!level.bypasses) return Way::kL2;
    if (params_.sample != 0 && ++level.since_sample >= params_.sample) {
      level.since_sample = 0;
      ++stats_.samples[read.tenant];
      return Way::kL2;
    }
    ++stats_.bypasses[read.level - 1][read.tenant];
    return Way::kMemory;
  }

  void epoch(TenantEpochs tenants) override {
    u64 data_lookups = 0, data_hits = 0;
    for (const TenantEpoch& tenant : tenants) {
      data_lookups += tenant.l2_requests;
      data_hits += tenant.l2_hits;
    }
    for (u32 i = 0; i < kWalkLevels; ++i) {
      u64 lookups = 0, hits = 0;
      for (const TenantEpoch& tenant : tenants) {
        lookups += tenant.walk_lookups[i];
        hits += tenant.walk_hits[i];
      }
      Level& level = levels_[i];
      // Without samples, a level that bypasses is never measured again.
      if (level.bypasses && params_.sample == 0) continue;
      level.lookups += lookups;
      level.hits += hits;
      const bool known = level.lookups >= params_.least_samples && data_lookups >= params_.least_samples;
      if (known) level.bypasses = level.hits * data_lookups < data_hits * level.lookups;
      // The samples of one epoch may be too few. They add up until they tell, or the level would stop to bypass for want of
      // look-ups and begin again, epoch by epoch.
      if (known || !level.bypasses) level.lookups = level.hits = 0;
      stats_.bypassing_epochs[i] += level.bypasses;
    }
  }
  bool by_epochs() const override { return true; }
  void archive(Archive& a) override { a(levels_); }

  void describe(StatFields& v) override {
    for (u32 i = 0; i < kWalkLevels; ++i) {
      v(fmt::format("bypasses_level_{}", i + 1), stats_.bypasses[i], "lines", "reads of this level sent past the L2");
      v(fmt::format("bypassing_epochs_level_{}", i + 1), stats_.bypassing_epochs[i], "epochs",
        "epochs at whose end this level was told to bypass the L2");
    }
    v("samples", stats_.samples, "lines", "reads of bypassing levels that went through the L2 to measure its hit rate");
  }

 private:
  struct Level {
    bool bypasses = false;
    u32 since_sample = 0;
    u64 lookups = 0, hits = 0;  // since it was last decided upon
  };
  const Params params_;
  std::array<Level, kWalkLevels> levels_;
  struct {
    std::array<PerTenant<Counter>, kWalkLevels> bypasses;
    std::array<Counter, kWalkLevels> bypassing_epochs;
    PerTenant<Counter> samples;
  } stats_;
};

REGISTER_POLICY(WalkPath, TranslationAwareWalkPath, "translation_aware",
                .summary = "levels that hit the L2 less often than data go straight to memory",
                .paper = "MASK, ASPLOS 2018");

}  // namespace
}  // namespace terrace
