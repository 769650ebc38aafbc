// SPDX-License-Identifier: MIT
#include "frontend/ptx/decode/loop_facts.h"

#include <algorithm>

#include "frontend/ptx/decode/polling.h"

namespace terrace::ptx {
namespace {

constexpr u32 kNone = ~u32{0};

/// The number of each block's part of the control flow (Tarjan, "Depth-first search and linear graph algorithms", 1972).
class StronglyConnected {
 public:
  explicit StronglyConnected(const ControlFlow& flow)
      : flow_(flow), part(flow.blocks.size(), kNone), order_(part.size(), kNone), low_(part.size()) {
    for (u32 b = 0; b < part.size(); ++b)
      if (order_[b] == kNone) search(b);
  }

 private:
  const ControlFlow& flow_;

 public:
  std::vector<u32> part;

 private:
  struct Visit {
    u32 block, edge;
  };
  void enter(u32 block) {
    order_[block] = low_[block] = visited_++;
    open_.push_back(block);
    path_.push_back({block, 0});
  }
  void search(u32 root) {
    enter(root);
    while (!path_.empty()) {
      Visit& at = path_.back();
      const auto& next = flow_.blocks[at.block].successors;
      if (at.edge < next.size()) {
        const u32 from = at.block, to = next[at.edge++];
        if (to == part.size()) continue;  // the function's exit
        if (order_[to] == kNone)
          enter(to);
        else if (part[to] == kNone)
          low_[from] = std::min(low_[from], order_[to]);
        continue;
      }
      const u32 done = at.block;
      path_.pop_back();
      if (!path_.empty()) low_[path_.back().block] = std::min(low_[path_.back().block], low_[done]);
      if (low_[done] == order_[done]) close(done);
    }
  }
  void close(u32 root) {
    u32 block;
    do {
      block = open_.back();
      open_.pop_back();
      part[block] = parts_;
    } while (block != root);
    ++parts_;
  }

  std::vector<u32> order_, low_, open_;
  std::vector<Visit> path_;
  u32 visited_ = 0, parts_ = 0;
};

class Loop {
 public:
  Loop(const FunctionDecoder& decoded, const ControlFlow& flow, const std::vector<u32>& part, u32 number)
      : decoded_(decoded), code_(decoded.kernel.code), registers_(decoded.function.registers.size(), false) {
    for (u32 b = 0; b < flow.blocks.size(); ++b) {
      if (part[b] != number) continue;
      const BasicBlock& block = flow.blocks[b];
      facts_.first = std::min(facts_.first, block.first);
      facts_.end = std::max(facts_.end, block.end);
      for (u32 i = block.first; i < block.end; ++i) insts_.push_back(i);
      for (const u32 s : block.successors) facts_.closed &= s < part.size() && part[s] == number;
    }
    look_for_ways_out();
    find_deciding();
  }

  /// `live` is what the start of the loop needs.
  LoopFacts facts(const std::vector<u32>& live, const Placement& placement) const {
    LoopFacts facts = facts_;
    for (const u32 reg : live) {
      if (!registers_[reg]) continue;
      const Type type = decoded_.function.registers[reg].type;
      if (type == Type::kPred) facts.predicates.push_back(placement.place[reg]);
      for (u32 row = 0; row < rows_of(type); ++row) facts.rows.push_back(placement.place[reg] + row);
    }
    return facts;
  }

 private:
  const Uses& uses(u32 inst) const { return decoded_.uses[inst - decoded_.first]; }

  void look_for_ways_out() {
    for (const u32 i : insts_) {
      const Flow flow = code_.insts[i].flow;
      const bool calls = flow == Flow::kCall || flow == Flow::kCallPointer;
      facts_.calls |= calls || code_.statements[i]->opcode == "call";
      facts_.reads_clock |= reads_clock(code_.statements[i]);
      facts_.closed &= !calls && flow != Flow::kReturn && flow != Flow::kExit && flow != Flow::kTrap;
    }
  }

  /// What does more than to compute a register, and all that it is computed from.
  void find_deciding() {
    const auto add = [&](u32 i) {
      bool more = false;
      for (const u32 reg : uses(i).reads) {
        more |= !registers_[reg];
        registers_[reg] = true;
      }
      return more;
    };
    for (const u32 i : insts_) {
      const DecodedInst& facts = code_.decoded[i];
      if (code_.insts[i].flow != Flow::kNext || facts.action != MemoryAction::kNone || uses(i).writes.empty() ||
          facts.cls == InstClass::kBarrier || code_.statements[i]->opcode == "call")
        add(i);
    }
    for (bool more = true; more;) {
      more = false;
      for (const u32 i : insts_) {
        const auto& writes = uses(i).writes;
        if (std::any_of(writes.begin(), writes.end(), [&](u32 reg) { return registers_[reg]; })) more |= add(i);
      }
    }
  }

  const FunctionDecoder& decoded_;
  const Code& code_;
  std::vector<u32> insts_;
  std::vector<bool> registers_;  // that decide
  LoopFacts facts_;
};

}  // namespace

void note_loops(const FunctionDecoder& decoded, const ControlFlow& flow, const Liveness& liveness,
                const Placement& placement) {
  Code& code = decoded.kernel.code;
  std::vector<std::pair<u32, u32>> jumps;  // the block that jumps back, and where to
  for (u32 b = 0; b < flow.blocks.size(); ++b) {
    const u32 last = flow.blocks[b].end - 1;
    if (code.insts[last].flow != Flow::kBranch || code.insts[last].target > last) continue;
    const auto start = std::lower_bound(flow.blocks.begin(), flow.blocks.end(), code.insts[last].target,
                                        [](const BasicBlock& block, u32 inst) { return block.first < inst; });
    jumps.emplace_back(b, static_cast<u32>(start - flow.blocks.begin()));
  }
  if (jumps.empty()) return;
  const StronglyConnected connected(flow);
  std::map<u32, Loop> loops;
  for (const auto& [from, to] : jumps) {
    const u32 number = connected.part[from];
    if (connected.part[to] != number) continue;  // it only lies before
    const auto loop = loops.try_emplace(number, decoded, flow, connected.part, number).first;
    code.loops.emplace(flow.blocks[from].end - 1, loop->second.facts(liveness.live_in[to], placement));
  }
}

}  // namespace terrace::ptx
