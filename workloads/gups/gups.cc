// GUPS: random read-modify-write of a table, the worst case for a TLB. Every lane of every warp updates a word of its
// own page. The stream is that of HPCC RandomAccess: multiplication by x modulo x^64 + x^2 + x + 1 over GF(2).
// Variants: mask (32-bit atomics), dws (plain loads and stores, 15 threads a block).
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <vector>

#include "engine/check.h"
#include "engine/rng.h"
#include "frontend/workload.h"
#include "frontend/workload_alias.h"

namespace terrace {
namespace {

constexpr u64 kPolynomial = 7;  // x^64 = x^2 + x + 1

constexpr u64 advance(u64 r) {
  return (r << 1) ^ (r >> 63 ? kPolynomial : 0);
}

/// The product of two polynomials modulo that of the stream.
constexpr u64 multiply(u64 a, u64 b) {
  u64 product = 0;
  for (; b; b >>= 1, a = advance(a)) {
    if (b & 1) product ^= a;
  }
  return product;
}

/// x to a power: where the stream that starts at 1 is after so many steps.
constexpr u64 stream_at(u64 position) {
  u64 result = 1;
  for (u64 square = 2; position; position >>= 1, square = multiply(square, square)) {
    if (position & 1) result = multiply(result, square);
  }
  return result;
}

enum class Update : u8 { kPlain, kAtomic64, kAtomic32x2 };

class Gups final : public LaunchSequence {
 public:
  struct Params : WorkloadParams {
    u32 table_log2 = 21;
    u32 blocks = 128;
    u32 threads = 128;
    u32 updates = 16;
    Update update = Update::kPlain;

    void describe(Fields& v) override {
      v("table_log2", table_log2, in(6, 32), "words of 8 bytes in the table, as a power of two");
      v("blocks", blocks, in(1, 1 << 20), "blocks in the grid");
      v("threads", threads, in(1, 1024), "threads in a block");
      v("updates", updates, in(1, 1 << 20), "updates by each thread");
      v("update", update, {"plain", "atomic64", "atomic32x2"},
        "load, xor, store (may lose some), or atomic operations");
      WorkloadParams::describe(v);
    }
  };

  static void preset(InputSize size, std::string_view variant, Params& p) {
    if (variant == "mask") p.update = Update::kAtomic32x2;
    const auto shape = [&p](u32 table_log2, u32 blocks, u32 threads, u32 updates) {
      p.table_log2 = table_log2;
      p.blocks = blocks;
      p.threads = threads;
      p.updates = updates;
    };
    switch (size) {
      case InputSize::kMini:
        return shape(16, 4, 64, 16);
      case InputSize::kTiny:
        return shape(21, 128, 128, 16);
      case InputSize::kSmall:
        return shape(22, 480, 128, 64);
      case InputSize::kPaper:
        return variant == "mask" ? shape(19, 512, 128, 32) : shape(21, 32, 15, 256);
    }
  }
  static u64 footprint_bytes(const Params& p) { return ((u64{1} << p.table_log2) + u64{p.blocks} * p.threads) * 8; }

  explicit Gups(const Params& params) : p_(params), words_(u64{1} << params.table_log2) {}

  void allocate(GuestMemory& memory) override {
    table_ = Buffer<u64>(memory, "table", words_);
    starts_ = Buffer<u64>(memory, "starts", u64{p_.blocks} * p_.threads);
  }

  void fill(GuestMemory& memory) override {
    const auto table = table_.write(memory);
    for (u64 i = 0; i < words_; ++i) table[i] = i;
  }

  u64 launches() const override { return p_.iters; }

  Launch launch(GuestMemory& memory, u64 number) override {
    // Each repetition goes on where the previous one left the stream; the seed says where the first one starts.
    u64 r = first_of(number);
    const u64 step = stream_at(p_.updates);
    for (u64& start : starts_.write(memory)) {
      start = r;
      r = multiply(r, step);
    }
    static constexpr std::string_view kKernels[] = {"gups_plain", "gups_atomic64", "gups_atomic32x2"};
    Launch stretch =
        sliced_launch(std::string(kKernels[static_cast<u32>(p_.update)]), {p_.blocks}, {p_.threads}, p_.slice);
    stretch.argument(table_).argument(starts_).argument(words_ - 1).argument(p_.updates);
    launched_threads_ = stretch.blocks() * p_.threads;
    return stretch;
  }
  void archive_host(Archive& a) override { a(launched_threads_); }

  /// Xor is its own inverse: the same updates again give back the first contents. A large table is looked at in parts, so that
  /// no copy of the whole is needed; each part replays the stream, which costs little beside the simulation.
  CheckResult check(const GuestMemory& memory) const override {
    const auto result = table_.read(memory);
    constexpr u64 kParts = 16, kSmallPart = u64{1} << 17;  // words: a megabyte
    const u64 part = std::max(words_ / kParts, std::min(words_, kSmallPart));
    const u64 updates = launched_threads_ * p_.updates;
    u64 wrong = 0;
    for (u64 first = 0; first < words_; first += part)
      wrong += wrong_words(result.subspan(first, part), first, updates);
    // Plain updates race: 1 % of the table may be wrong, but never as many as if next to nothing had been done.
    const u64 allowed = p_.update == Update::kPlain ? std::min(words_ / 100, updates * p_.iters / 10) : 0;
    return {wrong <= allowed, fmt::format("table: {} of {} words wrong after {} updates (allowed {})", wrong, words_,
                                          updates * p_.iters, allowed)};
  }

 private:
  u64 wrong_words(std::span<const u64> result, u64 first, u64 updates) const {
    std::vector<u64> table(result.begin(), result.end());
    for (u32 repetition = 0; repetition < p_.iters; ++repetition) {
      u64 r = first_of(repetition);
      for (u64 i = 0; i < updates; ++i) {
        r = advance(r);
        if (const u64 at = (r & (words_ - 1)) - first; at < table.size()) table[at] ^= r;
      }
    }
    u64 wrong = 0;
    for (u64 i = 0; i < table.size(); ++i) wrong += table[i] != first + i;
    return wrong;
  }
  /// Thread t starts t x updates further on, so that a repetition is one stretch of the stream.
  u64 first_of(u64 repetition) const {
    const u64 origin = stream_at(Rng(p_.seed, "gups.origin").next());
    return multiply(origin, stream_at(repetition * p_.blocks * p_.threads * p_.updates));
  }

  Params p_;
  u64 words_;
  Buffer<u64> table_, starts_;
  u64 launched_threads_ = 0;
};

const RegisterWorkload<Gups> kRegistered{{
    .name = "gups",
    .purpose = "random read-modify-write of a table: worst-case TLB pressure",
    .origin = "HPCC RandomAccess",
    .papers = "MASK, DWS",
    .module = "gups",
    .variants = {"mask", "dws"},
    .paper_needs_variant = true,
}};
const RegisterAlias kAlias{"gup", "gups"};

}  // namespace
}  // namespace terrace
