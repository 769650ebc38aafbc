// A tenant that did what it may not is ended, with the sentence that says what. Of several faults of one tenant in one
// cycle the one on the SM with the lowest number is told, and there the first that issued: no tick order changes that.
// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <vector>

#include "gpu/controller.h"
#include "gpu/controllers/presence.h"
#include "gpu/tenant_table.h"

namespace terrace {

class Faults final : public Controller {
 public:
  Faults(const std::vector<std::unique_ptr<Sm>>& sms, TenantTable& tenants, Presence& presence)
      : sms_(sms), tenants_(tenants), presence_(presence) {}

  Cycle next(Cycle) const override { return kNever; }
  void act(Cycle now) override;

 private:
  const std::vector<std::unique_ptr<Sm>>& sms_;
  TenantTable& tenants_;
  Presence& presence_;
};

}  // namespace terrace
