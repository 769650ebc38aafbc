// PVC: the map phase of a page view count in the manner of Mars. Each lane walks the bytes of its own log record: about
// 20 lines an access on one or two pages, used again for the next bytes. Variant: cd (12,000,000 records). Tiny has
// smaller blocks, enough of them for 24 SMs.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>

#include "frontend/workload.h"
#include "support/checks.h"
#include "support/inputs.h"

namespace terrace {
namespace {

// As pvc.cu has them.
struct Key {
  u64 log;
  u32 offset, hash;
};
struct Value {
  u32 size, phase;
};
struct Quad {
  i32 x, y, z, w;
};

constexpr u64 kUrls = 10'000;  // in the pool
constexpr std::string_view kScheme = "http://";
constexpr u64 kShortestUrl = 20, kUrlLengths = 81;  // without the scheme
constexpr u64 kCookie = 16;
constexpr u64 kSeparators = 3;
constexpr u64 kShortestLine = kScheme.size() + kShortestUrl + 7 + kCookie + kSeparators;
constexpr u64 kLongestLine = kShortestLine + kUrlLengths - 1 + 8;
constexpr u64 kDuplicatePercent = 30;
/// Room in the log for a line, a little more than their mean, so that the size of the log depends on no seed.
constexpr u64 kLineRoom = 102;

class PageViews final : public LaunchSequence {
 public:
  struct Params : WorkloadParams {
    u32 records = 12'000'000;
    u32 threads = 256;

    void describe(Fields& v) override {
      v("records", records, in(1, 1 << 24), "lines of the log, one a thread");
      v("threads", threads, in(1, 1024), "threads in a block");
      WorkloadParams::describe(v);
    }
    u64 log_bytes() const { return u64{records} * kLineRoom + kLongestLine; }
  };

  static void preset(InputSize size, std::string_view, Params& p) {
    switch (size) {
      case InputSize::kMini:
        p.records = 300, p.threads = 64;
        break;
      case InputSize::kTiny:
        p.records = 24'576, p.threads = 128;
        break;
      case InputSize::kSmall:
        p.records = 250'000;
        break;
      case InputSize::kPaper:
        break;
    }
  }
  static u64 footprint_bytes(const Params& p) {
    return p.log_bytes() + u64{p.records} * (2 * sizeof(Quad) + sizeof(Key) + sizeof(Value) + 6 * sizeof(u32));
  }

  explicit PageViews(const Params& params) : p_(params) {}

  void allocate(GuestMemory& memory) override {
    log_ = Buffer<u8>(memory, "log", p_.log_bytes());
    records_ = Buffer<Quad>(memory, "records", p_.records);
    static constexpr std::array<const char*, 3> kSizes{"key_sizes", "value_sizes", "counts"};
    static constexpr std::array<const char*, 3> kPlaces{"key_places", "value_places", "places"};
    for (u32 i = 0; i < 3; ++i) {
      sizes_[i] = Buffer<u32>(memory, kSizes[i], p_.records);
      places_[i] = Buffer<u32>(memory, kPlaces[i], p_.records);
    }
    keys_ = Buffer<Key>(memory, "keys", p_.records);
    values_ = Buffer<Value>(memory, "values", p_.records);
    directory_ = Buffer<Quad>(memory, "directory", p_.records);
  }

  void fill(GuestMemory& memory) override {
    write_log(log_.write(memory), records_.write(memory));
    for (u32 i = 0; i < 3; ++i) {
      fill_with(memory, sizes_[i], 0u);
      fill_with(memory, places_[i], 0u);
    }
    fill_with(memory, keys_, Key{});
    fill_with(memory, values_, Value{});
    fill_with(memory, directory_, Quad{});
  }

  u64 launches() const override { return 2 * u64{p_.iters}; }

  /// Between the kernels the host turns sizes into places. With a slice, records outside it emit nothing.
  Launch launch(GuestMemory& memory, u64 number) override {
    const bool counts = number % 2 == 0;
    Launch call = sliced_launch(counts ? "pvc_map_count" : "pvc_map", {blocks_of(p_.records, p_.threads)}, {p_.threads},
                                p_.slice);
    launched_records_ = std::min(u64{p_.records}, call.blocks() * p_.threads);
    if (counts) {
      call.argument(records_);
      for (const auto& sizes : sizes_) call.argument(sizes);
    } else {
      for (u32 i = 0; i < 3; ++i) {
        u32 sum = 0;
        const auto sizes = sizes_[i].read(memory);
        const auto places = places_[i].write(memory);
        for (u64 k = 0; k < sizes.size(); ++k) {
          places[k] = sum;
          sum += sizes[k];
        }
      }
      call.argument(log_).argument(records_);
      for (const auto& places : places_) call.argument(places);
      call.argument(keys_).argument(values_).argument(directory_);
    }
    call.argument(p_.records);
    return call;
  }

  CheckResult check(const GuestMemory& memory) const override {
    const auto log = log_.read(memory);
    const auto records = records_.read(memory), directory = directory_.read(memory);
    const auto keys = keys_.read(memory);
    const auto values = values_.read(memory);
    // A real GPU places the log elsewhere, so keys are held to each other: all name one place.
    const i64 place = static_cast<i64>(keys[0].log);
    ExactCheck key("keys"), value("values"), entry("directory");
    for (u64 i = 0; i < p_.records; ++i) {
      const bool emitted = i < launched_records_;
      const i32 offset = emitted ? records[i].x : 0, size = emitted ? records[i].y : 0;
      u32 hash = 0;
      for (const u8 byte : log.subspan(static_cast<u64>(offset), static_cast<u64>(size)))
        hash = (hash << 4) ^ (hash >> 28) ^ byte;
      key.compare(3 * i, static_cast<i64>(keys[i].log), emitted ? place : 0);
      key.compare(3 * i + 1, keys[i].offset, offset);
      key.compare(3 * i + 2, keys[i].hash, hash);
      value.compare(2 * i, values[i].size, size);
      value.compare(2 * i + 1, values[i].phase, 0);
      const Quad want = emitted ? Quad{static_cast<i32>(i * sizeof(Key)), sizeof(Key),
                                       static_cast<i32>(i * sizeof(Value)), sizeof(Value)}
                                : Quad{};
      entry.compare(4 * i, directory[i].x, want.x);
      entry.compare(4 * i + 1, directory[i].y, want.y);
      entry.compare(4 * i + 2, directory[i].z, want.z);
      entry.compare(4 * i + 3, directory[i].w, want.w);
    }
    return both(both(key.result(), value.result()), entry.result());
  }

 private:
  /// Lengths go with the rank of a URL, and no seed changes them: popular ones would move the mean.
  static std::vector<std::string> urls(Rng& rng) {
    std::vector<std::string> pool(kUrls);
    for (u64 rank = 0; rank < kUrls; ++rank) {
      const u64 length = kShortestUrl + (rank * 37 + 40) % kUrlLengths;
      pool[rank] = kScheme;
      for (u64 i = 0; i < length; ++i) pool[rank] += static_cast<char>('a' + rng.below(26));
    }
    return pool;
  }
  /// Popularity falls with rank: rank = pool x u^3. A URL is cut short where the lines to come would lack room.
  void write_log(std::span<u8> log, std::span<Quad> records) const {
    Rng rng(p_.seed, "pvc.log");
    const std::vector<std::string> pool = urls(rng);
    u64 at = 0;
    std::string line;
    for (u64 i = 0; i < records.size(); ++i) {
      const u64 room = log.size() - at - (records.size() - i - 1) * kShortestLine;
      if (i > 0 && rng.below(100) < kDuplicatePercent) {
        const Quad& earlier = records[rng.below(i)];
        line.assign(reinterpret_cast<const char*>(log.data()) + earlier.x, static_cast<u64>(earlier.y));
      } else {
        line = drawn_line(rng, pool);
      }
      if (line.size() > room) line.erase(0, line.size() - room);
      std::copy(line.begin(), line.end(), log.begin() + static_cast<i64>(at));
      records[i] = {static_cast<i32>(at), static_cast<i32>(line.size()), 0, 0};
      at += line.size();
    }
    std::fill(log.begin() + static_cast<i64>(at), log.end(), u8{0});
  }
  static std::string drawn_line(Rng& rng, const std::vector<std::string>& pool) {
    const double u = rng.unit();
    std::string line = pool[static_cast<u64>(u * u * u * static_cast<double>(kUrls))] + '\t';
    for (u32 i = 0; i < 4; ++i) line += fmt::format("{}{}", rng.below(256), i < 3 ? '.' : '\t');
    for (u64 i = 0; i < kCookie; ++i) line += "0123456789abcdef"[rng.below(16)];
    return line + '\n';
  }

  Params p_;
  Buffer<u8> log_;
  Buffer<Quad> records_, directory_;
  Buffer<u32> sizes_[3], places_[3];
  Buffer<Key> keys_;
  Buffer<Value> values_;
  u64 launched_records_ = 0;
};

const RegisterWorkload<PageViews> kRegistered{{
    .name = "pvc",
    .purpose = "page view count, map phase: every lane walks its own string byte by byte",
    .origin = "Mars PageViewCount",
    .papers = "CD",
    .module = "pvc",
    .variants = {"cd"},
}};

}  // namespace
}  // namespace terrace
