// SPDX-License-Identifier: MIT
#include "frontend/ptx/read/plain_names.h"

#include <cxxabi.h>

#include <cstdlib>
#include <memory>

namespace terrace::ptx {
namespace {

/// "void ns::scale<float>(float*, int)" is called "ns::scale<float>": templates have their result in front.
std::string_view without_parameters(std::string_view text) {
  constexpr std::string_view kResult = "void ";
  if (text.starts_with(kResult)) text.remove_prefix(kResult.size());
  u32 depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '<') ++depth;
    if (text[i] == '>' && depth > 0) --depth;
    if (text[i] == '(' && depth == 0) return text.substr(0, i);
  }
  return text;
}

/// The same of a name as compilers make it: _Z, the length of the name, the name, and the types of its parameters.
std::string_view without_types(std::string_view name) {
  std::size_t at = 2, length = 0;
  while (at < name.size() && name[at] >= '0' && name[at] <= '9' && length < name.size())
    length = 10 * length + static_cast<std::size_t>(name[at++] - '0');
  return name.substr(at, length);
}

bool is_called(std::string_view name, std::string_view plain) {
  const std::string source = source_name(name);
  if (source != name) return without_parameters(source) == plain;
  return name.starts_with("_Z") && without_types(name) == plain;  // with a type that is newer than the demangler
}

}  // namespace

std::string source_name(std::string_view name) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(
      abi::__cxa_demangle(std::string(name).c_str(), nullptr, nullptr, &status), std::free);
  return status == 0 && name.starts_with("_Z") ? std::string(text.get()) : std::string(name);
}

const Function* find_by_plain_name(const Module& module, std::string_view plain) {
  const Function* found = nullptr;
  for (const Function& function : module.functions) {
    if (!function.entry || !function.defined || !is_called(function.name, plain)) continue;
    if (found != nullptr) return nullptr;
    found = &function;
  }
  return found;
}

}  // namespace terrace::ptx
