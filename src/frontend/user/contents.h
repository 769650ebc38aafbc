// What a buffer of a user's program holds at first, or should hold in the end: constants, counts, random numbers, files.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cstdio>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "config/fields.h"
#include "engine/rng.h"
#include "frontend/user/element.h"

namespace terrace::user {

enum class Contents : u8 { kZero, kIota, kConstant, kUniform, kFile };

/// How a buffer is filled, or what it should hold.
struct ContentsSpec {
  Contents contents = Contents::kZero;
  Tree value{u64{0}};              // of constant; the first one of iota
  Tree step{u64{1}};               // of iota
  Tree low{u64{0}}, high{u64{1}};  // of uniform: [low, high)
  u64 seed = 1;
  std::string file;

  void describe(Fields& v, std::string_view key, std::string_view doc) {
    v(key, contents, {"zero", "iota", "constant", "uniform", "file"}, doc);
    v("seed", seed, in(0, ~u64{0}), "of uniform; the run's own when left out");
    v("file", file, "of file: a .npy file, or the bytes of the buffer");
  }
};

/// The elements of a file, as many as are wanted, without a copy of the whole: buffers may be large. A .npy file says
/// what it holds, which must fit; any other file holds the bytes alone.
class ContentsFile {
 public:
  ContentsFile(const std::string& folder, const std::string& name, Element type, u64 count, const Place& place);
  /// The next ones.
  void read(void* to, u64 bytes);

 private:
  [[noreturn]] void refuse() const;

  std::string path_;
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_;
};

/// Element `i` of iota. Whole numbers wrap around.
template <class T>
T count_up(T start, T step, u64 i) {
  if constexpr (kIsNarrow<T>)
    return T(double{start} + double{step} * static_cast<double>(i));
  else if constexpr (kIsReal<T>)
    return static_cast<T>(start + step * static_cast<T>(i));
  else
    return static_cast<T>(static_cast<u64>(start) + static_cast<u64>(step) * i);
}

/// Calls `take(values, first)` with the contents of a buffer of `count` elements, a few at a time and in order.
template <class T, class F>
void visit_contents(const ContentsSpec& spec, u64 count, const std::string& folder, const Place& place, F&& take) {
  constexpr u64 kAtOnce = 4096;
  std::array<T, kAtOnce> values;
  const auto visit = [&](auto&& write) {
    for (u64 first = 0; first < count; first += kAtOnce) {
      const std::span<T> some(values.data(), std::min(kAtOnce, count - first));
      write(some, first);
      take(std::span<const T>(some), first);
    }
  };
  switch (spec.contents) {
    case Contents::kZero:
      return visit([](std::span<T> some, u64) { std::ranges::fill(some, T{0}); });
    case Contents::kConstant: {
      const T value = number<T>(spec.value, place);
      return visit([=](std::span<T> some, u64) { std::ranges::fill(some, value); });
    }
    case Contents::kIota: {
      const T start = number<T>(spec.value, place), step = number<T>(spec.step, place);
      return visit([=](std::span<T> some, u64 first) {
        for (u64 i = 0; i < some.size(); ++i) some[i] = count_up(start, step, first + i);
      });
    }
    case Contents::kUniform: {
      Rng rng(spec.seed, "user." + place.key);
      const auto low = static_cast<double>(number<T>(spec.low, place));  // both must fit the element
      const auto high = static_cast<double>(number<T>(spec.high, place));
      if (!(low < high)) place.refuse("needs low ({}) below high ({})", low, high);
      return visit([&](std::span<T> some, u64) {
        for (T& value : some) value = static_cast<T>(rng.uniform(low, high));
      });
    }
    case Contents::kFile: {
      ContentsFile file(folder, spec.file, element_of<T>(), count, place);
      return visit([&](std::span<T> some, u64) { file.read(some.data(), some.size_bytes()); });
    }
  }
}

}  // namespace terrace::user
