// A PTX module as read: variables, functions, statements with their names resolved, nothing decided yet about how to
// execute them.
// SPDX-License-Identifier: MIT
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/types.h"
#include "frontend/ptx/read/types.h"

namespace terrace::ptx {

inline constexpr u32 kNoIndex = ~u32{0};

/// Who sees a name. The text of a module may consist of parts, each with a .version of its own: PTX that was compiled apart
/// and is linked here.
enum class Linkage : u8 {
  kLocal,     // its part only
  kVisible,   // all parts
  kExternal,  // likewise; it is defined elsewhere
  kWeak       // likewise; a definition without .weak is preferred
};

/// An initialiser's word that holds the address of another variable.
struct Relocation {
  u64 offset = 0;  // in the variable's bytes
  u32 bytes = 8;
  std::string_view symbol;
  i64 addend = 0;
  bool generic = false;
  u32 line = 0;
};

struct Variable {
  std::string_view name;
  Space space = Space::kGlobal;
  Type type = Type::kNone;
  u32 align = 1;
  u64 bytes = 0;
  bool dynamic = false;   // .extern .shared x[]
  bool declared = false;  // .extern without a definition here
  Linkage linkage = Linkage::kLocal;
  u32 part = 0;
  u32 line = 0;
  std::vector<u8> initial;  // may be shorter than bytes: the rest is zero
  std::vector<Relocation> relocations;
  u64 offset = 0;  // .param and .local: in the function's own area
};

enum class OperandKind : u8 {
  kRegister,  // index
  kInteger,   // bits
  kFloat,     // bits, is_f64
  kSpecial,   // name, component
  kVariable,  // of the function: index; offset
  kSymbol,    // of the module, a function or a label: name; offset
  kAddress,   // [base + offset]: parts[0] is the base, absent when the address is a number
  kVector,    // {parts}
  kList,      // (parts), of a call
  kSink       // _
};

struct Operand {
  OperandKind kind = OperandKind::kSink;
  bool negated = false;  // !predicate
  bool minus = false;    // -register, of video instructions
  bool is_f64 = false;
  char component = 0;  // x, y, z of a special register
  u32 index = kNoIndex;
  u32 pair = kNoIndex;  // p|q: the register after the bar, or kNoIndex
  u32 scope = 0;        // labels are looked up from here
  u64 bits = 0;
  i64 offset = 0;
  std::string_view name;
  std::string_view part;  // register.part, of video instructions: b0, h1, b3210
  std::vector<Operand> parts;
};

struct Statement {
  std::string_view opcode;
  std::vector<std::string_view> modifiers;
  u32 guard = kNoIndex;
  bool guard_negated = false;
  u32 line = 0;
  u32 source_file = 0, source_line = 0;  // what it was compiled from (.loc); 0 if the module does not say
  std::string_view text;                 // as written, for messages
  std::vector<Operand> operands;
};

struct Register {
  std::string name;
  Type type = Type::kNone;
};

struct Label {
  std::string_view name;
  u32 scope = 0;
  u32 target = 0;  // index of the statement it stands before
};

/// .branchtargets and .calltargets lists, which brx.idx names.
struct TargetList {
  std::string_view name;
  std::vector<Operand> targets;
};

struct Function {
  std::string_view name;
  bool entry = false;
  bool defined = false;
  Linkage linkage = Linkage::kLocal;
  u32 part = 0;
  u32 line = 0;
  std::vector<u32> returns, params;  // in variables
  std::vector<Variable> variables;   // .param and .local ones, of all scopes
  u64 param_bytes = 0;               // area of the .param variables, incoming ones first
  u64 local_bytes = 0;
  u32 required_threads = 0;  // .reqntid
  u32 max_threads = 0;       // .maxntid
  std::vector<Register> registers;
  std::vector<Statement> body;
  std::vector<Label> labels;
  std::vector<u32> scope_parents;  // scope -> enclosing scope; 0 is the function's own
  std::vector<TargetList> target_lists;
  u32 end_line = 0;
};

struct Module {
  std::string file;
  std::unique_ptr<std::string> text;  // every string_view points into it,
  std::deque<std::string> renamed;    // or into the names of what is local to a part, where another part has the same
  std::vector<Variable> variables;
  std::vector<Function> functions;
  std::map<std::string_view, u32> variable_index, function_index;
  std::map<u64, std::string_view> source_files;  // .file, by number and part
};

/// Statement::source_file of a file's number in its part.
constexpr u32 source_file_of(u32 part, u64 number) {
  return part << 16 | static_cast<u32>(number & 0xffff);
}

/// What a pointer to a function holds: a number that is the address of nothing else. `index` is that in Module::functions.
constexpr u64 function_address(u32 index) {
  constexpr u64 kFirst = 0x0300'0000;  // behind the windows of shared and local memory, far below global memory
  return kFirst + 16 * (u64{index} + 1);
}

/// Lanes that shuffles, votes and %laneid see: what WARP_SZ means to a program, on a machine of that warp width.
constexpr u32 warp_size_of(u32 warp_width) {
  return warp_width < 32 ? warp_width : 32;
}

/// Where a statement stands, for messages: FILE:LINE of the source that it was compiled from and the line of the PTX, or
/// only the latter when the module does not say.
std::string place_of(const Module& module, const Statement& statement);

/// Reads a module, and links its parts if there are several; `file` is what messages call it, `warp_size` the value of WARP_SZ. Throws InputError with file and
/// line.
Module parse_module(std::string file, std::string text, u32 warp_size = 32);

}  // namespace terrace::ptx
