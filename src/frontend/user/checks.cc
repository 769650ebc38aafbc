// SPDX-License-Identifier: MIT
#include "frontend/user/checks.h"

#include <fmt/format.h>

#include <cmath>
#include <string>

#include "engine/hash.h"

namespace terrace::user {
namespace {

std::string digest_of(std::span<const u8> bytes) {
  return hash_text(hash64({reinterpret_cast<const char*>(bytes.data()), bytes.size()}));
}

CheckResult compare_digest(const ExpectSpec& expect, std::span<const u8> held) {
  const std::string got = digest_of(held);
  return {got == expect.digest, fmt::format("{}: digest {} ({} expected)", expect.buffer, got, expect.digest)};
}

/// As a person reads it: bytes are numbers, and 16 bits have few digits.
template <class T>
auto shown(T value) {
  if constexpr (kIsNarrow<T>)
    return static_cast<float>(double{value});
  else
    return value;
}

CheckResult compare(const ExpectSpec& expect, const ProgramFile& program, std::span<const u8> held) {
  const BufferSpec& buffer = program.buffers[expect.index];
  return with_type(buffer.type, [&](auto zero) -> CheckResult {
    using T = decltype(zero);
    const T* got = reinterpret_cast<const T*>(held.data());
    const bool exact = !given(expect.tolerance) && !given(expect.absolute);
    const double relative = given(expect.tolerance) ? number<double>(expect.tolerance, expect.place) : 0;
    const double absolute = given(expect.absolute) ? number<double>(expect.absolute, expect.place) : 0;
    std::string wrong;
    u64 differ = 0;
    visit_contents<T>(expect, buffer.count, program.folder, expect.place, [&](std::span<const T> want, u64 first) {
      for (u64 i = 0; i < want.size(); ++i) {
        if (got[first + i] == want[i]) continue;
        const double is = static_cast<double>(got[first + i]), should_be = static_cast<double>(want[i]);
        // Nothing is near infinity, and one NaN is as good as another.
        const double error = std::fabs(is - should_be);
        const bool near =
            !exact && std::isfinite(should_be) && (error <= relative * std::fabs(should_be) || error <= absolute);
        if (near || (std::isnan(is) && std::isnan(should_be))) continue;
        if (differ++ < expect.mismatches)
          wrong += fmt::format("{}{}[{}] is {} and should be {}", wrong.empty() ? "" : ", ", buffer.name, first + i,
                               shown(got[first + i]), shown(want[i]));
      }
    });
    if (differ == 0) return {true, fmt::format("{}: {} values as expected", buffer.name, buffer.count)};
    if (expect.mismatches > 1) wrong += fmt::format(" ({} of {} values differ)", differ, buffer.count);
    return {false, wrong};
  });
}

}  // namespace

CheckResult check_expectations(const ProgramFile& program, const std::vector<std::span<const u8>>& held) {
  if (program.expectations.empty()) {
    std::string digests;
    for (u64 i = 0; i < held.size(); ++i) {
      if (held[i].empty()) continue;
      digests += fmt::format(" {}={}", program.buffers[i].name, digest_of(held[i]));
    }
    return {false, fmt::format("{}: expects nothing; add an [[expect]]. Digests are{}", program.file, digests)};
  }
  CheckResult all{true, ""};
  for (const ExpectSpec& expect : program.expectations) {
    const CheckResult one =
        expect.compares ? compare(expect, program, held[expect.index]) : compare_digest(expect, held[expect.index]);
    all.passed = all.passed && one.passed;
    all.message += (all.message.empty() ? "" : "; ") + one.message;
  }
  return all;
}

}  // namespace terrace::user
