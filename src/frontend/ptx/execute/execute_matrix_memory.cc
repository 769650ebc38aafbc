// Loads and stores of matrices: ldmatrix and stmatrix, whose layout the ISA states, wmma.load and wmma.store, and
// movmatrix, which transposes without memory.
// SPDX-License-Identifier: MIT
#include <cstring>

#include "frontend/ptx/execute/access.h"
#include "frontend/ptx/execute/matrix_form.h"

namespace terrace::ptx {
namespace {

constexpr u32 kRowBytes = 16, kRows = 8;  // of an 8x8 matrix of 16-bit elements

/// Where lane's element 0 or 1 of an 8x8 matrix lies.
MatrixPlace small_place(u32 lane, u32 element, bool transposed) {
  const MatrixPlace place{lane / 4, lane % 4 * 2 + element};
  return transposed ? MatrixPlace{place.col, place.row} : place;
}

/// The rows of all matrices: lane l of a half gives the address of row l % 8 of matrix l / 8. Lanes that give none stand
/// in for those that do, so that the banks see each row once.
bool find_rows(Execution& x, const Inst& i, bool writes, Access& access) {
  if (!whole_warps(x)) return false;
  find_addresses(x, i);
  const u32 given = i.count * kRows;
  for (u32 lane = 0; lane < x.stride; ++lane)
    x.effect.address[lane] = x.effect.address[lane / kMatrixLanes * kMatrixLanes + lane % given];
  if (!resolve(x, i, kRowBytes, writes, access)) return false;
  if (x.effect.space == MemorySpace::kShared) return true;
  x.machine.raise_fault(x, static_cast<u32>(std::countr_zero(x.active)),
                        "gives an address outside of shared memory; such matrices lie in shared memory only");
  return false;
}

void run_ldmatrix(Execution& x, const Inst& i) {
  Access access;
  x.effect.action = MemoryAction::kLoad;
  if (!find_rows(x, i, false, access)) return;
  const u32* places = x.launch.code->lists.data() + i.list;
  const bool transposed = (i.flags & kHasResult) != 0;
  x.each([&](u32 lane) {
    const u32 base = lane / kMatrixLanes * kMatrixLanes;
    for (u32 m = 0; m < i.count; ++m) {
      if (places[m] == kNoOperand) continue;
      u16 halves[2];
      for (u32 e = 0; e < 2; ++e) {
        const MatrixPlace place = small_place(lane - base, e, transposed);
        std::memcpy(&halves[e], access.pointer[base + m * kRows + place.row] + place.col * 2, 2);
      }
      x.dst<u32>(places[m])[lane] = halves[0] | u32{halves[1]} << 16;
    }
  });
}

void run_stmatrix(Execution& x, const Inst& i) {
  x.machine.disturb();
  Access access;
  x.effect.action = MemoryAction::kStore;
  if (!find_rows(x, i, true, access)) return;
  const u32* places = x.launch.code->lists.data() + i.list;
  const bool transposed = (i.flags & kHasResult) != 0;
  x.each([&](u32 lane) {
    const u32 base = lane / kMatrixLanes * kMatrixLanes;
    for (u32 m = 0; m < i.count; ++m) {
      const u32 word = x.src<u32>(places[m])[lane];
      for (u32 e = 0; e < 2; ++e) {
        const MatrixPlace place = small_place(lane - base, e, transposed);
        const u16 half = static_cast<u16>(word >> 16 * e);
        std::memcpy(access.pointer[base + m * kRows + place.row] + place.col * 2, &half, 2);
      }
    }
  });
}

void run_movmatrix(Execution& x, const Inst& i) {
  if (!whole_warps(x)) return;
  const auto* from = x.src<u32>(i.a);
  u32 result[64] = {};
  for (u32 lane = 0; lane < x.stride; ++lane) {
    for (u32 e = 0; e < 2; ++e) {
      const MatrixPlace place = small_place(lane % kMatrixLanes, e, true);
      const u32 source = lane / kMatrixLanes * kMatrixLanes + place.row * 4 + place.col / 2;
      result[lane] |= (from[source] >> place.col % 2 * 16 & 0xffff) << 16 * e;
    }
  }
  x.write_each<u32>(i.d, [&](u32 lane) { return result[lane]; });
}

void decode_small_matrix(Decoding& d, const Operand& data, const Operand& where, bool loads) {
  if (!d.take("sync") || !d.take("aligned")) d.refuse("needs .sync.aligned");
  const bool shape = d.take("m8n8");
  const int number = d.take_any({"x1", "x2", "x4"});
  if (d.take("trans")) d.inst.flags |= kHasResult;
  const Space space = d.take_space().value_or(Space::kGeneric);
  if (!shape || number < 0 || !d.take("b16")) d.refuse("only m8n8 with .x1, .x2 or .x4 and .b16 is supported");
  if (space != Space::kGeneric && space != Space::kShared) d.refuse("acts on shared memory only");
  d.elementwise = false;
  d.inst.count = static_cast<u8>(1u << number);
  d.start_list();
  push_fragment(d, data, d.inst.count, loads);
  const auto named = d.address(where);
  d.inst.mode = static_cast<u8>(space == Space::kGeneric && named ? *named : space);
  d.facts.action = loads ? MemoryAction::kLoad : MemoryAction::kStore;
  // Whatever the address register, the rows lie in shared memory, or the warp faults.
  d.facts.space = MemorySpace::kShared;
  d.facts.lane_bytes = kRowBytes;
  d.inst.run = loads ? run_ldmatrix : run_stmatrix;
}

/// How a lane's elements of a wmma matrix lie in memory: so many pieces of so many bytes.
struct Pieces {
  u32 count, bytes;
};

bool is_f64(const MatrixForm& form) {
  return form.m == 8 && form.n == 8;
}

/// What wmma.load and wmma.store move: fragment, layout, and the bytes of an element in memory.
struct MovedFragment {
  Fragment fragment;
  bool row_major;      // in memory
  bool order_is_rows;  // lanes hold the elements in this order
  u32 element_bytes;
};
MovedFragment moved(const Inst& i, const u32* list) {
  const MatrixForm form = form_at(list);
  const bool row_major = (i.flags & kHasResult) != 0;
  switch (list[kFormEntries]) {
    case 'a':
      return {fragment_a(form), row_major, is_f64(form) || row_major, bytes_of_element(form.a)};
    case 'b':
      return {fragment_b(form), row_major, !is_f64(form) && row_major, bytes_of_element(form.b)};
    default:
      return {fragment_sum(form, form.c), row_major, true, bytes_of_element(form.c)};
  }
}

constexpr u32 kMostPieces = 16, kPieceBytes = 16;

/// In one place, or an element in each row (or column).
bool lies_together(const MovedFragment& f) {
  return f.row_major == f.order_is_rows;
}

Pieces pieces_of(const MovedFragment& f) {
  if (!lies_together(f)) return {f.fragment.elements(), f.element_bytes};
  const u32 bytes = f.fragment.elements() * f.element_bytes;
  return bytes <= kPieceBytes ? Pieces{1, bytes} : Pieces{bytes / kPieceBytes, kPieceBytes};
}

/// Where each lane's first piece begins, and how far apart its pieces are.
struct LanePieces {
  std::array<u64, 64> first, step;
};

/// All lanes of a warp must give the same address and the same stride (ISA); if they do not, the warp faults.
bool lanes_agree(Execution& x, const Inst& i) {
  const auto* stride = i.b == kNoOperand ? nullptr : x.src<u32>(i.b);
  bool agree = true;
  x.each([&](u32 lane) {
    const u32 leader = lane / kMatrixLanes * kMatrixLanes;
    const bool same =
        x.effect.address[lane] == x.effect.address[leader] && (stride == nullptr || stride[lane] == stride[leader]);
    if (!same) x.machine.raise_fault(x, lane, "gives another address or stride of the matrix than lane 0 of its warp");
    agree &= same;
  });
  return agree;
}

LanePieces locate_pieces(const Execution& x, const Inst& i, const MovedFragment& f) {
  LanePieces pieces;
  const u32 tight = f.row_major ? f.fragment.cols : f.fragment.rows;
  for (u32 lane = 0; lane < x.stride; ++lane) {
    const MatrixPlace place = wmma_place(f.fragment, f.order_is_rows, lane % kMatrixLanes, 0);
    const u64 stride = i.b == kNoOperand ? u64{tight} : u64{x.src<u32>(i.b)[lane]};
    const u64 at = f.row_major ? place.row * stride + place.col : place.col * stride + place.row;
    pieces.first[lane] = x.effect.address[lane] + at * f.element_bytes;
    pieces.step[lane] = lies_together(f) ? kPieceBytes : stride * f.element_bytes;
  }
  return pieces;
}

/// Finds all pieces of all lanes and gives them to each(piece, access); false: the warp faulted. The effect then says what
/// was touched.
template <class F>
bool for_each_piece(Execution& x, const Inst& i, const MovedFragment& f, bool writes, F&& each) {
  find_addresses(x, i);
  if (!lanes_agree(x, i)) return false;
  const LanePieces lanes = locate_pieces(x, i, f);
  const Pieces pieces = pieces_of(f);
  std::array<u64, 64> resolved = lanes.first;
  for (u32 p = 0; p < pieces.count; ++p) {
    for (u32 lane = 0; lane < x.stride; ++lane) x.effect.address[lane] = lanes.first[lane] + p * lanes.step[lane];
    Access access;
    if (!resolve(x, i, pieces.bytes, writes, access)) return false;
    if (access.local_lanes != 0) {
      x.machine.raise_fault(x, static_cast<u32>(std::countr_zero(access.local_lanes)),
                            "gives an address in local memory; matrices lie in global or shared memory");
      return false;
    }
    each(p, access);
    if (p == 0) resolved = x.effect.address;
  }
  x.effect.address = resolved;
  x.effect.words = static_cast<u8>(pieces.count);
  x.effect.stride = lanes.step[static_cast<u32>(std::countr_zero(x.active))];
  return true;
}

using LaneBytes = std::array<std::array<u8, kMostPieces * 4>, 64>;  // what each lane's elements are

void run_wmma_load(Execution& x, const Inst& i) {
  if (!whole_warps(x)) return;
  x.effect.action = MemoryAction::kLoad;
  const u32* list = x.launch.code->lists.data() + i.list;
  const MovedFragment f = moved(i, list);
  const Pieces pieces = pieces_of(f);
  LaneBytes bytes;
  const bool good = for_each_piece(x, i, f, false, [&](u32 piece, const Access& access) {
    x.each([&](u32 lane) {
      std::memcpy(bytes[lane].data() + u64{piece} * pieces.bytes, access.pointer[lane], pieces.bytes);
    });
  });
  if (!good) return;
  const u32* places = list + kFormEntries + 1;
  if (f.element_bytes == 8) {
    for (u32 r = 0; r < f.fragment.registers; ++r) {
      if (places[r] == kNoOperand) continue;
      x.write_each<u64>(places[r], [&](u32 lane) {
        u64 element;
        std::memcpy(&element, bytes[lane].data() + u64{r} * 8, 8);
        return element;
      });
    }
    return;
  }
  const u32 held = f.fragment.elements() / f.fragment.per_register;  // registers that are not repetitions
  for (u32 r = 0; r < f.fragment.registers; ++r) {
    if (places[r] == kNoOperand) continue;
    x.write_each<u32>(places[r], [&](u32 lane) {
      u32 word;
      std::memcpy(&word, bytes[lane].data() + r % held * 4, 4);
      return word;
    });
  }
}

void run_wmma_store(Execution& x, const Inst& i) {
  if (!whole_warps(x)) return;
  x.machine.disturb();
  x.effect.action = MemoryAction::kStore;
  const u32* list = x.launch.code->lists.data() + i.list;
  const MovedFragment f = moved(i, list);
  const Pieces pieces = pieces_of(f);
  const u32* places = list + kFormEntries + 1;
  LaneBytes bytes;
  for (u32 r = 0; r < f.fragment.registers; ++r) {
    const u32 step = f.element_bytes == 8 ? 8 : 4;
    for (u32 lane = 0; lane < x.stride; ++lane) {
      const u64 held = step == 8 ? u64{x.src<u64>(places[r])[lane]} : x.src<u32>(places[r])[lane];
      std::memcpy(bytes[lane].data() + u64{r} * step, &held, step);
    }
  }
  for_each_piece(x, i, f, true, [&](u32 piece, const Access& access) {
    x.each([&](u32 lane) {
      const u8* from = bytes[lane].data() + u64{piece} * pieces.bytes;
      if ((access.global_lanes >> lane) & 1)
        x.stores.push(x.memory, {x.effect.address[lane]}, from, pieces.bytes);
      else
        std::memcpy(access.pointer[lane], from, pieces.bytes);
    });
  });
}

/// Shape, matrix and type of wmma.load or wmma.store.
MatrixForm take_moved_form(Decoding& d, char matrix) {
  MatrixForm form;
  form.flags = kOfWmma;
  const std::string_view shape = d.take_first(), type = d.take_first();
  bool good = set_shape(form, shape) && !d.has_modifiers();
  if (matrix == 'a' || matrix == 'b') {
    const auto factor = factor_named(type);
    good = good && factor && is_wmma_shape(form, *factor);
    if (good) form.a = form.b = *factor;
  } else {
    const auto sum = sum_named(type);
    good = good && sum &&
           ((is_wmma_shape(form, Factor::kF16) && sum != Sum::kF64) ||
            (is_wmma_shape(form, Factor::kTf32) && sum == Sum::kF32) ||
            (is_wmma_shape(form, Factor::kF64) && sum == Sum::kF64));
    if (good) form.c = form.d = *sum;
  }
  if (!good)
    d.refuse(
        "this form is not supported; there are m16n16k16, m32n8k16 and m8n32k16 of f16, bf16, s8 and u8 with sums of "
        "f16, f32 and s32, m16n16k8 of tf32 with sums of f32, and m8n8k4 of f64");
  return form;
}

void decode_wmma_move(Decoding& d, bool loads) {
  const int matrix = loads ? d.take_any({"a", "b", "c"}) : d.take("d") ? 2 : -1;
  const int layout = d.take_any({"row", "col"});
  if (matrix < 0 || layout < 0) d.refuse("needs {} and .row or .col", loads ? ".a, .b or .c" : ".d");
  const Space space = d.take_space().value_or(Space::kGeneric);
  if (space != Space::kGeneric && space != Space::kShared && space != Space::kGlobal)
    d.refuse("acts on global and shared memory only");
  const char name = "abc"[matrix];
  const MatrixForm form = take_moved_form(d, name);
  d.expect_operands(2, 3);
  d.elementwise = false;
  if (layout == 0) d.inst.flags |= kHasResult;
  d.start_list();
  push_form(d, form);
  d.list_value(static_cast<u32>(name));
  const u32 registers = name == 'a'   ? fragment_a(form).registers
                        : name == 'b' ? fragment_b(form).registers
                                      : fragment_sum(form, form.c).registers;
  push_fragment(d, d.operand(loads ? 0 : 1), registers, loads, is_f64(form) ? Type::kF64 : Type::kB32);
  const auto named = d.address(d.operand(loads ? 1 : 0));
  if (d.operands() == 3) d.source(kFieldB, 2, Type::kU32);
  d.inst.mode = static_cast<u8>(space == Space::kGeneric && named ? *named : space);
  const Space resolved = static_cast<Space>(d.inst.mode);
  d.facts.cls = InstClass::kMemory;
  d.facts.action = loads ? MemoryAction::kLoad : MemoryAction::kStore;
  d.facts.space = resolved == Space::kShared   ? MemorySpace::kShared
                  : resolved == Space::kGlobal ? MemorySpace::kGlobal
                                               : MemorySpace::kGeneric;
  d.facts.lane_bytes = kPieceBytes;
  d.inst.run = loads ? run_wmma_load : run_wmma_store;
}

}  // namespace

void decode_ldmatrix(Decoding& d) {
  d.expect_operands(2, 2);
  decode_small_matrix(d, d.operand(0), d.operand(1), true);
}

void decode_stmatrix(Decoding& d) {
  d.expect_operands(2, 2);
  decode_small_matrix(d, d.operand(1), d.operand(0), false);
}

void decode_movmatrix(Decoding& d) {
  if (!d.take("sync") || !d.take("aligned") || !d.take("m8n8") || !d.take("trans") || !d.take("b16"))
    d.refuse("only .sync.aligned.m8n8.trans.b16 is supported");
  d.expect_operands(2, 2);
  d.elementwise = false;
  d.destination(kFieldD, 0, Type::kB32);
  d.source(kFieldA, 1, Type::kB32);
  d.inst.run = run_movmatrix;
}

void decode_wmma(Decoding& d) {
  const int kind = d.take_any({"load", "store", "mma"});
  if (kind < 0 || !d.take("sync") || !d.take("aligned")) d.refuse("needs .load, .store or .mma, and .sync.aligned");
  if (kind == 2) return decode_wmma_mma(d);
  decode_wmma_move(d, kind == 0);
}

}  // namespace terrace::ptx
