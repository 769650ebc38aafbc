// The forms of tensor instructions: their shape, the types of their operands, and which element of a matrix each lane
// holds in each register.
//
// For mma the ISA states the layout. It leaves that of wmma fragments open; here the elements lie in the order of memory,
// as many in a row for each lane as it holds; those of f64 lie as mma's. Fragments of f16 have more registers than they
// need: those repeat the elements.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <bit>
#include <optional>
#include <string_view>

#include "engine/types.h"
#include "frontend/ptx/decode/decode.h"
#include "frontend/ptx/execute/execution.h"

namespace terrace::ptx {

enum class Factor : u8 { kF16, kBf16, kTf32, kS8, kU8, kF64 };
enum class Sum : u8 { kF16, kF32, kS32, kF64 };

struct MatrixForm {
  u8 m = 0, n = 0, k = 0;
  Factor a{}, b{};
  Sum c{}, d{};
  u8 flags = 0;
};
static_assert(sizeof(MatrixForm) == 8);

// Flags.
inline constexpr u8 kOfWmma = 1;  // the layout of wmma fragments, not that of mma
inline constexpr u8 kRowMajorA = 2;
inline constexpr u8 kRowMajorB = 4;
inline constexpr u8 kSaturates = 8;

inline constexpr u32 kMatrixLanes = 32;

struct MatrixPlace {
  u32 row, col;
};

constexpr u32 elements_per_register(Factor factor) {
  const bool whole = factor == Factor::kTf32 || factor == Factor::kF64;
  return whole ? 1 : factor == Factor::kF16 || factor == Factor::kBf16 ? 2 : 4;
}
constexpr u32 elements_per_register(Sum sum) {
  return sum == Sum::kF16 ? 2 : 1;
}
constexpr u32 bytes_of_element(Factor factor) {
  return factor == Factor::kF64 ? 8 : 4 / elements_per_register(factor);
}
constexpr u32 bytes_of_element(Sum sum) {
  return sum == Sum::kF64 ? 8 : 4 / elements_per_register(sum);
}

/// A fragment's rows and columns, and how many elements and registers each lane has of it.
struct Fragment {
  u32 rows, cols, per_register, registers;
  constexpr u32 elements() const { return rows * cols / kMatrixLanes; }
};
template <class T>
constexpr Fragment fragment(u32 rows, u32 cols, T type, bool doubled = false) {
  const u32 per_register = elements_per_register(type);
  return {rows, cols, per_register, doubled ? 8 : rows * cols / kMatrixLanes / per_register};
}
/// wmma's f16 factors take eight registers in all shapes.
constexpr Fragment fragment_a(const MatrixForm& form) {
  return fragment(form.m, form.k, form.a, (form.flags & kOfWmma) != 0 && form.a == Factor::kF16);
}
constexpr Fragment fragment_b(const MatrixForm& form) {
  return fragment(form.k, form.n, form.b, (form.flags & kOfWmma) != 0 && form.b == Factor::kF16);
}
constexpr Fragment fragment_sum(const MatrixForm& form, Sum type) {
  return fragment(form.m, form.n, type);
}

/// wmma: where the element lies of which a lane holds number `element`.
constexpr MatrixPlace wmma_place(const Fragment& f, bool row_major, u32 lane, u32 element) {
  const u32 at = lane * f.elements() + element % f.elements();
  return row_major ? MatrixPlace{at / f.cols, at % f.cols} : MatrixPlace{at % f.rows, at / f.rows};
}

/// mma, PTX ISA 9.0, "Matrix Fragments for mma": lanes form groups of four.
constexpr MatrixPlace mma_place_a(const Fragment& f, u32 lane, u32 element) {
  const u32 group = lane / 4, in_group = lane % 4, reg = element / f.per_register, part = element % f.per_register;
  const u32 lower = f.rows == 16 ? reg % 2 : 0, step = f.rows == 16 ? reg / 2 : reg;
  return {group + 8 * lower, (step * 4 + in_group) * f.per_register + part};
}
constexpr MatrixPlace mma_place_b(const Fragment& f, u32 lane, u32 element) {
  const u32 reg = element / f.per_register, part = element % f.per_register;
  return {(reg * 4 + lane % 4) * f.per_register + part, lane / 4};
}
constexpr MatrixPlace mma_place_sum(u32 lane, u32 element) {
  return {lane / 4 + element / 2 * 8, lane % 4 * 2 + element % 2};
}

constexpr MatrixPlace place_in_a(const MatrixForm& form, const Fragment& f, u32 lane, u32 element) {
  return form.flags & kOfWmma ? wmma_place(f, (form.flags & kRowMajorA) != 0, lane, element)
                              : mma_place_a(f, lane, element);
}
constexpr MatrixPlace place_in_b(const MatrixForm& form, const Fragment& f, u32 lane, u32 element) {
  return form.flags & kOfWmma ? wmma_place(f, (form.flags & kRowMajorB) != 0, lane, element)
                              : mma_place_b(f, lane, element);
}
constexpr MatrixPlace place_in_sum(const MatrixForm& form, const Fragment& f, u32 lane, u32 element) {
  return form.flags & kOfWmma ? wmma_place(f, true, lane, element) : mma_place_sum(lane, element);
}

std::optional<Factor> factor_named(std::string_view name);
std::optional<Sum> sum_named(std::string_view name);
/// False: no such shape.
bool set_shape(MatrixForm& form, std::string_view name);
/// Whether wmma has the shape with factors of this type.
bool is_wmma_shape(const MatrixForm& form, Factor factor);

/// Whether all 32 lanes run, or none, in each half of the warp; if not, the warp faults.
bool whole_warps(Execution& x);

// A form and the registers of fragments among the operands of an instruction (Code::lists).
inline constexpr u32 kFormEntries = 2;
void push_form(Decoding& d, const MatrixForm& form);
MatrixForm form_at(const u32* list);
void push_fragment(Decoding& d, const Operand& operand, u32 registers, bool writes, Type type = Type::kB32);
/// wmma.mma, when .mma.sync.aligned has been taken.
void decode_wmma_mma(Decoding& d);

}  // namespace terrace::ptx
