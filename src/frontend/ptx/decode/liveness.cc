// SPDX-License-Identifier: MIT
#include "frontend/ptx/decode/liveness.h"

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>

namespace terrace::ptx {
namespace {

using Bits = std::vector<u64>;

bool test(const Bits& set, u32 i) {
  return (set[i / 64] >> (i % 64)) & 1;
}
void insert(Bits& set, u32 i) {
  set[i / 64] |= u64{1} << (i % 64);
}
void remove(Bits& set, u32 i) {
  set[i / 64] &= ~(u64{1} << (i % 64));
}

class LivenessAnalysis {
 public:
  LivenessAnalysis(const FunctionDecoder& decoded, const ControlFlow& flow)
      : decoded_(decoded), flow_(flow), registers_(static_cast<u32>(decoded.function.registers.size())) {}

  Liveness run() {
    find_live_out();
    result_.ranges.resize(registers_);
    result_.live_after.resize(decoded_.uses.size());
    result_.live_in.resize(flow_.blocks.size());
    for (u32 b = 0; b < flow_.blocks.size(); ++b) walk_block(b);
    return std::move(result_);
  }

 private:
  const Uses& uses(u32 inst) const { return decoded_.uses[inst - decoded_.first]; }
  bool guarded(u32 inst) const { return decoded_.kernel.code.insts[inst].guard != kNoGuard; }

  void step_back(u32 inst, Bits& live) const {
    // A guarded write leaves the old value in some lanes: it does not end the range above it.
    if (!guarded(inst))
      for (const u32 reg : uses(inst).writes) remove(live, reg);
    for (const u32 reg : uses(inst).reads) insert(live, reg);
  }

  void find_live_out() {
    const u64 words = (registers_ + 63) / 64;
    const u32 count = static_cast<u32>(flow_.blocks.size());
    live_in_.assign(count, Bits(words));
    live_out_.assign(count, Bits(words));
    std::vector<std::vector<u32>> predecessors(count + 1);
    for (u32 b = 0; b < count; ++b)
      for (const u32 s : flow_.blocks[b].successors) predecessors[s].push_back(b);
    std::vector<u32> work(count);
    std::iota(work.begin(), work.end(), 0);
    std::vector<bool> queued(count, true);
    while (!work.empty()) {
      const u32 b = work.back();
      work.pop_back();
      queued[b] = false;
      Bits& out = live_out_[b];
      for (const u32 s : flow_.blocks[b].successors) {
        if (s == count) continue;
        for (u64 w = 0; w < words; ++w) out[w] |= live_in_[s][w];
      }
      Bits live = out;
      for (u32 i = flow_.blocks[b].end; i-- > flow_.blocks[b].first;) step_back(i, live);
      if (live == live_in_[b]) continue;
      live_in_[b] = std::move(live);
      for (const u32 p : predecessors[b]) {
        if (!queued[p]) work.push_back(p);
        queued[p] = true;
      }
    }
  }

  void extend(u32 reg, u32 from, u32 to) {
    auto& range = result_.ranges[reg];
    range.start = std::min(range.start, from);
    range.end = std::max(range.end, to);
  }
  template <class F>
  void for_each(const Bits& set, F&& f) const {
    for (u32 w = 0; w < set.size(); ++w)
      for (u64 rest = set[w]; rest != 0; rest &= rest - 1) f(w * 64 + static_cast<u32>(std::countr_zero(rest)));
  }
  u32 rows(u32 reg) const { return rows_of(decoded_.function.registers[reg].type); }

  void walk_block(u32 b) {
    const u32 first = flow_.blocks[b].first - decoded_.first, end = flow_.blocks[b].end - decoded_.first;
    for_each(live_in_[b], [&](u32 reg) {
      extend(reg, 2 * first, 2 * first);
      result_.live_in[b].push_back(reg);
    });
    for_each(live_out_[b], [&](u32 reg) { extend(reg, 2 * end - 1, 2 * end - 1); });
    Bits live = live_out_[b];
    u32 weight = 0;
    for_each(live, [&](u32 reg) { weight += rows(reg); });
    for (u32 i = end; i-- > first;) {
      const Uses& u = decoded_.uses[i];
      result_.live_after[i] = weight;
      u32 with_results = weight;
      for (const u32 reg : u.writes) with_results += test(live, reg) ? 0 : rows(reg);
      result_.max_live = std::max(result_.max_live, with_results);
      // A result may take the place of an operand that dies here only if lanes do not mix and widths agree.
      bool early = !u.elementwise || u.writes.size() > 1;
      for (const u32 r : u.reads)
        for (const u32 w : u.writes) early |= rows(r) != 0 && rows(r) != rows(w);
      for (const u32 reg : u.writes) extend(reg, 2 * i + (early ? 0 : 1), 2 * i + 1);
      for (const u32 reg : u.reads) extend(reg, 2 * i, 2 * i);
      step_back(i + decoded_.first, live);
      weight = 0;
      for_each(live, [&](u32 reg) { weight += rows(reg); });
      result_.max_live = std::max(result_.max_live, weight);
    }
  }

  const FunctionDecoder& decoded_;
  const ControlFlow& flow_;
  u32 registers_;
  std::vector<Bits> live_in_, live_out_;
  Liveness result_;
};

}  // namespace

Liveness analyse_liveness(const FunctionDecoder& decoded, const ControlFlow& flow) {
  return LivenessAnalysis(decoded, flow).run();
}

Placement place_registers(const Function& function, const Liveness& liveness) {
  const u32 count = static_cast<u32>(function.registers.size());
  Placement result;
  result.place.assign(count, kNoIndex);
  std::vector<u32> order;
  for (u32 r = 0; r < count; ++r)
    if (liveness.ranges[r].start <= liveness.ranges[r].end) order.push_back(r);
  std::sort(order.begin(), order.end(), [&](u32 a, u32 b) {
    return std::pair(liveness.ranges[a].start, a) < std::pair(liveness.ranges[b].start, b);
  });
  // For predicates, words and double words, per place: the first half step at which it is free again. A place is never
  // given to another width: ranges are those of one thread, and a lane that has left a loop may need what it has while
  // others still run there and write their lanes of the same place. A lane's double word lies where two lanes' words do.
  std::array<std::vector<u32>, 3> free;
  for (const u32 reg : order) {
    const auto range = liveness.ranges[reg];
    auto& places = free[rows_of(function.registers[reg].type)];
    const auto found = std::find_if(places.begin(), places.end(), [&](u32 end) { return end <= range.start; });
    result.place[reg] = static_cast<u32>(found - places.begin());
    if (found == places.end())
      places.push_back(range.end + 1);
    else
      *found = range.end + 1;
  }
  // Double words first, so that they are aligned.
  const u32 pairs = static_cast<u32>(free[2].size());
  for (const u32 reg : order) {
    const u32 rows = rows_of(function.registers[reg].type);
    if (rows == 2) result.place[reg] *= 2;
    if (rows == 1) result.place[reg] += 2 * pairs;
  }
  result.rows = 2 * pairs + static_cast<u32>(free[1].size());
  result.predicates = static_cast<u32>(free[0].size());
  return result;
}

}  // namespace terrace::ptx
