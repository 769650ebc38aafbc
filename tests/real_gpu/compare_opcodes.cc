// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include "real_gpu/agreement.h"
#include "tests/unit/ptx_opcode_operands.h"

namespace terrace::real_gpu {
namespace {

using Tuples = std::vector<std::array<u64, 4>>;

std::vector<u64> evaluate_on(Gpu& gpu, const ptx::Operation& operation, const Tuples& values) {
  std::string text = ptx::operation_text(operation);
  text.replace(text.find("sm_70"), 5, "sm_90");  // bf16 and its like need a later architecture
  Gpu::Module* module = gpu.load(text);
  const Gpu::Address in = gpu.allocate(values.size() * 32), out = gpu.allocate(values.size() * 8);
  gpu.upload(in, values.data(), values.size() * 32);
  Launch launch;
  launch.kernel = "k";
  launch.block = {64};
  launch.grid = {static_cast<u32>((values.size() + 63) / 64)};
  launch.argument(in).argument(out).argument(static_cast<u32>(values.size()));
  gpu.launch(module, launch);
  std::vector<u64> results(values.size());
  gpu.download(results.data(), out, results.size() * 8);
  gpu.release(in);
  gpu.release(out);
  gpu.unload(module);
  return results;
}

}  // namespace

u32 compare_opcodes(Gpu& gpu, u32 cases) {
  using namespace opcodes;
  u32 differing_rows = 0, rows = 0, refused = 0, approximate = 0;
  const std::pair<const char*, Rows> tables[] = {{"integer", integer_rows()},
                                                 {"float", float_rows()},
                                                 {"half", half_rows()},
                                                 {"convert", convert_rows()},
                                                 {"approx", approx_rows()}};
  for (const auto& [stream, table] : tables) {
    for (const Row& row : table) {
      const Tuples values = operand_tuples(row, stream, cases);
      const ptx::Operation operation = operation_of(row);
      std::vector<u64> theirs;
      const std::string refusal = ptx::refusal([&] { theirs = evaluate_on(gpu, operation, values); });
      if (!refusal.empty()) {
        ++refused;
        fmt::print("opcode {}: {}\n", row.opcode, refusal);
        continue;
      }
      ++rows;
      const std::vector<u64> ours = ptx::evaluate(operation, values);
      u32 wrong = 0, first = 0;
      for (u32 i = 0; i < cases; ++i) {
        if (ours[i] == theirs[i]) continue;
        if (wrong++ == 0) first = i;
      }
      if (wrong == 0) continue;
      const bool within = row.ulps > 0 || row.absolute > 0;
      (within ? approximate : differing_rows) += 1;
      fmt::print("opcode {}{}: {} of {} results differ, first {:x} on the GPU, {:x} here, from {:x} {:x} {:x} {:x}\n",
                 row.opcode, within ? " (approximate)" : "", wrong, cases, theirs[first], ours[first], values[first][0],
                 values[first][1], values[first][2], values[first][3]);
    }
  }
  fmt::print(
      "opcodes: {} compared on {} operand tuples each, {} differ; {} approximate ones differ; {} the GPU refuses\n",
      rows, cases, differing_rows, approximate, refused);
  return differing_rows;
}

}  // namespace terrace::real_gpu
