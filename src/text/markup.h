// Text inside XML and HTML.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>

namespace terrace {

std::string escaped(const std::string& text);

}  // namespace terrace
