// A tenant that did what it may not is ended, with the sentence that says what. Of several faults of one tenant in one
// cycle the one on the SM with the lowest number is told, and there the first that issued: no tick order changes that. What
// only the forward-backward table can see, read-write synonyms, comes behind them.
// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "gpu/controller.h"
#include "gpu/controllers/presence.h"
#include "gpu/tenant_table.h"
#include "translation/fbt.h"

namespace terrace {

class Faults final : public Controller {
 public:
  Faults(const std::vector<std::unique_ptr<Sm>>& sms, Fbt* fbt, TenantTable& tenants, Presence& presence)
      : sms_(sms), fbt_(fbt), tenants_(tenants), presence_(presence) {}

  Cycle next(Cycle) const override { return kNever; }
  void act(Cycle now) override;
  void archive(Archive&) override {}

  /// Ends a tenant that has not ended.
  void end(TenantId tenant, const std::string& sentence, Cycle now);

 private:
  std::string sentence(const SynonymFault& fault) const;

  const std::vector<std::unique_ptr<Sm>>& sms_;
  Fbt* fbt_;  // may be none
  TenantTable& tenants_;
  Presence& presence_;
};

}  // namespace terrace
