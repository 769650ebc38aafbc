// How people read mixes: "gesummv:variant=cd+leu:variant=cd" is GESUMMV + LEU.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

namespace terrace {

/// Tenants in capitals as papers write them, without the paper's variant. Other parameters stay, in brackets; of a program of
/// the user's the file's name. `joint` is between tenants in `mix`.
std::string shown_mix(std::string_view mix, char joint = '+');

}  // namespace terrace
