// Tensor instructions: D = A B + C on fragments that the lanes of a warp hold together.
// SPDX-License-Identifier: MIT
#include <algorithm>

#include "frontend/ptx/arith/fused_sum.h"
#include "frontend/ptx/execute/execution.h"
#include "frontend/ptx/execute/machine.h"
#include "frontend/ptx/execute/matrix_form.h"

namespace terrace::ptx {
namespace {

constexpr u32 kMostElements = 512;  // of the largest factors: those of m16n8k32 and m32n8k16

/// The elements of a matrix as bits, row by row.
struct Matrix {
  u32 cols = 0;
  std::array<u32, kMostElements> bits;
  u32& at(MatrixPlace place) { return bits[place.row * cols + place.col]; }
};

u32 mask_of(const Fragment& f) {
  return ~u32{0} >> (32 - 32 / f.per_register);
}

/// f(register row, element of the lane, lane) for all that a fragment holds.
template <class F>
void for_each_element(const Fragment& fragment, F&& f) {
  for (u32 r = 0; r < fragment.registers; ++r)
    for (u32 part = 0; part < fragment.per_register; ++part)
      for (u32 lane = 0; lane < kMatrixLanes; ++lane) f(r, r * fragment.per_register + part, lane);
}

template <class Place>
void gather(const Execution& x, const u32* places, const Fragment& f, u32 base, Place&& place, Matrix& matrix) {
  matrix.cols = f.cols;
  const u32 width = 32 / f.per_register;
  for_each_element(f, [&](u32 r, u32 element, u32 lane) {
    const u32 word = x.src<u32>(places[r])[base + lane];
    matrix.at(place(lane, element)) = word >> (element % f.per_register * width) & mask_of(f);
  });
}

template <class Place>
void scatter(const Execution& x, const u32* places, const Fragment& f, u32 base, Place&& place, Matrix& matrix) {
  const u32 width = 32 / f.per_register;
  for_each_element(f, [&](u32 r, u32 element, u32 lane) {
    if (places[r] == kNoOperand) return;
    auto& word = x.dst<u32>(places[r])[base + lane];
    const u32 shift = element % f.per_register * width;
    word = (word & ~(mask_of(f) << shift)) | matrix.at(place(lane, element)) << shift;
  });
}

i64 integer_of(u32 bits, Factor type) {
  return type == Factor::kS8 ? i64{static_cast<i8>(bits)} : i64{bits};
}

void multiply_integers(const MatrixForm& form, const Matrix& a, const Matrix& b, Matrix& sums) {
  for (u32 row = 0; row < form.m; ++row) {
    for (u32 col = 0; col < form.n; ++col) {
      u32& sum = sums.bits[row * form.n + col];
      i64 total = static_cast<i32>(sum);
      for (u32 k = 0; k < form.k; ++k)
        total += integer_of(a.bits[row * form.k + k], form.a) * integer_of(b.bits[k * form.n + col], form.b);
      if (form.flags & kSaturates) total = std::clamp<i64>(total, INT32_MIN, INT32_MAX);
      sum = static_cast<u32>(total);
    }
  }
}

NumberShape shape_of(Factor factor) {
  return factor == Factor::kF16 ? kShapeF16 : factor == Factor::kBf16 ? kShapeBf16 : kShapeTf32;
}

/// tf32 takes the upper 19 bits of its register and ignores the others.
void unpack_all(const Matrix& matrix, u32 count, Factor type, std::array<Unpacked, kMostElements>& numbers) {
  const u32 below = type == Factor::kTf32 ? 13 : 0;
  for (u32 i = 0; i < count; ++i) numbers[i] = unpack(matrix.bits[i] >> below, shape_of(type));
}

void multiply_floats(const MatrixForm& form, const Matrix& a, const Matrix& b, Matrix& sums) {
  std::array<Unpacked, kMostElements> left, right;
  unpack_all(a, u32{form.m} * form.k, form.a, left);
  unpack_all(b, u32{form.k} * form.n, form.b, right);
  const NumberShape factor = shape_of(form.a), accumulator = form.c == Sum::kF16 ? kShapeF16 : kShapeF32;
  for (u32 row = 0; row < form.m; ++row) {
    for (u32 col = 0; col < form.n; ++col) {
      u32& sum = sums.bits[row * form.n + col];
      FusedSum fused;
      for (u32 k = 0; k < form.k; ++k)
        fused.add_product(left[row * form.k + k], right[k * form.n + col], factor.precision);
      fused.add(unpack(sum, accumulator), accumulator.precision);
      sum = form.d == Sum::kF16 ? fused_to_f16(fused.total()) : fused_to_f32(fused.total());
    }
  }
}

void run_mma(Execution& x, const Inst& i) {
  if (!whole_warps(x)) return;
  const u32* list = x.launch.code->lists.data() + i.list;
  const MatrixForm form = form_at(list);
  const Fragment of_a = fragment_a(form), of_b = fragment_b(form), of_c = fragment_sum(form, form.c),
                 of_d = fragment_sum(form, form.d);
  const u32* d = list + kFormEntries;
  const u32* a = d + of_d.registers;
  const u32* b = a + of_a.registers;
  const u32* c = b + of_b.registers;
  for (u32 base = 0; base < x.stride; base += kMatrixLanes) {
    if ((x.active >> base & 1) == 0) continue;
    Matrix left, right, sums;
    gather(x, a, of_a, base, [&](u32 lane, u32 e) { return place_in_a(form, of_a, lane, e); }, left);
    gather(x, b, of_b, base, [&](u32 lane, u32 e) { return place_in_b(form, of_b, lane, e); }, right);
    gather(x, c, of_c, base, [&](u32 lane, u32 e) { return place_in_sum(form, of_c, lane, e); }, sums);
    form.d == Sum::kS32 ? multiply_integers(form, left, right, sums) : multiply_floats(form, left, right, sums);
    scatter(x, d, of_d, base, [&](u32 lane, u32 e) { return place_in_sum(form, of_d, lane, e); }, sums);
  }
}

/// m8n8k4 of f64, of mma and wmma: one element of each factor in each lane, laid out as a register of the others. Sums are chains of fused
/// multiply-adds in the order of k, each rounded.
template <Round R>
void run_mma_f64(Execution& x, const Inst& i) {
  if (!whole_warps(x)) return;
  const u32* list = x.launch.code->lists.data() + i.list;
  constexpr u32 kD = 0, kA = 2, kB = 3, kC = 4, kLengthK = 4, kSums = 2;
  for (u32 base = 0; base < x.stride; base += kMatrixLanes) {
    if ((x.active >> base & 1) == 0) continue;
    const auto* a = x.src<double>(list[kA]) + base;
    const auto* b = x.src<double>(list[kB]) + base;
    std::array<double, kMatrixLanes * kSums> sums;
    for (u32 lane = 0; lane < kMatrixLanes; ++lane) {
      for (u32 e = 0; e < kSums; ++e) {
        const MatrixPlace place = mma_place_sum(lane, e);
        double sum = from_raw<double>(x.src<double>(list[kC + e])[base + lane]);
        for (u32 k = 0; k < kLengthK; ++k)
          sum = fma<R, false>(from_raw<double>(a[place.row * 4 + k]), from_raw<double>(b[place.col * 4 + k]), sum);
        sums[lane * kSums + e] = sum;
      }
    }
    for (u32 e = 0; e < kSums; ++e) {
      if (list[kD + e] == kNoOperand) continue;
      for (u32 lane = 0; lane < kMatrixLanes; ++lane)
        x.dst<double>(list[kD + e])[base + lane] = to_raw(sums[lane * kSums + e]);
    }
  }
}

bool is_integer(Factor factor) {
  return factor == Factor::kS8 || factor == Factor::kU8;
}

/// Shapes and types that mma has here.
bool is_mma_form(const MatrixForm& form) {
  if (form.c != form.d || form.n != 8) return false;
  const bool m16 = form.m == 16;
  switch (form.a) {
    case Factor::kF16:
      return form.b == form.a && (form.d == Sum::kF16 || form.d == Sum::kF32) && m16 && (form.k == 8 || form.k == 16);
    case Factor::kBf16:
      return form.b == form.a && form.d == Sum::kF32 && m16 && (form.k == 8 || form.k == 16);
    case Factor::kTf32:
      return form.b == form.a && form.d == Sum::kF32 && m16 && (form.k == 4 || form.k == 8);
    case Factor::kF64:
      return false;  // decoded apart
    default:
      return is_integer(form.b) && form.d == Sum::kS32 && (form.k == 16 || (m16 && form.k == 32));
  }
}

bool is_wmma_form(const MatrixForm& form) {
  if (form.a != form.b || !is_wmma_shape(form, form.a)) return false;
  if (is_integer(form.a)) return form.c == Sum::kS32 && form.d == Sum::kS32;
  const auto is_half_or_single = [](Sum sum) { return sum == Sum::kF16 || sum == Sum::kF32; };
  if (form.a == Factor::kF16) return is_half_or_single(form.c) && is_half_or_single(form.d);
  return form.c == Sum::kF32 && form.d == Sum::kF32;
}

/// The types behind shape and layouts: d, a, b, c; or d, c when the factors are f16 (wmma).
bool set_types(MatrixForm& form, const std::vector<std::string_view>& names) {
  const bool short_form = names.size() == 2;
  if (!short_form && names.size() != 4) return false;
  const auto d = sum_named(names[0]), c = sum_named(names.back());
  const auto a = factor_named(short_form ? "f16" : names[1]), b = factor_named(short_form ? "f16" : names[2]);
  if (!d || !c || !a || !b) return false;
  form.d = *d;
  form.c = *c;
  form.a = *a;
  form.b = *b;
  return true;
}

/// How long the pipeline works on it: 8-bit factors count half, tf32 twice.
u16 work_of(const MatrixForm& form) {
  const u32 products = u32{form.m} * form.n * form.k;
  return static_cast<u16>(products * 2 / elements_per_register(form.a));
}

void take_registers(Decoding& d, const MatrixForm& form) {
  d.expect_operands(4, 4);
  d.elementwise = false;
  d.start_list();
  push_form(d, form);
  push_fragment(d, d.operand(0), fragment_sum(form, form.d).registers, true);
  push_fragment(d, d.operand(1), fragment_a(form).registers, false);
  push_fragment(d, d.operand(2), fragment_b(form).registers, false);
  push_fragment(d, d.operand(3), fragment_sum(form, form.c).registers, false);
  d.facts.tensor_work = work_of(form);
  d.inst.run = run_mma;
}

std::vector<std::string_view> take_rest(Decoding& d) {
  std::vector<std::string_view> rest;
  while (d.has_modifiers()) rest.push_back(d.take_first());
  return rest;
}

/// Multiply-accumulates of f16 that take a tensor core as long: of f64 it makes a sixteenth (A100, white paper).
constexpr u16 kWorkF64 = 8 * 8 * 4 * 16;

void decode_mma_f64(Decoding& d, Round round) {
  d.inst.run = round == Round::kNearestEven ? run_mma_f64<Round::kNearestEven>
               : round == Round::kZero      ? run_mma_f64<Round::kZero>
               : round == Round::kDown      ? run_mma_f64<Round::kDown>
                                            : run_mma_f64<Round::kUp>;
  d.expect_operands(4, 4);
  d.elementwise = false;
  d.start_list();
  for (u32 number = 0; number < 4; ++number)
    push_fragment(d, d.operand(number), number == 0 || number == 3 ? 2 : 1, number == 0, Type::kF64);
  d.facts.tensor_work = kWorkF64;
}

}  // namespace

void decode_mma(Decoding& d) {
  if (!d.take("sync") || !d.take("aligned")) d.refuse("needs .sync.aligned");
  if (d.take("m8n8k4")) {
    const Round round = d.take_rounding();
    const std::vector<std::string_view> types = take_rest(d);
    if (types != std::vector<std::string_view>{"row", "col", "f64", "f64", "f64", "f64"})
      d.refuse("this form is not supported; m8n8k4 has .row.col and f64");
    return decode_mma_f64(d, round);
  }
  MatrixForm form;
  if (d.take("satfinite")) form.flags |= kSaturates;
  const bool row_col = d.take("row") && d.take("col");
  std::vector<std::string_view> rest = take_rest(d);
  const bool shaped = !rest.empty() && set_shape(form, rest[0]);
  if (shaped) rest.erase(rest.begin());
  const bool good = row_col && shaped && rest.size() == 4 && set_types(form, rest) && is_mma_form(form) &&
                    (is_integer(form.a) || !(form.flags & kSaturates));
  if (!good)
    d.refuse(
        "this form is not supported; there are .row.col with m16n8k8 and m16n8k16 of f16 and bf16, m16n8k4 and m16n8k8 "
        "of tf32, m8n8k16, m16n8k16 and m16n8k32 of s8 and u8, m8n8k4 of f64");
  take_registers(d, form);
}

void decode_wmma_mma(Decoding& d) {
  MatrixForm form;
  form.flags = kOfWmma;
  const auto is_layout = [](std::string_view word) { return word == "row" || word == "col"; };
  if (d.take("m8n8k4")) {
    const Round round = d.take_rounding();
    const std::vector<std::string_view> types = take_rest(d);
    const bool known = types.size() == 6 && is_layout(types[0]) && is_layout(types[1]) &&
                       std::all_of(types.begin() + 2, types.end(), [](std::string_view t) { return t == "f64"; });
    if (!known) d.refuse("this form is not supported; m8n8k4 has two layouts and f64");
    return decode_mma_f64(d, round);  // fragments lie alike, whatever the layout in memory was
  }
  if (d.take("satfinite")) form.flags |= kSaturates;
  std::vector<std::string_view> rest = take_rest(d);
  bool good = rest.size() >= 3 && is_layout(rest[0]) && is_layout(rest[1]) && set_shape(form, rest[2]);
  if (good) {
    if (rest[0] == "row") form.flags |= kRowMajorA;
    if (rest[1] == "row") form.flags |= kRowMajorB;
    rest.erase(rest.begin(), rest.begin() + 3);
    good = set_types(form, rest) && is_wmma_form(form) && (is_integer(form.a) || !(form.flags & kSaturates));
  }
  if (!good)
    d.refuse(
        "this form is not supported; there are m16n16k16, m32n8k16 and m8n32k16 of f16, bf16, s8 and u8, m16n16k8 "
        "of tf32, and m8n8k4 of f64");
  take_registers(d, form);
}

}  // namespace terrace::ptx
