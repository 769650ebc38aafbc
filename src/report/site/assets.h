// What pages are made of besides their data: a style sheet, our scripts and Chart.js, each as it stands in its file. They
// are part of the program (cmake/web.cmake), so that an installed one needs nothing beside it.
// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

namespace terrace {

std::string_view web_style();
std::string_view web_script();    // src/report/web/*.js, one after the other
std::string_view chart_script();  // Chart.js

}  // namespace terrace
