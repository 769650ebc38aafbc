// SPDX-License-Identifier: MIT
#include "engine/check.h"

namespace terrace {

void fail_check(const char* condition, const char* file, int line, std::string message) {
  throw ModelError(fmt::format("{}:{}: {} [{}]", file, line, message, condition));
}

}  // namespace terrace
