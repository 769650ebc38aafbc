// Decoded instructions, ready to run: a handler and its operands as places in a warp's register window. One Code holds
// a kernel and every function it can call.
// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "engine/types.h"
#include "frontend/inst_stream.h"
#include "frontend/ptx/read/module.h"

namespace terrace::ptx {

struct Execution;
struct Inst;
using Handler = void (*)(Execution&, const Inst&);

/// An operand's place: bytes from the start of the window, or with this bit from the start of the constant pool.
inline constexpr u32 kInPool = u32{1} << 31;
inline constexpr u32 kNoOperand = ~u32{0};
inline constexpr u16 kNoGuard = 0xffff;
inline constexpr u32 kNowhere = ~u32{0};  // no reconvergence point

/// What the machine does besides calling the handler.
enum class Flow : u8 {
  kNext,    // goes on with the next instruction
  kBranch,  // to target
  kTable,   // brx.idx: to one of a list of targets
  kCall,
  kCallPointer,  // to one of a list of functions
  kReturn,       // of a kernel too
  kExit,         // exit: compilers print it where the program cannot come, besides
  kTrap
};

struct Inst {
  Handler run = nullptr;
  u32 d = kNoOperand, a = kNoOperand, b = kNoOperand, c = kNoOperand, e = kNoOperand;
  u32 members = kNoOperand;  // lanes that take part, of instructions that name them
  u32 list = 0;              // further operands: Code::lists from here
  u64 imm = 0;               // offsets of addresses, immediate options
  u32 target = 0;            // of a branch; the function of a call
  u32 reconverge = kNowhere;
  u16 guard = kNoGuard;
  bool guard_negated = false;
  Flow flow = Flow::kNext;
  u8 count = 1;  // elements of a vector
  u8 mode = 0;   // meaning is the handler's
  u8 bytes = 0;  // of one element in memory
  u8 flags = 0;
};

// Flags.
inline constexpr u8 kAddress32 = 1;        // the address register is 32 bits wide
inline constexpr u8 kFrameRelative = 2;    // the address is an offset in the function's own local or parameter area
inline constexpr u8 kNegateC = 4;          // a predicate operand c is inverted
inline constexpr u8 kWideValue = 8;        // data registers are 64 bits wide
inline constexpr u8 kHasResult = 16;       // of an atomic
inline constexpr u8 kPolls = 32;           // a jump back to the start of a loop that polls (polling.h)
inline constexpr u8 kOnlyMemoryEnds = 64;  // and that nothing but a change in memory can end
inline constexpr u8 kGathers = 128;        // a barrier, or names members: waits for lanes of other strands (strands.h)

/// One argument or result of a call: words to copy between parameter areas.
struct ParamCopy {
  u32 from, to, bytes;
};

struct CallSite {
  std::vector<ParamCopy> arguments;  // offsets in the caller's area -> in the callee's
  std::vector<ParamCopy> results;    // offsets in the callee's area -> in the caller's
};

struct FunctionImage {
  const Function* source = nullptr;
  u32 first = 0, end = 0;  // in Code::insts; `end` is where returning lanes meet
  u32 rows = 0;            // of 32-bit registers, in a window
  u32 predicates = 0;
  u32 max_live = 0;  // 32-bit registers live at once, calls not counted
  u32 local_bytes = 0, param_bytes = 0;
  std::vector<u32> callees;
};

/// Of the loop that a branch jumps back in, with those around it (loop_facts.h).
struct LoopFacts {
  u32 first = kNowhere, end = 0;  // the stretch of instructions that holds it
  bool closed = true;             // nothing in it leaves it
  bool calls = false;             // functions
  bool reads_clock = false;
  std::vector<u32> rows, predicates;  // of the registers that decide what the next pass does, where a pass starts
};

struct Code {
  const Module* module = nullptr;
  std::string_view kernel;
  std::vector<Inst> insts;
  std::vector<DecodedInst> decoded;
  std::vector<const Statement*> statements;  // per instruction, null for the ends of functions
  std::vector<u32> lists;
  std::vector<u32> pool;                 // constants, each repeated over the lanes
  std::vector<FunctionImage> functions;  // 0 is the kernel
  std::vector<CallSite> calls;
  std::map<u32, LoopFacts> loops;  // by the branch that jumps back
  u32 registers_per_thread = 0;
  u32 scoreboard_names = 0;
  u32 local_bytes = 0;     // per thread, all frames of the deepest chain of calls without recursion
  bool recursive = false;  // it needs a stack beyond that
  u32 static_shared_bytes = 0;
  bool uses_grid_workspace = false;  // barriers of the whole grid
  bool uses_heap = false;            // malloc and free
  bool reads_clock = false;
  u32 rows_total = 0, predicates_total = 0, params_total = 0;  // deepest chain of calls without recursion
};

/// One of the functions that a call through a pointer may reach: Inst::target of them are in Code::lists, by address.
struct PointerCallee {
  u64 address;
  u32 function, call;  // in Code::functions and Code::calls
};
inline constexpr u32 kPointerCalleeWords = 3;
inline PointerCallee pointer_callee(const Code& code, const Inst& inst, u32 number) {
  const u32* words = code.lists.data() + inst.list + number * kPointerCalleeWords;
  return {words[0], words[1], words[2]};  // addresses of functions have 32 bits (function_address)
}

}  // namespace terrace::ptx
