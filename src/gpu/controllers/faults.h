// Ends a tenant that faulted, with a sentence that says why. When one tenant has several faults in one cycle, the fault on
// the SM with the lowest number is reported, and on that SM the one that issued first, so that the tick order does not
// matter. Read-write synonyms, which only the forward-backward table can see, come after these.
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
  Fbt* fbt_;  // null without a forward-backward table
  TenantTable& tenants_;
  Presence& presence_;
};

}  // namespace terrace
