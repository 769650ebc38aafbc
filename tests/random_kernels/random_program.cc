// SPDX-License-Identifier: MIT
#include "random_kernels/random_program.h"

#include <algorithm>
#include <bit>

#include "engine/hash.h"
#include "engine/rng.h"

namespace terrace::random_kernels {
namespace {

/// A word that is interesting as an integer, as two floats or as a double.
u64 random_word(Rng& rng) {
  static constexpr u64 kSpecial[] = {0,
                                     1,
                                     ~u64{0},
                                     u64{1} << 63,
                                     u64{1} << 31,
                                     0x7fff'ffff'7fff'ffff,
                                     0x7f80'0000'ff80'0000,  // infinities, as floats
                                     0x7fc0'0001'ffc1'2345,  // NaNs
                                     0x0000'0001'807f'ffff,  // subnormal floats
                                     0x7f7f'ffff'0080'0000,  // largest and least normal
                                     0x7ff0'0000'0000'0000,
                                     0xfff8'0000'0000'0123,
                                     0x000f'ffff'ffff'ffff,
                                     0x3c00'7c00'fe00'0001};  // halves
  const auto number = [&] {
    const double fraction = rng.unit() - 0.5;
    return fraction * static_cast<double>(u64{1} << rng.below(40));
  };
  const auto single = [&] { return u64{std::bit_cast<u32>(static_cast<float>(number()))}; };
  switch (rng.below(6)) {
    case 0:
      return kSpecial[rng.below(std::size(kSpecial))];
    case 1:
      return rng.next();
    case 2:
      return rng.below(1000);
    case 3:
    case 4: {
      const u64 low = single();
      return low | single() << 32;
    }
    default:
      return std::bit_cast<u64>(number());
  }
}

}  // namespace

RandomProgram::RandomProgram(u64 seed) : seed_(seed), kernel_(make_random_kernel(seed)) {}

void RandomProgram::allocate(GuestMemory& memory) {
  in_ = Buffer<u64>(memory, "in", kInputWords);
  out_ = Buffer<u64>(memory, "out", kernel_.grid.count() * kernel_.block.count() * kRowWords);
  sums_ = Buffer<u64>(memory, "sums", sum_words());
}

void RandomProgram::initialise(GuestMemory& memory) {
  launched_ = false;
  Rng rng(seed_, "random kernel's input");
  for (u64& word : in_.write(memory)) word = random_word(rng);
  const auto rows = out_.write(memory);
  std::fill(rows.begin(), rows.end(), 0);
  u32 at = 0;
  for (u64& word : sums_.write(memory)) word = sum_is_float(at++) ? 0 : rng.next();
}

std::optional<Launch> RandomProgram::next(GuestMemory&) {
  if (launched_) return std::nullopt;
  launched_ = true;
  Launch launch;
  launch.kernel = kernel_.name;
  launch.grid = kernel_.grid;
  launch.block = kernel_.block;
  const u64 large = seed_ * 0x9e3779b97f4a7c15 | u64{1} << 63;  // beyond any address
  launch.argument(in_).argument(out_).argument(sums_).argument(static_cast<u32>(seed_));
  return launch.argument(large).argument(1.0f + static_cast<float>(seed_ % 97)).argument(0.1);
}

CheckResult RandomProgram::check(const GuestMemory& memory) const {
  const auto rows = out_.read(memory);
  const bool wrote = std::any_of(rows.begin(), rows.end(), [](u64 word) { return word != 0; });
  return {wrote, wrote ? "results were written" : "no thread wrote a result"};
}

u64 RandomProgram::digest(const GuestMemory& memory) const {
  const auto bytes = [&](const Buffer<u64>& buffer) {
    const auto words = buffer.read(memory);
    return std::string_view(reinterpret_cast<const char*>(words.data()), words.size() * sizeof(u64));
  };
  return hash64(std::string(bytes(out_)) + std::string(bytes(sums_)));
}

}  // namespace terrace::random_kernels
