// SPDX-License-Identifier: MIT
#include "micro_points.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "engine/check.h"

namespace terrace::silicon {
namespace {

constexpr u64 kKb = 1024, kMb = kKb * 1024, kGb = kMb * 1024;
constexpr u64 kWarp = 32;
constexpr u64 kEvicting = 256 * kMb;  // several times the L2
constexpr u64 kRateCycles = 400'000;  // that a rate is measured for: 0.2 ms

/// Chains of `link` visit all of 2^k, 3 2^k, 5 2^k or 7 2^k elements in a random order: factor - 1 is a multiple of 4 x 3 x 5 x 7,
/// and the offset is a prime.
constexpr u64 kFactor = 420 * 3961 + 1, kOffset = 1013904223;

std::string text(const std::string& value) {
  return fmt::format("\"{}\"", value);
}
std::string number(u64 value) {
  return fmt::format("{}", value);
}

class Points {
 public:
  explicit Points(const PointOptions& options) : options_(options) {}

  void add(Point point) {
    if (point.data_bytes > options_.most_bytes || (options_.wanted && !options_.wanted(point))) return;
    points_.push_back(std::move(point));
  }
  std::vector<Point> take() { return std::move(points_); }

  u32 sms() const { return options_.sms; }
  /// A length, as short as asked for, and still a multiple.
  u64 length(u64 count, u64 multiple) const {
    return std::max(multiple, count / options_.shorter / multiple * multiple);
  }
  /// Enough blocks to fill or read a large buffer quickly.
  Step everywhere(std::string kernel, std::vector<u64> numbers) const {
    return {std::move(kernel), sms() * 4, 256, std::move(numbers)};
  }

 private:
  const PointOptions& options_;
  std::vector<Point> points_;
};

void add_clock(Points& points) {
  for (const u32 blocks : {1u, points.sms()}) {
    Point point{"clock", {{"blocks", number(blocks)}}, "cycles per nanosecond"};
    point.work = static_cast<double>(points.length(1'000'000, 1));
    point.measured = {"spin", blocks, 1, {points.length(1'000'000, 1)}};
    points.add(point);
  }
}

struct Chain {
  u64 elements, stride;
  bool random, past_l1;
  u64 most_warm;  // steps
};

Point chase(const Points& points, std::string group, const Chain& chain) {
  Point point{std::move(group),
              {{"bytes", number(chain.elements * chain.stride)},
               {"stride", number(chain.stride)},
               {"order", text(chain.random ? "random" : "rising")},
               {"load", text(chain.past_l1 ? "past the L1" : "cached")}},
              "cycles per load"};
  const u64 steps = points.length(4096, 16);
  point.work = static_cast<double>(steps);
  const u64 bytes = chain.elements * chain.stride;
  const bool warms = chain.elements <= chain.most_warm;
  point.data_bytes = warms ? bytes : bytes + kEvicting;
  const u64 factor = chain.random ? kFactor : 1, offset = chain.random ? kOffset : 1;
  point.before = {points.everywhere("link", {chain.elements, chain.stride, factor, offset}),
                  warms ? points.everywhere("touch", {chain.elements, chain.stride, 0})
                        : points.everywhere("touch", {kEvicting / 32, 32, bytes})};
  // A chain that no cache holds need not go round once; what its making left in the L2 is driven out.
  const u64 warm = warms ? chain.elements : 256;
  point.measured = {"chase", 1, 1, {chain.elements, chain.stride, warm, steps, chain.past_l1 ? u64{1} : u64{0}}};
  return point;
}

/// Footprints up to `most`: for each doubling those of so many quarters.
std::vector<u64> footprints(u64 least, u64 most, const std::vector<u64>& quarters) {
  std::vector<u64> all;
  for (u64 bytes = least; bytes < most; bytes *= 2)
    for (const u64 quarter : quarters) all.push_back(bytes / 4 * quarter);
  all.push_back(most);
  return all;
}

void add_latency(Points& points) {
  const u64 warm = points.length(1'048'576, 1);  // 128 MB: twice the L2
  for (const u64 bytes : footprints(4 * kKb, 64 * kGb, {4, 5, 6, 7}))
    points.add(chase(points, "latency", {bytes / 128, 128, true, false, warm}));
  for (const u64 bytes : footprints(4 * kKb, 16 * kGb, {4, 6}))
    points.add(chase(points, "latency", {bytes / 128, 128, false, false, warm}));
  for (const u64 bytes : footprints(4 * kKb, 256 * kMb, {4, 6}))
    points.add(chase(points, "latency", {bytes / 128, 128, true, true, warm}));
}

void add_strides(Points& points) {
  for (const u64 bytes : {16 * kKb, 128 * kKb, kMb, 16 * kMb, 128 * kMb, kGb, 8 * kGb})
    for (const u64 stride : {32 * u64{1}, u64{64}, u64{128}, u64{256}, u64{512}, u64{1024}, 4 * kKb, 64 * kKb, 2 * kMb})
      if (bytes / stride >= 16)
        points.add(chase(points, "stride", {bytes / stride, stride, false, false, points.length(131072, 1)}));
}

/// One line of each page or part of a page; each lies elsewhere in its page, so that they do not meet in one set of a cache.
void add_pages(Points& points) {
  struct Reach {
    u64 apart, most;
  };
  for (const Reach reach : {Reach{64 * kKb, 2 * kGb}, Reach{512 * kKb, 8 * kGb}, Reach{2 * kMb, 126 * kGb},
                            Reach{16 * kMb, 126 * kGb}, Reach{64 * kMb, 126 * kGb}})
    for (u64 pages = 8; pages * reach.apart <= reach.most; pages *= 2)
      for (const u64 quarter : {4, 5, 6, 7})
        if (pages * reach.apart / 4 * quarter <= reach.most)
          points.add(
              chase(points, "pages", {pages / 4 * quarter, reach.apart + 128, true, true, points.length(131072, 1)}));
}

/// From each SM to each line: those of the near and of the far part of the L2.
void add_lines(Points& points) {
  constexpr u64 kLines = 48, kStride = 4 * kKb + 128, kLoads = 32;
  Point point{"lines", {{"lines", number(kLines)}, {"stride", number(kStride)}}, "cycles per load"};
  point.kind = Point::Kind::kTable;
  point.columns = kLines;
  point.work = kLoads;
  point.data_bytes = kLines * kStride;
  point.before = {points.everywhere("link", {kLines, kStride, 1, 0})};
  point.measured = {"lines", points.sms(), 1, {kLines, kStride, kLoads}};
  points.add(point);
}

/// What a stream goes through.
struct Extent {
  const char* where;
  u64 bytes;   // power of two
  bool own;    // of each block
  bool fresh;  // each round elsewhere
};

void add_stream(Points& points, const Extent& extent, const std::string& what, u32 blocks, u64 warps) {
  const u64 chunk = warps * kWarp * 64;  // four times 16 bytes for each thread
  const u64 span = extent.own ? extent.bytes * blocks : extent.bytes * (extent.fresh ? kRounds : 1);
  const u64 shift = extent.fresh ? extent.bytes : 0;
  const bool copy = what == "copy";
  Point point{"bandwidth",
              {{"what", text(what)},
               {"where", text(extent.where)},
               {"bytes", number(extent.bytes)},
               {"blocks", number(blocks)},
               {"warps", number(warps)}},
              "bytes per cycle"};
  point.kind = Point::Kind::kRate;
  point.counted = true;
  point.work = static_cast<double>(kWarp * 64 * (copy ? 2 : 1));
  point.data_bytes = (copy ? 2 * span : span) + chunk;  // a chunk that does not divide the extent goes beyond its end
  if (!extent.fresh) point.before = {points.everywhere("touch", {span / 32, 32, 0})};
  // In the L2, each block goes through all of it, from a place of its own: what it reads again is long out of its L1. In memory,
  // blocks are side by side.
  const u64 apart = std::max<u64>(1, extent.bytes / chunk / blocks) * chunk;
  const u64 own = extent.own ? extent.bytes : 0, first = extent.own ? 0 : extent.fresh ? chunk : apart;
  const u64 step = extent.fresh ? chunk * blocks : chunk;
  point.measured = {"stream_" + what,
                    blocks,
                    static_cast<u32>(warps * kWarp),
                    {own, first, step, extent.bytes - 1, points.length(kRateCycles, 1), shift}};
  if (copy) point.measured.numbers.push_back(span);
  points.add(point);
}

void add_bandwidth(Points& points) {
  const Extent l1{"L1", 64 * kKb, true, false}, l2{"L2", 16 * kMb, false, false}, memory{"memory", kGb, false, true};
  const std::pair<Extent, std::string> kinds[] = {{l1, "read"},     {l2, "read"},      {l2, "write"},   {l2, "copy"},
                                                  {memory, "read"}, {memory, "write"}, {memory, "copy"}};
  for (const auto& [extent, what] : kinds) {
    std::set<u32> counts{1, 2, 4, 8, 16, 24, 32, 48, 64, 80, 96, 112, points.sms()};
    for (const u32 sms : counts)
      if (sms <= points.sms()) add_stream(points, extent, what, sms, 32);
    for (const u64 warps : {1, 2, 4, 8, 16, 24})
      for (const u32 sms : {1u, points.sms()}) add_stream(points, extent, what, sms, warps);
    add_stream(points, extent, what, 2 * points.sms(), 24);  // two blocks for each SM
  }
}

void add_strided(Points& points) {
  struct Reach {
    const char* where;
    u64 bytes, shift;
  };
  for (const Reach reach : {Reach{"L2", 16 * kMb, 0}, Reach{"memory", 4 * kGb, 4 * kGb}})
    for (const u32 blocks : {1u, points.sms()})
      for (const u64 stride : {4, 8, 16, 32, 64, 128, 256, 512, 1024}) {
        const u64 cycles = points.length(kRateCycles, 1);
        Point point{"strided",
                    {{"where", text(reach.where)},
                     {"bytes", number(reach.bytes)},
                     {"stride", number(stride)},
                     {"blocks", number(blocks)}},
                    "words per cycle"};
        point.kind = Point::Kind::kRate;
        point.counted = true;
        point.work = kWarp;
        point.data_bytes = reach.bytes + reach.shift * (kRounds - 1);
        if (reach.shift == 0) point.before = {points.everywhere("touch", {reach.bytes / 32, 32, 0})};
        point.measured = {"strided", blocks, 1024, {stride, reach.bytes - 1, cycles, reach.shift}};
        points.add(point);
      }
}

void add_random(Points& points) {
  const char* const names[] = {"read", "update", "atomic add"};
  for (const u64 bytes : {64 * kKb, kMb, 8 * kMb, 16 * kMb, 32 * kMb, 64 * kMb, 256 * kMb, kGb, 4 * kGb, 16 * kGb,
                          32 * kGb, 64 * kGb, 128 * kGb})
    for (const u64 what : {0, 1, 2})
      for (const u32 blocks : {1u, points.sms() / 2, points.sms()}) {
        const u64 cycles = points.length(kRateCycles, 1);
        Point point{"random",
                    {{"what", text(names[what])}, {"bytes", number(bytes)}, {"blocks", number(blocks)}},
                    "words per cycle"};
        point.kind = Point::Kind::kRate;
        point.counted = true;
        point.work = kWarp;
        point.data_bytes = bytes;
        if (bytes <= 64 * kMb) point.before = {points.everywhere("touch", {bytes / 32, 32, 0})};
        point.measured = {"random_words", blocks, 1024, {bytes - 1, cycles, what}};
        points.add(point);
      }
}

void add_atomics(Points& points) {
  struct Pattern {
    const char* name;
    u64 lane, warp, block;
  };
  for (const Pattern pattern :
       {Pattern{"one word", 0, 0, 0}, Pattern{"a word of each block", 0, 0, 4096},
        Pattern{"a word of each warp", 0, 128, 4096}, Pattern{"next to each other", 4, 128, 4096},
        Pattern{"the same line in all blocks", 4, 0, 0}, Pattern{"a line of each lane", 128, 4096, 131072}})
    for (const u64 result : {0, 1})
      for (const u64 warps : {1, 32})
        for (const u32 blocks : {1u, points.sms()}) {
          const u64 cycles = points.length(kRateCycles, 1);
          Point point{"atomics",
                      {{"where", text(pattern.name)},
                       {"result", result != 0 ? "true" : "false"},
                       {"warps", number(warps)},
                       {"blocks", number(blocks)}},
                      "words per cycle"};
          point.kind = Point::Kind::kRate;
          point.counted = true;
          point.work = kWarp;
          point.data_bytes = 4 * kKb + warps * 4096 + blocks * u64{131072};
          point.before = {points.everywhere("touch", {point.data_bytes / 32, 32, 0})};
          point.measured = {"atomics",
                            blocks,
                            static_cast<u32>(warps * kWarp),
                            {pattern.lane, pattern.warp, pattern.block, result, cycles}};
          points.add(point);
        }
  const u64 count = points.length(512, 8);
  Point chain{"atomics", {{"where", text("one thread, one after the other")}}, "cycles per addition"};
  chain.work = static_cast<double>(count);
  chain.before = {points.everywhere("link", {1, 8, 1, 0})};
  chain.measured = {"atomic_chain", 1, 1, {count}};
  points.add(chain);
}

void add_instructions(Points& points) {
  const u64 count = points.length(4096, 128);
  for (const char* name : {"fadd", "fmul", "ffma", "hfma2", "dadd", "dfma",  "iadd", "imax", "imad",   "iadd64",
                           "lop3", "shf",  "prmt", "popc",  "ex2",  "rsqrt", "shfl", "cvt",  "select", "iadd_lop3"}) {
    Point point{
        "instructions", {{"instruction", text(name)}, {"chains", "1"}, {"warps", "1"}}, "cycles per instruction"};
    point.work = static_cast<double>(count);
    point.measured = {fmt::format("{}_latency", name), 1, static_cast<u32>(kWarp), {count}};
    points.add(point);
    for (const u64 warps : {1, 4, 8, 16, 32}) {
      Point rate{"instructions",
                 {{"instruction", text(name)}, {"chains", "8"}, {"warps", number(warps)}},
                 "warp instructions per cycle"};
      rate.kind = Point::Kind::kRate;
      rate.work = static_cast<double>(count * warps);
      rate.measured = {fmt::format("{}_rate", name), 1, static_cast<u32>(warps * kWarp), {count}};
      points.add(rate);
    }
  }
}

void add_shared(Points& points) {
  const u64 count = points.length(2048, 16);
  const auto rate = [&](const char* kernel, const char* what, u64 warps, std::vector<u64> numbers, u64 words,
                        bool strided) {
    Point point{"shared", {{"what", text(what)}, {"warps", number(warps)}}, "warp instructions per cycle"};
    if (strided) point.labels.emplace_back("words_apart", number(words));
    point.kind = Point::Kind::kRate;
    point.work = static_cast<double>(numbers.back() * warps);
    point.measured = {kernel, 1, static_cast<u32>(warps * kWarp), std::move(numbers)};
    points.add(point);
  };
  for (const u64 words : {0, 1, 2, 3, 4, 8, 16, 32}) {
    Point point{"shared",
                {{"what", text("loads that wait for each other")}, {"words_apart", number(words)}, {"warps", "1"}},
                "cycles per load"};
    point.work = static_cast<double>(count);
    point.measured = {"shared_chain", 1, static_cast<u32>(kWarp), {words, count}};
    points.add(point);
    for (const u64 warps : {1, 4, 8, 32}) rate("shared_rate", "loads of 4 bytes", warps, {words, count}, words, true);
  }
  for (const u64 warps : {1, 4, 8, 32}) {
    rate("shared_wide", "loads of 16 bytes", warps, {count}, 0, false);
    for (const u64 words : {0, 1, 32})
      rate("shared_atomics", "atomic additions", warps, {words, points.length(256, 4)}, words, true);
  }
  for (const u64 warps : {1, 4, 8, 16, 32}) {
    Point point{"shared", {{"what", text("barriers")}, {"warps", number(warps)}}, "cycles per barrier"};
    point.work = static_cast<double>(count);
    point.measured = {"barriers", 1, static_cast<u32>(warps * kWarp), {count}};
    points.add(point);
  }
}

struct Group {
  const char* name;
  void (*add)(Points&);
};
/// What needs little memory and time comes first.
constexpr Group kGroups[] = {{"clock", add_clock},         {"instructions", add_instructions},
                             {"shared", add_shared},       {"lines", add_lines},
                             {"bandwidth", add_bandwidth}, {"atomics", add_atomics},
                             {"latency", add_latency},     {"strided", add_strided},
                             {"random", add_random},       {"pages", add_pages},
                             {"stride", add_strides}};

/// Each round has an `out` of its own.
std::string launch_toml(const Step& step, u64 round, u64 out_words) {
  std::string arguments = fmt::format("\"data\", {{ buffer = \"out\", offset = {} }}", round * out_words);
  for (const u64 value : step.numbers) arguments += fmt::format(", {{ u64 = {} }}", value);
  return fmt::format("\n[[launch]]\nkernel = \"{}\"\ngrid = [{}]\nblock = [{}]\nargs = [{}, {{ u64 = {} }}]\n",
                     step.kernel, step.blocks, step.threads, arguments, round);
}

}  // namespace

std::vector<std::string> micro_groups() {
  std::vector<std::string> names;
  for (const Group& group : kGroups) names.emplace_back(group.name);
  return names;
}

std::vector<Point> micro_points(const PointOptions& options) {
  const std::vector<std::string> known = micro_groups();
  for (const std::string& name : options.groups)
    if (std::find(known.begin(), known.end(), name) == known.end())
      input_error("there is no group of microbenchmarks called {}; there are {}", name, fmt::join(known, ", "));
  Points points(options);
  for (const Group& group : kGroups)
    if (options.groups.empty() ||
        std::find(options.groups.begin(), options.groups.end(), group.name) != options.groups.end())
      group.add(points);
  return points.take();
}

Sample read_sample(const Point& point, const std::vector<u64>& out) {
  Sample sample;
  std::set<u64> sms;
  u64 first = ~u64{0}, last = 0;
  double rate = 0, cycles = 0, nanoseconds = 0;
  for (u32 block = 0; block < point.measured.blocks; ++block) {
    const u64* const span = &out[block * Point::kSpanWords];
    const double taken = static_cast<double>(span[1] - span[0]);
    const double work = point.counted ? point.work * static_cast<double>(span[5]) : point.work;
    rate += taken > 0 ? work / taken : 0;
    cycles += taken;
    nanoseconds += static_cast<double>(span[3] - span[2]);
    first = std::min(first, span[2]);
    last = std::max(last, span[3]);
    sms.insert(span[4]);
  }
  sample.sms = static_cast<u32>(sms.size());
  sample.nanoseconds = static_cast<double>(last - first);
  if (nanoseconds > 0) sample.megahertz = 1000 * cycles / nanoseconds;
  if (last > first) sample.overlap = nanoseconds / point.measured.blocks / sample.nanoseconds;
  if (point.kind == Point::Kind::kRate) {
    sample.values = {rate};
  } else if (point.kind == Point::Kind::kCycles) {
    sample.values = {cycles / point.measured.blocks / point.work};
  } else {
    for (u64 i = point.measured.blocks * Point::kSpanWords; i < point.out_words(); ++i)
      sample.values.push_back(static_cast<double>(out[i]) / point.work);
  }
  return sample;
}

std::string point_json(const Point& point, const std::vector<Sample>& samples) {
  std::string text = fmt::format("{{\"group\": \"{}\"", point.group);
  for (const auto& [key, value] : point.labels) text += fmt::format(", \"{}\": {}", key, value);
  text += fmt::format(", \"unit\": \"{}\", \"sms\": {}", point.unit, samples.front().sms);
  std::vector<double> spans, clocks;
  for (const Sample& sample : samples) {
    spans.push_back(sample.nanoseconds);
    clocks.push_back(sample.megahertz);
  }
  std::sort(spans.begin(), spans.end());
  std::sort(clocks.begin(), clocks.end());
  text += fmt::format(", \"ns\": {:.0f}, \"mhz\": {:.0f}", spans[spans.size() / 2], clocks[clocks.size() / 2]);
  if (point.measured.blocks > 1) text += fmt::format(", \"overlap\": {:.2f}", samples.front().overlap);
  if (point.kind == Point::Kind::kTable) {
    // The least of all rounds: what a block met on its way comes off.
    text += ", \"table\": [";
    for (u32 block = 0; block < point.measured.blocks; ++block) {
      text += block == 0 ? "[" : ", [";
      for (u64 k = 0; k < point.columns; ++k) {
        double least = 1e300;
        for (const Sample& sample : samples) least = std::min(least, sample.values[block * point.columns + k]);
        text += fmt::format("{}{:.0f}", k == 0 ? "" : ",", least);
      }
      text += "]";
    }
    return text + "]}";
  }
  text += ", \"values\": [";
  for (const Sample& sample : samples)
    text += fmt::format("{}{:.5g}", &sample == &samples.front() ? "" : ", ", sample.values.front());
  return text + "]}";
}

std::string point_toml(const Point& point, const std::string& source) {
  std::string text = fmt::format("source = \"{}\"\n", source);
  for (const auto& [name, words] :
       {std::pair{"data", (point.data_bytes + 7) / 8}, std::pair{"out", kRounds * point.out_words()}})
    text += fmt::format("\n[[buffer]]\nname = \"{}\"\ntype = \"u64\"\ncount = {}\ninit = \"zero\"\n", name, words);
  for (const Step& step : point.before) text += launch_toml(step, 0, point.out_words());
  for (u32 round = 0; round < kRounds; ++round) text += launch_toml(point.measured, round, point.out_words());
  return text;
}

Launch launch_of(const Step& step, u64 data, u64 out, u64 round) {
  Launch launch;
  launch.kernel = step.kernel;
  launch.grid = {step.blocks};
  launch.block = {step.threads};
  launch.argument(data).argument(out);
  for (const u64 number : step.numbers) launch.argument(number);
  launch.argument(round);
  return launch;
}

}  // namespace terrace::silicon
