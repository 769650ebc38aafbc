// SPDX-License-Identifier: MIT
#include "sweep/mix_name.h"

#include <algorithm>
#include <cctype>
#include <vector>

namespace terrace {

namespace {

std::vector<std::string_view> parts_of(std::string_view text, char joint) {
  std::vector<std::string_view> parts;
  for (std::size_t from = 0; from <= text.size();) {
    const std::size_t end = std::min(text.find(joint, from), text.size());
    parts.push_back(text.substr(from, end - from));
    from = end + 1;
  }
  return parts;
}

std::string shown_tenant(std::string_view tenant) {
  constexpr std::string_view kOwn = ".toml", kVariant = "variant=";
  const std::size_t colon = std::min(tenant.find(':'), tenant.size());
  std::string name(tenant.substr(0, colon));
  if (name.ends_with(kOwn)) {
    name = name.substr(0, name.size() - kOwn.size());
    name = name.substr(name.find_last_of('/') + 1);
  } else {
    std::transform(name.begin(), name.end(), name.begin(),
                   [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  }
  std::string rest;
  if (colon < tenant.size())
    for (const std::string_view parameter : parts_of(tenant.substr(colon + 1), ','))
      if (!parameter.starts_with(kVariant)) rest += (rest.empty() ? "" : ", ") + std::string(parameter);
  return rest.empty() ? name : name + " (" + rest + ")";
}

}  // namespace

std::string shown_mix(std::string_view mix, char joint) {
  std::string text;
  for (const std::string_view tenant : parts_of(mix, joint)) text += (text.empty() ? "" : " + ") + shown_tenant(tenant);
  return text;
}

}  // namespace terrace
