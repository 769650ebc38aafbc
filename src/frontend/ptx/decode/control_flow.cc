// Post-dominators by Cooper, Harvey and Kennedy ("A simple, fast dominance algorithm", 2001) on the reversed graph.
// SPDX-License-Identifier: MIT
#include "frontend/ptx/decode/control_flow.h"

#include <algorithm>

namespace terrace::ptx {
namespace {

bool ends_block(const Inst& inst) {
  return inst.flow != Flow::kNext && inst.flow != Flow::kCall && inst.flow != Flow::kCallPointer;
}

std::vector<u32> targets_of(const Code& code, const Inst& inst) {
  if (inst.flow == Flow::kBranch) return {inst.target};
  if (inst.flow == Flow::kTable) {
    const auto first = code.lists.begin() + inst.list;
    return {first, first + inst.target};
  }
  return {};
}

/// Reverse postorder of the reversed graph from the exit. Blocks that cannot reach the exit (endless loops, and those that
/// end in exit or trap) are connected to it, last block first, so that they too have an order.
struct ReverseOrder {
  std::vector<u32> order;                  // exit first
  std::vector<u32> rank;                   // position in order
  std::vector<std::vector<u32>> outgoing;  // successors, with the edges added
  std::vector<bool> returns;               // can reach the exit

  explicit ReverseOrder(const ControlFlow& flow) : rank(flow.blocks.size() + 1, kNoIndex) {
    const u32 exit = static_cast<u32>(flow.blocks.size());
    std::vector<std::vector<u32>> incoming(exit + 1);
    outgoing.resize(exit + 1);
    for (u32 b = 0; b < exit; ++b) {
      outgoing[b] = flow.blocks[b].successors;
      for (const u32 s : outgoing[b]) incoming[s].push_back(b);
    }
    std::vector<bool> reached(exit + 1, false);
    std::vector<u32> postorder;
    visit(exit, incoming, reached, postorder);
    postorder.pop_back();
    returns = reached;
    for (u32 b = exit; b-- > 0;) {
      if (reached[b]) continue;
      outgoing[b].push_back(exit);
      visit(b, incoming, reached, postorder);
    }
    postorder.push_back(exit);
    order.assign(postorder.rbegin(), postorder.rend());
    for (u32 i = 0; i < order.size(); ++i) rank[order[i]] = i;
  }

  static void visit(u32 root, const std::vector<std::vector<u32>>& edges, std::vector<bool>& reached,
                    std::vector<u32>& postorder) {
    std::vector<std::pair<u32, u32>> stack{{root, 0}};
    reached[root] = true;
    while (!stack.empty()) {
      const u32 node = stack.back().first;
      if (stack.back().second == edges[node].size()) {
        postorder.push_back(node);
        stack.pop_back();
        continue;
      }
      const u32 next = edges[node][stack.back().second++];
      if (reached[next]) continue;
      reached[next] = true;
      stack.emplace_back(next, 0);
    }
  }
};

std::vector<u32> find_postdominators(const ControlFlow& flow) {
  const u32 exit = static_cast<u32>(flow.blocks.size());
  const ReverseOrder graph(flow);
  std::vector<u32> dominator(exit + 1, kNoIndex);
  dominator[exit] = exit;
  const auto meet = [&](u32 a, u32 b) {
    while (a != b) {
      while (graph.rank[a] > graph.rank[b]) a = dominator[a];
      while (graph.rank[b] > graph.rank[a]) b = dominator[b];
    }
    return a;
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (const u32 block : graph.order) {
      if (block == exit) continue;
      u32 common = kNoIndex;
      for (const u32 s : graph.outgoing[block]) {
        // Lanes that die on the way are not waited for.
        if (graph.returns[block] && !graph.returns[s]) continue;
        if (dominator[s] != kNoIndex) common = common == kNoIndex ? s : meet(common, s);
      }
      if (common != kNoIndex && dominator[block] != common) {
        dominator[block] = common;
        changed = true;
      }
    }
  }
  dominator.pop_back();
  return dominator;
}

}  // namespace

ControlFlow analyse_control_flow(const Code& code, u32 first, u32 end) {
  ControlFlow flow;
  std::vector<bool> leads(end - first + 1, false);
  leads[0] = true;
  for (u32 i = first; i < end; ++i) {
    if (ends_block(code.insts[i])) leads[i + 1 - first] = true;
    for (const u32 target : targets_of(code, code.insts[i])) leads[target - first] = true;
  }
  std::vector<u32> block_of(end - first + 1);
  for (u32 i = first; i < end; ++i) {
    if (leads[i - first]) flow.blocks.push_back({i, i, {}});
    flow.blocks.back().end = i + 1;
    block_of[i - first] = static_cast<u32>(flow.blocks.size() - 1);
  }
  const u32 exit = static_cast<u32>(flow.blocks.size());
  block_of[end - first] = exit;
  for (BasicBlock& block : flow.blocks) {
    const Inst& last = code.insts[block.end - 1];
    const bool falls_through = !ends_block(last) || last.guard != kNoGuard;
    for (const u32 target : targets_of(code, last)) block.successors.push_back(block_of[target - first]);
    if (last.flow == Flow::kReturn) block.successors.push_back(exit);
    if (falls_through) block.successors.push_back(block_of[block.end - first]);
    std::sort(block.successors.begin(), block.successors.end());
    block.successors.erase(std::unique(block.successors.begin(), block.successors.end()), block.successors.end());
  }
  flow.postdominator = find_postdominators(flow);
  return flow;
}

void set_reconvergence(Code& code, const ControlFlow& flow, u32 end) {
  for (u32 b = 0; b < flow.blocks.size(); ++b) {
    Inst& last = code.insts[flow.blocks[b].end - 1];
    if (!ends_block(last)) continue;
    const u32 meet = flow.postdominator[b];
    last.reconverge = meet == flow.blocks.size() ? end : flow.blocks[meet].first;
  }
}

}  // namespace terrace::ptx
