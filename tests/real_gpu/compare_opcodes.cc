// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <bit>
#include <cmath>

#include "real_gpu/agreement.h"
#include "tests/unit/ptx_opcode_operands.h"

namespace terrace::real_gpu {
namespace {

using Tuples = std::vector<std::array<u64, 4>>;

std::vector<u64> evaluate_on(Gpu& gpu, const ptx::Operation& operation, const Tuples& values) {
  std::string text = ptx::operation_text(operation);
  // bf16 and its like need a later architecture; what came with that one, u16x2 for example, its version of PTX too.
  text.replace(text.find("sm_70"), 5, "sm_90");
  text.replace(text.find("7.8"), 3, "8.0");
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

/// How far an approximate result may be from the exact one: the PTX ISA's bounds, second column of the table in docs/ptx.md.
struct Bound {
  double relative = 0, absolute = 0;
  bool stated = true;  // false: the ISA allows anything for this operand
};
constexpr double kPi = 3.14159265358979323846;

Bound isa_bound(const std::string& opcode, const std::array<u64, 4>& operands) {
  const auto operand = [&](u32 i) { return std::fabs(std::bit_cast<float>(static_cast<u32>(operands[i]))); };
  if (opcode.starts_with("sin") || opcode.starts_with("cos")) {
    if (operand(0) <= 2 * kPi) return {0, std::exp2(-20.5)};
    return {0, std::exp2(-14.7), operand(0) <= 100 * kPi};
  }
  if (opcode.starts_with("lg2")) return {std::exp2(-22), std::exp2(-22)};
  if (opcode.starts_with("tanh")) return {std::exp2(-11), 0};
  if (opcode.starts_with("rsqrt.approx.f64")) return {0, 0, false};
  if (opcode.ends_with(".ftz.f64")) return {std::exp2(-19), 0};  // 20 bits of fraction: no bound is stated beside that
  if (opcode.starts_with("rsqrt")) return {std::exp2(-22.9), 0};
  if (opcode.starts_with("rcp") || opcode.starts_with("sqrt")) return {std::exp2(-23), 0};
  if (opcode.starts_with("div.approx")) return {std::exp2(-22), 0, operand(1) >= 0x1p-126 && operand(1) <= 0x1p126};
  return {std::exp2(-22), 0};  // ex2, div.full: two units in the last place
}

double value_of(const opcodes::Row& row, u64 bits) {
  return row.result.bits == 64 ? std::bit_cast<double>(bits) : std::bit_cast<float>(static_cast<u32>(bits));
}

/// `exact` is the exact result rounded to nearest, hence half a unit; below the normal numbers a unit is absolute.
bool within(const opcodes::Row& row, const Bound& bound, u64 theirs, u64 exact) {
  if (theirs == exact) return true;
  const double a = value_of(row, theirs), b = value_of(row, exact);
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  if (std::isinf(a) || std::isinf(b)) return false;
  const bool wide = row.result.bits == 64;
  const double unit = std::exp2(wide ? -52 : -23), least = std::exp2(wide ? -1073 : -148);
  return std::fabs(a - b) <= std::fmax((bound.relative + unit / 2) * std::fabs(b) + bound.absolute, least);
}

/// What became of an instruction's results on the GPU, beside ours or beside the exact ones.
struct Tally {
  u32 wrong = 0, first = 0, no_bound = 0;
};

Tally tally(const opcodes::Row& row, const Tuples& values, const std::vector<u64>& theirs,
            const std::vector<u64>& ours) {
  const bool approximate = row.ulps > 0 || row.absolute > 0;
  Tally result;
  for (u32 i = 0; i < values.size(); ++i) {
    if (ours[i] == theirs[i]) continue;
    if (approximate) {
      const Bound bound = isa_bound(row.opcode, values[i]);
      result.no_bound += !bound.stated;
      if (!bound.stated || within(row, bound, theirs[i], row.reference(values[i].data()))) continue;
    }
    if (result.wrong++ == 0) result.first = i;
  }
  return result;
}

}  // namespace

u32 compare_opcodes(Gpu& gpu, u32 cases, const std::string& only, u64 seed) {
  using namespace opcodes;
  u32 differing_rows = 0, rows = 0, refused = 0, differs = 0;
  const std::pair<const char*, Rows> tables[] = {{"integer", integer_rows()}, {"float", float_rows()},
                                                 {"half", half_rows()},       {"half compare", half_compare_rows()},
                                                 {"convert", convert_rows()}, {"approx", approx_rows()},
                                                 {"video", video_rows()}};
  for (const auto& [stream, table] : tables) {
    if (!only.empty() && only != stream) continue;
    for (const Row& row : table) {
      const Tuples values = operand_tuples(row, stream, cases, seed);
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
      const Tally found = tally(row, values, theirs, ours);
      differs += ours != theirs && found.wrong == 0;
      if (found.no_bound > 0) fmt::print("opcode {}: {} results without a bound differ\n", row.opcode, found.no_bound);
      if (found.wrong == 0) continue;
      ++differing_rows;
      const auto& from = values[found.first];
      fmt::print("opcode {}: {} of {} results are wrong, first {:x} on the GPU, {:x} here, from {:x} {:x} {:x} {:x}\n",
                 row.opcode, found.wrong, cases, theirs[found.first], ours[found.first], from[0], from[1], from[2],
                 from[3]);
    }
  }
  fmt::print(
      "opcodes: {} compared on {} operand tuples each, {} are wrong; {} approximate ones have other bits within the "
      "bounds "
      "of the ISA; {} the GPU refuses\n",
      rows, cases, differing_rows, differs, refused);
  return differing_rows;
}

}  // namespace terrace::real_gpu
