// The instructions in which lanes see one another, through the real reader and executor: random operands, random lanes
// that have exited, have diverged or are guarded off, random member masks that split the rest into groups, in 32- and
// 64-wide warps. References are written from the PTX ISA, one half of 32 lanes at a time, and share no code with the
// machine. What the ISA leaves undefined (a shuffle from a lane that is not a member) is not compared.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <functional>

#include "engine/rng.h"
#include "tests/unit/arith_cases.h"
#include "tests/unit/ptx_harness.h"

namespace terrace::ptx {
namespace {

#ifdef TERRACE_DCHECK
constexpr u32 kBlocks = 12;
#else
constexpr u32 kBlocks = 256;
#endif
constexpr u32 kLanes = 32, kThreads = 64, kUntouched = 0xdead'beef;

/// What one lane brings along, as the kernel reads it.
struct Operands {
  u64 a;
  u32 b, c, members;
  u32 q;     // predicate
  u32 here;  // whether it executes the instruction
  u32 unused;
};
static_assert(sizeof(Operands) == 32);
struct Outcome {
  u32 d, p;
};
using Half = std::array<Operands, kLanes>;

/// What a lane must get: nothing where the ISA does not say.
struct Expected {
  std::optional<u64> d = {}, p = {};
};
using Reference = std::function<Expected(const Half&, u32 lane)>;

struct Row {
  std::string instruction;  // of %a (64 bits) or %w (its low half), %b, %c, %m, %q, to %d and %p
  Reference reference;
};

bool takes_part(const Half& half, u32 lane, u32 other) {
  return half[other].here && (half[lane].members >> other & 1) != 0;
}
/// f(other, a value) over the lanes that meet with `lane`.
template <class F>
void each_member(const Half& half, u32 lane, F&& f) {
  for (u32 other = 0; other < kLanes; ++other)
    if (takes_part(half, lane, other)) f(other);
}

/// PTX ISA 9.1, shfl.sync: j = minLane + ..., in range when j <= maxLane (up: j >= maxLane).
Reference shuffle(const std::string& mode) {
  return [mode](const Half& half, u32 lane) -> Expected {
    const int b = static_cast<int>(half[lane].b % 32), own = static_cast<int>(lane);
    int first = 0, last = 0;  // of the lane's segment, and its clamp, digit by digit
    for (int bit = 1; bit < 32; bit *= 2) {
      const bool segment = (half[lane].c / 256 / static_cast<u32>(bit)) % 2 != 0;
      const bool clamp = (half[lane].c / static_cast<u32>(bit)) % 2 != 0;
      const bool mine = (own / bit) % 2 != 0;
      first += segment && mine ? bit : 0;
      last += (segment ? mine : clamp) ? bit : 0;
    }
    int from = own;
    if (mode == "up") from = own - b;
    if (mode == "down") from = own + b;
    if (mode == "bfly") from = own ^ b;
    if (mode == "idx") {
      from = first;
      for (int bit = 1; bit < 32; bit *= 2)
        if ((half[lane].c / 256 / static_cast<u32>(bit)) % 2 == 0 && (b / bit) % 2 != 0 && (first / bit) % 2 == 0)
          from += bit;
    }
    const bool good = mode == "up" ? from >= last : from <= last;
    if (!good) return {half[lane].a & 0xffff'ffff, 0};
    if (!takes_part(half, lane, static_cast<u32>(from))) return {{}, 1};
    return {half[static_cast<u32>(from)].a & 0xffff'ffff, 1};
  };
}

Reference vote(const std::string& mode, bool negated) {
  return [=](const Half& half, u32 lane) -> Expected {
    u32 yes = 0, no = 0, ballot = 0;
    each_member(half, lane, [&](u32 other) {
      const bool vote = (half[other].q != 0) != negated;
      ++(vote ? yes : no);
      if (vote) ballot += 1u << other;
    });
    if (mode == "ballot") return {ballot};
    return {{}, mode == "all" ? no == 0 : mode == "any" ? yes != 0 : no == 0 || yes == 0};
  };
}

Reference match(bool all, bool wide) {
  return [=](const Half& half, u32 lane) -> Expected {
    const u64 keep = wide ? ~u64{0} : 0xffff'ffff;
    u64 same = 0, members = 0;
    each_member(half, lane, [&](u32 other) {
      members += u64{1} << other;
      if ((half[other].a & keep) == (half[lane].a & keep)) same += u64{1} << other;
    });
    if (!all) return {same};
    return {same == members ? members : 0, same == members};
  };
}

Reference reduction(const std::function<i64(i64, i64)>& combine, bool is_signed) {
  return [=](const Half& half, u32 lane) -> Expected {
    std::optional<i64> total;
    each_member(half, lane, [&](u32 other) {
      const u32 bits = static_cast<u32>(half[other].a);
      const i64 value = is_signed && bits >= 0x8000'0000u ? i64{bits} - (i64{1} << 32) : i64{bits};
      total = total ? combine(*total, value) : value;
    });
    return {static_cast<u64>(*total) & 0xffff'ffff};
  };
}

std::vector<Row> rows() {
  std::vector<Row> made;
  for (const char* mode : {"up", "down", "bfly", "idx"}) {
    made.push_back({fmt::format("shfl.sync.{}.b32 %d|%p, %w, %b, %c, %m;", mode), shuffle(mode)});
    made.push_back({fmt::format("shfl.sync.{}.b32 %w, %w, %b, %c, %m; mov.b32 %d, %w;", mode),
                    [of = shuffle(mode)](const Half& half, u32 lane) { return Expected{of(half, lane).d}; }});
  }
  for (const char* mode : {"all", "any", "uni"}) {
    for (const bool negated : {false, true})
      made.push_back({fmt::format("vote.sync.{}.pred %p, {}%q, %m;", mode, negated ? "!" : ""), vote(mode, negated)});
  }
  made.push_back({"vote.sync.ballot.b32 %d, %q, %m;", vote("ballot", false)});
  made.push_back({"vote.sync.ballot.b32 %d, !%q, %m;", vote("ballot", true)});
  made.push_back({"match.any.sync.b32 %d, %w, %m;", match(false, false)});
  made.push_back({"match.any.sync.b64 %d, %a, %m;", match(false, true)});
  made.push_back({"match.all.sync.b32 %d|%p, %w, %m;", match(true, false)});
  made.push_back({"match.all.sync.b64 %d|%p, %a, %m;", match(true, true)});
  const auto least = [](i64 x, i64 y) { return x < y ? x : y; };
  const auto most = [](i64 x, i64 y) { return x > y ? x : y; };
  const auto sum = [](i64 x, i64 y) { return x + y; };
  for (const bool sign : {false, true}) {
    const char type = sign ? 's' : 'u';
    made.push_back({fmt::format("redux.sync.add.{}32 %d, %w, %m;", type), reduction(sum, sign)});
    made.push_back({fmt::format("redux.sync.min.{}32 %d, %w, %m;", type), reduction(least, sign)});
    made.push_back({fmt::format("redux.sync.max.{}32 %d, %w, %m;", type), reduction(most, sign)});
  }
  made.push_back({"redux.sync.and.b32 %d, %w, %m;", reduction([](i64 x, i64 y) { return x & y; }, false)});
  made.push_back(
      {"redux.sync.or.b32 %w, %w, %m; mov.b32 %d, %w;", reduction([](i64 x, i64 y) { return x | y; }, false)});
  made.push_back({"redux.sync.xor.b32 %d, %w, %m;", reduction([](i64 x, i64 y) { return x ^ y; }, false)});
  return made;
}

/// The forms without member masks, and activemask: all lanes that are here meet.
std::vector<Row> rows_without_members() {
  std::vector<Row> made;
  for (const char* mode : {"up", "down", "bfly", "idx"})
    made.push_back({fmt::format("shfl.{}.b32 %d|%p, %w, %b, %c;", mode), shuffle(mode)});
  for (const char* mode : {"all", "any", "uni"})
    made.push_back({fmt::format("vote.{}.pred %p, %q;", mode), vote(mode, false)});
  made.push_back({"vote.ballot.b32 %d, !%q;", vote("ballot", true)});
  made.push_back({"activemask.b32 %d;", [](const Half& half, u32 lane) -> Expected {
                    u64 here = 0;
                    each_member(half, lane, [&](u32 other) { here += u64{1} << other; });
                    return {here};
                  }});
  return made;
}

/// How the lanes that are not here got away.
enum class Away { kExited, kBranched, kGuarded };

std::string kernel_of(const Row& row, Away away) {
  std::string guarded = row.instruction;
  if (away == Away::kGuarded) {
    // Each statement gets the guard.
    std::string each;
    for (std::size_t at = 0; at < guarded.size();) {
      const std::size_t end = guarded.find(';', at);
      each += "@%here " + guarded.substr(at, end - at + 1) + " ";
      at = guarded.find_first_not_of(' ', end + 1);
    }
    guarded = each;
  }
  return module_text(
      ".visible .entry k(.param .u64 in, .param .u64 out) {\n"
      ".reg .pred %p, %q, %here; .reg .b32 %d, %w, %b, %c, %m, %t, %i; .reg .b64 %a, %in, %out, %off;\n"
      "ld.param.u64 %in, [in]; ld.param.u64 %out, [out]; mov.u32 %t, %tid.x; mov.u32 %i, %ctaid.x;\n"
      "mad.lo.u32 %i, %i, 64, %t; mul.wide.u32 %off, %i, 32; add.u64 %in, %in, %off; mul.wide.u32 %off, %i, 8;\n"
      "add.u64 %out, %out, %off; ld.global.u64 %a, [%in]; cvt.u32.u64 %w, %a; ld.global.u32 %b, [%in+8];\n"
      "ld.global.u32 %c, [%in+12]; ld.global.u32 %m, [%in+16]; ld.global.u32 %t, [%in+20]; setp.ne.u32 %q, %t, 0;\n"
      "ld.global.u32 %t, [%in+24]; setp.ne.u32 %here, %t, 0; mov.u32 %d, 0xdeadbeef; setp.eq.u32 %p, %t, 7;\n" +
      std::string(away == Away::kExited     ? "@!%here exit;\n"
                  : away == Away::kBranched ? "@!%here bra OVER;\n"
                                            : "") +
      guarded + "\nOVER:\nst.global.u32 [%out], %d; selp.u32 %t, 1, 0, %p; st.global.u32 [%out+4], %t; ret;\n}\n");
}

/// Random lanes and operands of one half; `threads` of it exist. Masks split the lanes that are here into groups.
Half random_half(Rng& rng, Away away, u32 threads, bool everyone) {
  Half half{};
  const u64 kind = rng.below(4);
  u32 group_of[kLanes], masks[3] = {};
  const u64 groups = everyone ? 1 : 1 + rng.below(3), density = 1 + rng.below(8);
  for (u32 lane = 0; lane < kLanes; ++lane) {
    Operands& o = half[lane];
    o.a = kind == 0 ? rng.next() : kind == 1 ? 7 : rng.below(3) << (kind == 2 ? 0 : 31) | rng.below(2) << 33;
    o.b = static_cast<u32>(rng.below(3) == 0 ? rng.next() : rng.below(33));
    const u32 segments[] = {0, 0x1000, 0x1800, 0x1c00, 0x1e00, 0x1f00};
    o.c = rng.below(2) == 0 ? static_cast<u32>(rng.next()) : segments[rng.below(6)] | (rng.below(2) ? 31u : 0u);
    o.q = density == 8 || rng.below(8) < density - 1;
    o.here = lane < threads && (everyone || rng.below(8) != 0);
    group_of[lane] = static_cast<u32>(rng.below(groups));
    if (o.here) masks[group_of[lane]] |= 1u << lane;
  }
  for (u32 lane = 0; lane < kLanes; ++lane) {
    Operands& o = half[lane];
    o.members = masks[group_of[lane]];
    if (away != Away::kExited) continue;
    // Lanes that have exited may be named; those of one group must name the same ones.
    for (u32 other = 0; other < kLanes; ++other)
      if (!half[other].here && (other + group_of[lane]) % 2 == 0) o.members |= 1u << other;
  }
  return half;
}

void check_row(const Row& row, Away away, bool one_group, u32 width, u32 threads) {
  Harness harness(kernel_of(row, away), width);
  Rng rng(1, row.instruction);
  std::vector<Operands> operands;
  for (u32 half = 0; half < 2 * kBlocks; ++half) {
    const u32 exist = half % 2 == 0 ? kLanes : threads - kLanes;
    Half made = random_half(rng, away, exist, half % 3 == 0);
    if (one_group) {
      for (Operands& o : made) o.members = ~0u;
    }
    operands.insert(operands.end(), made.begin(), made.end());
  }
  const auto in = harness.buffer("in", operands);
  const auto out = harness.buffer("out", std::vector<Outcome>(operands.size(), {kUntouched, 2}));
  harness.run(kBlocks, threads, in, out);
  const std::vector<Outcome> results = harness.read(out);
  Mismatches wrong(fmt::format("{} (form {}, width {})", row.instruction, static_cast<int>(away), width));
  u64 compared = 0, here = 0;
  for (std::size_t first = 0; first < operands.size(); first += kLanes) {
    Half half;
    std::copy_n(operands.begin() + static_cast<std::ptrdiff_t>(first), kLanes, half.begin());
    for (u32 lane = 0; lane < kLanes; ++lane) {
      const Outcome& got = results[first + lane];
      if ((first + lane) % kThreads >= threads) continue;  // no such thread
      if (!half[lane].here) {
        wrong.check(got.d, kUntouched, lane);
        wrong.check(got.p, away == Away::kExited ? 2 : 0, lane);
        continue;
      }
      const Expected want = row.reference(half, lane);
      if (want.d) wrong.check(got.d, *want.d, lane, half[lane].a, half[lane].b, half[lane].c, half[lane].members);
      if (want.p) wrong.check(got.p, *want.p, lane, half[lane].a, half[lane].b, half[lane].c, half[lane].members);
      ++here;
      compared += want.d || want.p;
    }
  }
  EXPECT_GT(2 * compared, here) << row.instruction << ": too little is defined for a test";
}

class PtxWarpRows : public testing::TestWithParam<u32> {
 protected:
  void check(const std::vector<Row>& table, bool one_group) {
    for (const Row& row : table) {
      for (const Away away : {Away::kExited, Away::kBranched, Away::kGuarded}) {
        check_row(row, away, one_group, GetParam(), kThreads);
        check_row(row, away, one_group, GetParam(), 50);
      }
    }
  }
};
INSTANTIATE_TEST_SUITE_P(, PtxWarpRows, testing::Values(32, 64), testing::PrintToStringParamName());

TEST_P(PtxWarpRows, LanesThatNameTheSameMembersMeet) {
  check(rows(), false);
}
TEST_P(PtxWarpRows, WithoutMembersAllLanesThatAreHereMeet) {
  check(rows_without_members(), true);
}

}  // namespace
}  // namespace terrace::ptx
