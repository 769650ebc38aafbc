// What the microbenchmarks measure: each point is a kernel of micro.cu with its arguments, what runs before it, and how its
// result is read. A point is the same on a real GPU (micro.cc) and in Terrace (simulated.cc).
// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "engine/types.h"
#include "frontend/program.h"

namespace terrace::silicon {

struct Step {
  std::string kernel;
  u32 blocks = 1, threads = 1;
  std::vector<u64> numbers;  // its arguments, behind `data` and `out` and before the round
};

/// For a GPU, with the addresses there.
Launch launch_of(const Step& step, u64 data, u64 out, u64 round);

struct Point {
  /// What the number is: cycles of a block by its work; work by cycle, of all blocks; or a table of cycles by block and line.
  enum class Kind : u8 { kCycles, kRate, kTable };

  std::string group;
  std::vector<std::pair<std::string, std::string>> labels;  // what tells it from others of the group, values as in JSON
  std::string unit;
  Kind kind = Kind::kCycles;
  double work = 1;       // of a block,
  bool counted = false;  // or of each time that one of its warps goes round
  u64 data_bytes = 4096;
  std::vector<Step> before = {};
  Step measured = {};
  u64 columns = 0;  // of a table

  u64 out_words() const { return u64{measured.blocks} * (kSpanWords + columns); }
  static constexpr u64 kSpanWords = 6;  // as in device_clock.h
};

struct PointOptions {
  u32 sms = 132;
  u64 most_bytes = u64{130} << 30;           // points with more data are left out
  u64 shorter = 1;                           // divides how long the measured kernels are: a simulation has less time
  std::vector<std::string> groups;           // all when empty
  std::function<bool(const Point&)> wanted;  // all when empty
};

std::vector<std::string> micro_groups();
/// In the order of the groups. An unknown group is the user's error.
std::vector<Point> micro_points(const PointOptions& options);

/// Launches of the measured kernel: the first one warms up and does not count.
inline constexpr u32 kRounds = 6;

/// What one launch measured, out of its `out`.
struct Sample {
  std::vector<double> values;  // one; of a table, all
  u32 sms = 0;                 // that had blocks
  double nanoseconds = 0;      // from the first begin to the last end
  double megahertz = 0;        // of the SMs' clock meanwhile
  double overlap = 1;          // a block's part of that time, on average: a sum of rates is right where it is near 1
};
Sample read_sample(const Point& point, const std::vector<u64>& out);

/// A point and its samples as a line of JSON.
std::string point_json(const Point& point, const std::vector<Sample>& samples);

/// The point as a user's program (docs/your_program.md); `source` is the file with the kernels.
std::string point_toml(const Point& point, const std::string& source);

}  // namespace terrace::silicon
