// PVC: a page view count in the manner of Mars. Each lane of the map phase walks the bytes of its own log record: about
// 20 lines an access on one or two pages, used again for the next bytes. With phases=all records are grouped, too, and
// the addresses of each URL counted. Variant: cd (12,000,000 records). Tiny has smaller blocks, enough of them for 24 SMs.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <set>
#include <string>

#include "engine/check.h"
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
struct Entry {
  u32 hash, number;
};
constexpr u32 kNone = ~0u;

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

enum class Phases : u8 { kMap, kAll };

class PageViews final : public LaunchSequence {
 public:
  struct Params : WorkloadParams {
    u32 records = 12'000'000;
    u32 threads = 256;
    Phases phases = Phases::kMap;

    void describe(Fields& v) override {
      v("records", records, in(1, 1 << 24), "lines of the log, one a thread");
      v("threads", threads, in(1, 1024), "threads in a block");
      v("phases", phases, {"map", "all"},
        "map: where the memory traffic is; all: also grouping, and the addresses of each URL; threads are a power of "
        "two "
        "then");
      WorkloadParams::describe(v);
    }
    bool all() const { return phases == Phases::kAll; }
    /// Entries of the sort: a power of two, and at least what a block sorts.
    u64 padded() const { return std::bit_ceil(std::max(u64{records}, 2 * u64{threads})); }
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
    const u64 grouping = u64{p.records} * 2 * sizeof(u32) + p.padded() * (2 * sizeof(Entry) + sizeof(u32));
    return p.log_bytes() + u64{p.records} * (2 * sizeof(Quad) + sizeof(Key) + sizeof(Value) + 6 * sizeof(u32)) +
           (p.all() ? grouping : 0);
  }

  explicit PageViews(const Params& params) : p_(params) {
    if (!p_.all()) return;
    if (p_.slice.millionths != Fraction::kOne) input_error("pvc.phases=all groups all records; run it with slice=1");
    if (!std::has_single_bit(p_.threads))
      input_error("pvc.threads ({}) must be a power of two where phases=all sorts; try 256", p_.threads);
    plan_sort();
  }

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
    if (!p_.all()) return;
    entries_ = Buffer<Entry>(memory, "entries", p_.padded());
    urls_ = Buffer<Entry>(memory, "urls", p_.padded());
    lengths_ = Buffer<u32>(memory, "lengths", p_.records);
    url_lengths_ = Buffer<u32>(memory, "url_lengths", p_.records);
    addresses_ = Buffer<u32>(memory, "addresses", p_.padded());
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
    if (!p_.all()) return;
    fill_with(memory, entries_, Entry{});
    fill_with(memory, urls_, Entry{});
    for (const auto* buffer : {&lengths_, &url_lengths_, &addresses_}) fill_with(memory, *buffer, 0u);
  }

  u64 launches() const override { return kernels() * p_.iters; }

  /// Between the kernels of the map phase the host turns sizes into places. With a slice, records outside it emit nothing.
  Launch launch(GuestMemory& memory, u64 number) override {
    number %= kernels();
    if (number >= 2) return group(number - 2);
    const bool counts = number == 0;
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
  void archive_host(Archive& a) override { a(launched_records_); }

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
    const CheckResult map = both(both(key.result(), value.result()), entry.result());
    return p_.all() ? both(map, check_addresses(log, records, memory)) : map;
  }

 private:
  /// A launch of the bitonic sort: of `pvc_sort_block` from one run to another, or of `pvc_sort_step`.
  struct SortLaunch {
    bool in_blocks;
    u32 first, second;
  };
  void plan_sort() {
    const u64 block = 2 * u64{p_.threads};
    const auto add = [this](bool in_blocks, u64 first, u64 second) {
      sort_.push_back({in_blocks, static_cast<u32>(first), static_cast<u32>(second)});
    };
    add(true, 2, block);
    for (u64 run = 2 * block; run <= p_.padded(); run *= 2) {
      for (u64 stride = run / 2; stride >= block; stride /= 2) add(false, run, stride);
      add(true, run, run);
    }
  }
  /// Map; with grouping, entries, a sort, the second map, another sort, the count.
  u64 kernels() const { return p_.all() ? 5 + 2 * sort_.size() : 2; }

  Launch group(u64 number) const {
    const u64 sorts = sort_.size();
    if (number == 0) {
      Launch call = over_entries("pvc_group_start");
      call.argument(keys_).argument(values_).argument(entries_).argument(lengths_);
      return call.argument(p_.records).argument(static_cast<u32>(p_.padded()));
    }
    if (number <= sorts) return sort(sort_[number - 1], entries_, lengths_);
    if (number == sorts + 1) {
      Launch call = over_entries("pvc_map_urls");
      call.argument(entries_).argument(log_).argument(keys_).argument(lengths_).argument(urls_).argument(url_lengths_);
      return call.argument(static_cast<u32>(p_.padded()));
    }
    if (number <= 2 * sorts + 1) return sort(sort_[number - sorts - 2], urls_, url_lengths_);
    Launch call = over_entries("pvc_count_addresses");
    call.argument(urls_).argument(log_).argument(keys_).argument(url_lengths_).argument(addresses_);
    return call.argument(static_cast<u32>(p_.padded()));
  }
  Launch over_entries(const char* kernel) const {
    Launch call;
    call.kernel = kernel;
    call.grid = {static_cast<u32>(p_.padded() / p_.threads)};
    call.block = {p_.threads};
    return call;
  }
  Launch sort(const SortLaunch& part, const Buffer<Entry>& entries, const Buffer<u32>& lengths) const {
    Launch call = over_entries(part.in_blocks ? "pvc_sort_block" : "pvc_sort_step");
    call.grid = {static_cast<u32>(p_.padded() / 2 / p_.threads)};
    if (part.in_blocks) call.dynamic_shared_bytes = static_cast<u32>(2 * p_.threads * sizeof(Entry));
    call.argument(entries).argument(log_).argument(keys_).argument(lengths);
    return call.argument(part.first).argument(part.second);
  }

  /// Every URL stands once, with as many addresses as the log has for it.
  CheckResult check_addresses(std::span<const u8> log, std::span<const Quad> records, const GuestMemory& memory) const {
    const auto text = [&](u64 i) {
      return std::string_view(reinterpret_cast<const char*>(log.data()) + records[i].x, static_cast<u64>(records[i].y));
    };
    const auto url_of = [](std::string_view line) { return line.substr(0, line.find('\t')); };
    std::map<std::string_view, std::set<std::string_view>> expected;
    for (u64 i = 0; i < p_.records; ++i) {
      const std::string_view rest = text(i).substr(url_of(text(i)).size() + 1);
      expected[url_of(text(i))].insert(rest.substr(0, rest.find('\t')));
    }
    ExactCheck count("addresses"), found("URLs with addresses");
    const auto urls = urls_.read(memory);
    const auto addresses = addresses_.read(memory);
    i64 heads = 0;
    for (u64 i = 0; i < addresses.size(); ++i) {
      if (addresses[i] == 0) continue;
      ++heads;
      const bool named = urls[i].number < p_.records;
      const auto it = named ? expected.find(url_of(text(urls[i].number))) : expected.end();
      // Of a URL that stands twice, the second time there is nothing left to expect.
      count.compare(i, addresses[i], it == expected.end() ? 0 : static_cast<i64>(it->second.size()));
      if (it != expected.end()) it->second.clear();
    }
    found.compare(0, heads, static_cast<i64>(expected.size()));
    return both(count.result(), found.result());
  }

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
  Buffer<Entry> entries_, urls_;
  Buffer<u32> lengths_, url_lengths_, addresses_;
  std::vector<SortLaunch> sort_;  // of one of the two sorts
  u64 launched_records_ = 0;
};

const RegisterWorkload<PageViews> kRegistered{{
    .name = "pvc",
    .purpose = "page view count: every lane walks its own string byte by byte; grouping by a sort if asked",
    .origin = "Mars PageViewCount",
    .papers = "CD",
    .module = "pvc",
    .variants = {"cd"},
}};

}  // namespace
}  // namespace terrace
