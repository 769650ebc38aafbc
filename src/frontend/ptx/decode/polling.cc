// SPDX-License-Identifier: MIT
#include "frontend/ptx/decode/polling.h"

#include <algorithm>
#include <set>

namespace terrace::ptx {
namespace {

/// The blocks from which a jump back can be reached without passing the start of the loop, and the start itself.
std::vector<u32> blocks_of_loop(const std::vector<std::vector<u32>>& predecessors, u32 start, u32 last) {
  std::vector<u32> blocks{start};
  std::vector<bool> known(predecessors.size(), false);
  known[start] = true;
  if (!known[last]) blocks.push_back(last);
  known[last] = true;
  for (u64 at = 1; at < blocks.size(); ++at) {
    for (const u32 p : predecessors[blocks[at]]) {
      if (known[p]) continue;
      known[p] = true;
      blocks.push_back(p);
    }
  }
  return blocks;
}

class Loop {
 public:
  Loop(const FunctionDecoder& decoded, const ControlFlow& flow, const std::vector<u32>& blocks) : decoded_(decoded) {
    for (const u32 b : blocks)
      for (u32 i = flow.blocks[b].first; i < flow.blocks[b].end; ++i) insts_.push_back(i);
  }

  /// Whether it may change anything but registers, by more than an atomic that leaves memory as it is.
  bool acts() const {
    return any([&](u32 i) {
      const DecodedInst& facts = decoded_.kernel.code.decoded[i];
      const Inst& inst = decoded_.kernel.code.insts[i];
      return facts.action == MemoryAction::kStore || facts.cls == InstClass::kBarrier || inst.flow == Flow::kCall ||
             statement(i)->opcode == "call" || reads_clock(statement(i));
    });
  }
  bool sleeps() const {
    return any([&](u32 i) { return statement(i)->opcode == "nanosleep"; });
  }
  /// Whether what it writes reaches a branch, an address or an atomic of the next pass. `live` is what the start needs.
  bool carries(const std::vector<u32>& live) const {
    const std::set<u32> deciding = deciding_registers();
    return any([&](u32 i) {
      return std::any_of(uses(i).writes.begin(), uses(i).writes.end(), [&](u32 reg) {
        return deciding.contains(reg) && std::binary_search(live.begin(), live.end(), reg);
      });
    });
  }

 private:
  template <class F>
  bool any(F&& f) const {
    return std::any_of(insts_.begin(), insts_.end(), f);
  }
  const Uses& uses(u32 inst) const { return decoded_.uses[inst - decoded_.first]; }
  const Statement* statement(u32 inst) const { return decoded_.kernel.code.statements[inst]; }

  std::set<u32> deciding_registers() const {
    std::set<u32> deciding;
    const auto add = [&](u32 i) {
      const u64 before = deciding.size();
      deciding.insert(uses(i).reads.begin(), uses(i).reads.end());
      return deciding.size() != before;
    };
    for (const u32 i : insts_) {
      const Code& code = decoded_.kernel.code;
      if (code.insts[i].flow != Flow::kNext || code.decoded[i].action != MemoryAction::kNone) add(i);
    }
    for (bool more = true; more;) {
      more = false;
      for (const u32 i : insts_) {
        const auto& writes = uses(i).writes;
        if (std::any_of(writes.begin(), writes.end(), [&](u32 reg) { return deciding.contains(reg); })) more |= add(i);
      }
    }
    return deciding;
  }

  const FunctionDecoder& decoded_;
  std::vector<u32> insts_;
};

}  // namespace

bool reads_clock(const Statement* statement) {
  return statement != nullptr &&
         std::any_of(statement->operands.begin(), statement->operands.end(), [](const Operand& o) {
           return o.kind == OperandKind::kSpecial &&
                  (o.name.starts_with("%clock") || o.name.starts_with("%globaltimer"));
         });
}

void mark_polling_loops(const FunctionDecoder& decoded, const ControlFlow& flow, const Liveness& liveness) {
  Code& code = decoded.kernel.code;
  std::vector<std::vector<u32>> predecessors(flow.blocks.size() + 1);
  for (u32 b = 0; b < flow.blocks.size(); ++b)
    for (const u32 s : flow.blocks[b].successors) predecessors[s].push_back(b);
  for (u32 b = 0; b < flow.blocks.size(); ++b) {
    const u32 last = flow.blocks[b].end - 1;
    if (code.insts[last].flow != Flow::kBranch || code.insts[last].target > last) continue;
    const auto start = std::lower_bound(flow.blocks.begin(), flow.blocks.end(), code.insts[last].target,
                                        [](const BasicBlock& block, u32 inst) { return block.first < inst; });
    const u32 header = static_cast<u32>(start - flow.blocks.begin());
    const Loop loop(decoded, flow, blocks_of_loop(predecessors, header, b));
    if (loop.acts()) continue;
    const bool only_memory = !loop.carries(liveness.live_in[header]);
    if (only_memory) code.insts[last].flags |= kOnlyMemoryEnds;
    if (only_memory || loop.sleeps()) code.insts[last].flags |= kPolls;
  }
}

}  // namespace terrace::ptx
