// TLB-fill tokens: everybody may look into the L2 TLB, but only a translation that a warp with a token waits for is
// filled into it; the others go into a small bypass cache beside it. Each tenant has as many tokens as its miss rate
// allows. At the end of an epoch a rate that rose takes tokens away, and a rate that fell gives more (`by_miss_rate`);
// or the number goes on in its direction while the rate falls, and turns back when it rises (`hill_climb`). The lowest
// warps of the tenant's SMs hold the tokens, so that they are spread evenly. In a tenant's first epoch everything is
// filled into the TLB.
//
// Paper:  MASK, ASPLOS 2018, section 5.2.
// Slot:   TlbFillPolicy (translation/tlb_fill.h).   Overlay: configs/designs/mask_tlb.toml
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <utility>
#include <vector>

#include "translation/tlb_fill.h"

namespace terrace {
namespace {

class TokensTlbFillPolicy final : public TlbFillPolicy {
 public:
  enum class Rule : u8 { kByMissRate, kHillClimb };
  enum class Decides : u8 { kAnyWarp, kFirstWarp };
  struct Params {
    Rule rule = Rule::kByMissRate;
    Decides decides = Decides::kAnyWarp;
    u32 initial_percent = 80;   // printed
    u32 step_percent = 10;      // not printed; that of the public releases (MASK-A3)
    u32 threshold_percent = 2;  // printed; read as percentage points (MASK-A3)
    u32 bypass_entries = 32;    // printed
    void describe(Fields& v) {
      v("rule", rule, {"by_miss_rate", "hill_climb"}, "how the number of tokens follows the miss rate");
      v("decides", decides, {"any_warp", "first_warp"},
        "whose token counts for a translation: that of any warp that waits for it, or only of the first");
      v("initial_percent", initial_percent, in(0, 100), "tokens after the first epoch, of the tenant's warps");
      v("step_percent", step_percent, in(1, 100),
        "tokens given or taken at the end of an epoch, of the tenant's warps");
      v("threshold_percent", threshold_percent, in(0, 100),
        "change of the miss rate that counts, in percentage points");
      v("bypass_entries", bypass_entries, in(0, 4096), "entries of the bypass cache");
    }
  };

  TokensTlbFillPolicy(const Context& context, Params params)
      : params_(params), tenants_(context.tenants, Tenant(context.sms)) {}

  Into choose(u64, TenantId tenant, std::span<const TlbAsker> askers) override {
    const Tenant& its = tenants_[index(tenant)];
    const auto deciding = askers.first(params_.decides == Decides::kFirstWarp ? 1 : askers.size());
    const bool fills = its.warps == 0 || std::any_of(deciding.begin(), deciding.end(),
                                                     [&](const TlbAsker& asker) { return its.has_token(asker); });
    if (fills) return Into::kTlb;
    return params_.bypass_entries == 0 ? Into::kNowhere : Into::kBypass;
  }

  void looked_up(TenantId tenant, bool hit) override {
    Tenant& its = tenants_[index(tenant)];
    ++its.now.lookups;
    its.now.misses += !hit;
  }

  void epoch(TenantEpochs epochs) override {
    for (u32 i = 0; i < tenants_.size(); ++i) end_epoch(TenantId(i), epochs[i]);
  }
  bool by_epochs() const override { return true; }
  void archive(Archive& a) override {
    for (Tenant& tenant : tenants_) a(tenant);
  }

  u32 bypass_entries() const override { return params_.bypass_entries; }
  bool wants_merged_warps() const override { return params_.decides == Decides::kAnyWarp; }

  void describe(StatFields& v) override {
    v("tokens", stats_.tokens, "tokens", "tokens handed out, summed over epochs");
    v("warps", stats_.warps, "warps", "the most warps in an epoch so far, summed over epochs");
    v("epochs", stats_.epochs, "epochs", "epochs at whose end tokens were handed out");
    v("raised", stats_.raised, "epochs", "epochs at whose end a tenant got more tokens");
    v("lowered", stats_.lowered, "epochs", "epochs at whose end a tenant lost tokens");
    v.ratio("mean_tokens", sum(stats_.tokens), sum(stats_.epochs), "tokens of an epoch");
    v.ratio("mean_warps", sum(stats_.warps), sum(stats_.epochs), "warps that could hold one");
  }

 private:
  struct Rate {
    u64 misses = 0, lookups = 0;
  };
  /// Whether `now` is above `before` by more than the threshold (1), below by more than that (-1), or neither.
  i32 compare(const Rate& now, const Rate& before) const {
    const u64 scaled_now = 100 * now.misses * before.lookups, scaled_before = 100 * before.misses * now.lookups;
    const u64 threshold = params_.threshold_percent * now.lookups * before.lookups;
    return scaled_now > scaled_before + threshold ? 1 : scaled_now + threshold < scaled_before ? -1 : 0;
  }
  struct Tenant {
    explicit Tenant(u32 all_sms) : place(all_sms) {}
    Rate now, before;
    u32 warps = 0;  // the most in an epoch; 0: its first epoch has not ended
    u32 tokens = 0;
    u32 sms = 0;
    std::vector<u32> place;  // by SM: its place among the tenant's, behind them if it is not one
    bool rises = false;      // hill_climb: where the number went last

    bool has_token(const TlbAsker& asker) const { return asker.warp * sms + place[index(asker.sm)] < tokens; }
    void archive(Archive& a) { a(now, before, warps, tokens, sms, place, rises); }
  };

  void end_epoch(TenantId tenant, const TenantEpoch& epoch) {
    Tenant& its = tenants_[index(tenant)];
    const Rate rate = std::exchange(its.now, {});
    if (epoch.warps == 0) return;
    const bool first = its.warps == 0;
    its.warps = std::max(its.warps, epoch.warps);
    note_sms(its, epoch);
    if (first) {
      its.tokens = params_.initial_percent * its.warps / 100;
      its.before = rate;
    } else if (rate.lookups > 0) {
      move(tenant, its, compare(rate, its.before));
      its.before = rate;
    }
    stats_.tokens[tenant] += its.tokens;
    stats_.warps[tenant] += its.warps;
    ++stats_.epochs[tenant];
  }

  static void note_sms(Tenant& its, const TenantEpoch& epoch) {
    its.sms = static_cast<u32>(epoch.sms.count());
    for (u32 sm = 0, next = 0; sm < its.place.size(); ++sm) its.place[sm] = epoch.sms[sm] ? next++ : its.sms;
  }

  /// `worse`: whether the miss rate rose (1), fell (-1) or stayed.
  void move(TenantId tenant, Tenant& its, i32 worse) {
    if (worse == 0) return;
    its.rises = params_.rule == Rule::kByMissRate ? worse < 0 : worse < 0 ? its.rises : !its.rises;
    const u32 step = std::max(1u, params_.step_percent * its.warps / 100);
    const u32 before = its.tokens;
    its.tokens = its.rises ? std::min(its.tokens + step, its.warps) : its.tokens - std::min(its.tokens, step);
    stats_.raised[tenant] += its.tokens > before;
    stats_.lowered[tenant] += its.tokens < before;
  }

  const Params params_;
  std::vector<Tenant> tenants_;
  struct {
    PerTenant<Counter> tokens, warps, epochs, raised, lowered;
  } stats_;
};

REGISTER_POLICY(TlbFillPolicy, TokensTlbFillPolicy, "tokens",
                .summary = "translations for warps with a token go into the TLB, the others into a bypass cache",
                .paper = "MASK, ASPLOS 2018");

}  // namespace
}  // namespace terrace
