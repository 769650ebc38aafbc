// Looks now and then whether the forward-backward table knows of every line in a virtual L2, under the one name that it has
// there. Dev builds check every change (wire/line_truth.h). Looking changes nothing.
// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <vector>

#include "cache/l2_slice.h"
#include "gpu/controller.h"
#include "translation/fbt.h"

namespace terrace {

class NamesAudit final : public Controller {
 public:
  NamesAudit(const Fbt& fbt, const std::vector<std::unique_ptr<L2Slice>>& slices) : fbt_(fbt), slices_(slices) {}

  Cycle next(Cycle now) const override { return (now / kEvery + 1) * kEvery; }
  void act(Cycle now) override;
  void archive(Archive&) override {}

 private:
  // Chosen.
  static constexpr Cycle kEvery = 1 << 17;
  const Fbt& fbt_;
  const std::vector<std::unique_ptr<L2Slice>>& slices_;
};

}  // namespace terrace
