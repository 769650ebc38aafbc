// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

namespace terrace {

/// As gzip does it, with no name and no time in it: the same bytes whenever it is made.
std::string gzip(std::string_view text);

}  // namespace terrace
