// Checks that involve several fields. A struct states them beside its list:
//
//   void validate(Validation& v) const {
//     v.require(page_bytes >= line_bytes, "page_bytes", "must not be less than line_bytes ({})", line_bytes);
//   }
//
// They run once all layers are applied; the sentence names the place that gave the key its value.
// SPDX-License-Identifier: MIT
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>

namespace terrace {

class Validation {
 public:
  virtual ~Validation() = default;

  template <class... Args>
  void require(bool holds, std::string_view key, fmt::format_string<Args...> sentence, Args&&... args) {
    if (!holds) refuse(key, fmt::format(sentence, std::forward<Args>(args)...));
  }

 protected:
  /// Throws an InputError: origin, path of the key, sentence.
  [[noreturn]] virtual void refuse(std::string_view key, std::string sentence) = 0;
};

}  // namespace terrace
