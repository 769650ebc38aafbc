// Turning statements into decoded instructions. Each family of instructions has a file with its handlers and the
// functions that choose among them; the table in decode.cc says which function decodes an opcode.
//
// Decoding works on the function's own register numbers. When a whole function is decoded, live ranges decide where
// each register lies in the window, and the recorded operands are patched.
// SPDX-License-Identifier: MIT
#pragma once

#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/check.h"
#include "frontend/guest_memory.h"
#include "frontend/ptx/arith/float_ops.h"
#include "frontend/ptx/decode/inst.h"
#include "frontend/ptx/read/module.h"

namespace terrace::ptx {

/// A register operand whose place is not known yet.
struct Patch {
  u32 inst;
  u32 field;  // kFieldD ..., kFieldGuard, or kFieldList + position in Code::lists
  u32 reg;
};
inline constexpr u32 kFieldD = 0, kFieldA = 1, kFieldB = 2, kFieldC = 3, kFieldE = 4, kFieldGuard = 5,
                     kFieldMembers = 6, kFieldList = 16;

/// What the rest of analysis must know of an instruction: the function's registers it reads and writes.
struct Uses {
  std::vector<u32> reads, writes;
  bool elementwise = true;
};

/// Where a kernel's variables lie: .global and .const ones at virtual addresses, .shared ones at offsets (those of
/// functions under their function, those of the module under null).
/// The special register that says where the block has shared memory besides that of the program, for the toolkit's own use.
inline constexpr std::string_view kReservedShared = "%reserved_smem_offset_1";

struct Layout {
  const std::map<std::string_view, VirtAddr>& variables;
  std::map<std::pair<const Function*, std::string_view>, u32> shared;
  u32 static_shared_bytes = 0;  // dynamic shared memory starts here
};

/// Where a named variable is.
struct Location {
  Space space = Space::kGeneric;
  u64 address = 0;              // or offset
  bool frame_relative = false;  // offset in the frame's local or parameter area
};

/// A kernel being decoded, and one of its functions.
struct KernelDecoder {
  const Module& module;
  Code& code;
  Layout layout;
  u32 stride;
  std::map<std::pair<u64, bool>, u32> pool_index;
  std::map<const Function*, u32> function_index;
};
struct FunctionDecoder {
  KernelDecoder& kernel;
  const Function& function;
  u32 first = 0;           // in Code::insts
  std::vector<Uses> uses;  // per instruction
  std::vector<Patch> patches;
};

/// One statement being decoded.
class Decoding {
 public:
  Decoding(FunctionDecoder& decoder, const Statement& statement);

  const Statement& statement;
  Inst inst;
  DecodedInst facts;

  /// Removes a modifier if it is there.
  bool take(std::string_view modifier);
  /// Removes the first of the given modifiers that is there; its position, or -1.
  int take_any(std::initializer_list<std::string_view> modifiers);
  /// Removes and returns the first modifier that is left; empty when none is.
  std::string_view take_first();
  std::optional<Type> take_type();
  Type expect_type();
  std::optional<Space> take_space();
  /// .rn .rz .rm .rp, or the given default.
  Round take_rounding(Round otherwise = Round::kNearestEven);
  bool has_modifiers() const { return !modifiers_.empty(); }

  void expect_operands(u32 least, u32 most);
  u32 operands() const { return static_cast<u32>(statement.operands.size()); }
  const Operand& operand(u32 index) const { return statement.operands[index]; }

  /// A data operand: a register of as many rows as the type needs, or a constant.
  void source(u32 field, u32 operand_index, Type type);
  void source(u32 field, const Operand& operand, Type type);
  void destination(u32 field, u32 operand_index, Type type);
  void destination(u32 field, const Operand& operand, Type type);
  /// A predicate register; a source may be negated, which sets kNegateC.
  void predicate_source(u32 field, const Operand& operand);
  void predicate_destination(u32 field, u32 reg);
  /// Appends operands to Code::lists; the first one's position becomes inst.list.
  void start_list();
  void list_source(const Operand& operand, Type type);
  void list_value(u32 value);
  void list_destination(const Operand& operand, Type type);
  /// The register's width in rows, 0 for a predicate; SIM_CHECKs that it is a register.
  u32 rows(const Operand& operand) const;
  bool is_predicate(const Operand& operand) const;
  /// A row in the constant pool that holds this value in every lane.
  u32 pool_place(u64 bits, bool wide);
  void place_constant(u32 field, u64 bits, bool wide);

  /// Fills a, imm, flags for [base + offset]; returns the space of the variable named, if any.
  std::optional<Space> address(const Operand& operand);
  std::optional<Location> locate(const Operand& operand);
  u64 immediate(const Operand& operand, std::string_view what);
  u32 label(const Operand& operand);
  const Function& function() const;
  FunctionDecoder& decoder() { return decoder_; }

  template <class... Args>
  [[noreturn]] void refuse(fmt::format_string<Args...> format, Args&&... args) const {
    refuse_with(fmt::format(format, std::forward<Args>(args)...));
  }
  [[noreturn]] void refuse_with(const std::string& reason) const;
  [[noreturn]] void refuse_leftover() const;
  /// Opcode with its modifiers, as written.
  std::string spelling() const;

  Uses uses;
  /// Each lane of the result depends on the same lane of the operands only, so it may overwrite one of equal width.
  bool elementwise = true;

 private:
  void read(u32 field, u32 reg);
  void write(u32 field, u32 reg);
  void set_field(u32 field, u32 value);
  u64 constant_bits(const Operand& operand, Type type) const;

  FunctionDecoder& decoder_;
  std::vector<std::string_view> modifiers_;
};

using DecodeFunction = void (*)(Decoding&);

// The families. Each sets inst.run, operands and facts, and takes every modifier it understands.
void decode_add_sub(Decoding&);
void decode_mul(Decoding&);
void decode_mad(Decoding&);
void decode_div(Decoding&);
void decode_rem(Decoding&);
void decode_min_max(Decoding&);
void decode_neg_abs(Decoding&);
void decode_mul24(Decoding&);
void decode_sad(Decoding&);
void decode_carry(Decoding&);
void decode_logic(Decoding&);
void decode_shift(Decoding&);
void decode_funnel_shift(Decoding&);
void decode_bits(Decoding&);
void decode_bit_field(Decoding&);
void decode_lop3(Decoding&);
void decode_prmt(Decoding&);
void decode_dot_product(Decoding&);
void decode_cnot(Decoding&);
void decode_video(Decoding&);

void decode_float_add_sub(Decoding&);
void decode_float_mul(Decoding&);
void decode_fma(Decoding&);
void decode_float_div(Decoding&);
void decode_rcp_sqrt(Decoding&);
void decode_approx(Decoding&);
void decode_float_min_max(Decoding&);
void decode_float_neg_abs(Decoding&);
void decode_copysign(Decoding&);
void decode_testp(Decoding&);

void decode_setp(Decoding&);
void decode_set(Decoding&);
void decode_selp(Decoding&);
void decode_slct(Decoding&);
void decode_mov(Decoding&);
void decode_cvt(Decoding&);
void decode_cvta(Decoding&);
void decode_isspacep(Decoding&);

void decode_ld(Decoding&);
void decode_st(Decoding&);
void decode_prefetch(Decoding&);
void decode_atom(Decoding&);
void decode_tex(Decoding&);
void decode_suld(Decoding&);
void decode_sust(Decoding&);

void decode_bra(Decoding&);
void decode_brx(Decoding&);
void decode_call(Decoding&);
void decode_ret(Decoding&);
void decode_trap(Decoding&);
void decode_bar(Decoding&);
void decode_fence(Decoding&);
void decode_nothing(Decoding&);

void decode_mma(Decoding&);
void decode_wmma(Decoding&);
void decode_ldmatrix(Decoding&);
void decode_stmatrix(Decoding&);
void decode_movmatrix(Decoding&);
void decode_cp(Decoding&);
void decode_mbarrier(Decoding&);

void decode_shfl(Decoding&);
void decode_vote(Decoding&);
void decode_match(Decoding&);
void decode_activemask(Decoding&);
void decode_redux(Decoding&);
void decode_elect(Decoding&);

/// Whether the machine itself does what a function does that the module only declares (execute/device_runtime.h).
bool is_provided(const Function& function);

/// What runs when lanes fall off a function's end.
Handler end_of_function(bool entry);

/// Decodes a kernel and every function it can call. Throws InputError for what cannot be executed.
Code decode_kernel(const Module& module, const Function& kernel, const std::map<std::string_view, VirtAddr>& variables,
                   u32 stride);

}  // namespace terrace::ptx
