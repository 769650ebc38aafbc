// SPDX-License-Identifier: MIT
#include "frontend/ptx/execute/matrix_form.h"

#include <algorithm>

#include "frontend/ptx/execute/machine.h"

namespace terrace::ptx {
namespace {

struct ShapeName {
  std::string_view name;
  u8 m, n, k;
};
constexpr std::array kShapes = std::to_array<ShapeName>({{"m8n8k4", 8, 8, 4},
                                                         {"m16n8k4", 16, 8, 4},
                                                         {"m16n8k8", 16, 8, 8},
                                                         {"m16n8k16", 16, 8, 16},
                                                         {"m16n8k32", 16, 8, 32},
                                                         {"m8n8k16", 8, 8, 16},
                                                         {"m16n16k8", 16, 16, 8},
                                                         {"m16n16k16", 16, 16, 16},
                                                         {"m32n8k16", 32, 8, 16},
                                                         {"m8n32k16", 8, 32, 16}});

constexpr std::array<std::pair<std::string_view, Factor>, 6> kFactors{{{"f16", Factor::kF16},
                                                                       {"bf16", Factor::kBf16},
                                                                       {"tf32", Factor::kTf32},
                                                                       {"s8", Factor::kS8},
                                                                       {"u8", Factor::kU8},
                                                                       {"f64", Factor::kF64}}};
constexpr std::array<std::pair<std::string_view, Sum>, 4> kSums{
    {{"f16", Sum::kF16}, {"f32", Sum::kF32}, {"s32", Sum::kS32}, {"f64", Sum::kF64}}};

template <class T, std::size_t N>
std::optional<T> find(const std::array<std::pair<std::string_view, T>, N>& names, std::string_view name) {
  const auto found = std::find_if(names.begin(), names.end(), [&](const auto& entry) { return entry.first == name; });
  return found == names.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace

std::optional<Factor> factor_named(std::string_view name) {
  return find(kFactors, name);
}
std::optional<Sum> sum_named(std::string_view name) {
  return find(kSums, name);
}

bool set_shape(MatrixForm& form, std::string_view name) {
  const auto found = std::find_if(kShapes.begin(), kShapes.end(), [&](const ShapeName& s) { return s.name == name; });
  if (found == kShapes.end()) return false;
  form.m = found->m;
  form.n = found->n;
  form.k = found->k;
  return true;
}

bool is_wmma_shape(const MatrixForm& form, Factor factor) {
  if (factor == Factor::kF64) return form.m == 8 && form.n == 8 && form.k == 4;
  if (factor == Factor::kTf32) return form.m == 16 && form.n == 16 && form.k == 8;
  return form.k == 16 && form.m * form.n == 256;
}

bool whole_warps(Execution& x) {
  for (u32 base = 0; base < x.stride; base += kMatrixLanes) {
    const u32 lanes = static_cast<u32>(x.active >> base);
    if (lanes == 0 || lanes == ~u32{0}) continue;
    x.machine.raise_fault(x, base + static_cast<u32>(std::countr_zero(lanes)),
                          fmt::format("executes it with {} of 32 lanes; an instruction for matrices needs all of them",
                                      std::popcount(lanes)));
    return false;
  }
  return true;
}

void push_form(Decoding& d, const MatrixForm& form) {
  const u64 bits = std::bit_cast<u64>(form);
  d.list_value(static_cast<u32>(bits));
  d.list_value(static_cast<u32>(bits >> 32));
}

MatrixForm form_at(const u32* list) {
  return std::bit_cast<MatrixForm>(u64{list[0]} | u64{list[1]} << 32);
}

void push_fragment(Decoding& d, const Operand& operand, u32 registers, bool writes, Type type) {
  const bool vector = operand.kind == OperandKind::kVector;
  const u32 given = vector ? static_cast<u32>(operand.parts.size()) : 1;
  if (given != registers) d.refuse("{} registers are given for a fragment of {}", given, registers);
  for (u32 r = 0; r < registers; ++r) {
    const Operand& part = vector ? operand.parts[r] : operand;
    writes ? d.list_destination(part, type) : d.list_source(part, type);
  }
}

}  // namespace terrace::ptx
