// SPDX-License-Identifier: MIT
#include "random_kernels/instructions.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <string_view>

#include "engine/check.h"

namespace terrace::random_kernels {
namespace {

using Words = std::initializer_list<const char*>;

class Table {
 public:
  std::vector<Instruction> rows;

  /// "OPCODE %0, %1, ...;" for as many operands as there are types.
  void plain(const std::string& opcode, const std::string& types) {
    std::string text = opcode + " %0";
    for (u32 i = 1; i < types.size(); ++i) text += fmt::format(", %{}", i);
    add(opcode, types, text + ";");
  }
  /// An instruction whose last operand is the given constant.
  void with_constant(const std::string& opcode, const std::string& types, const std::string& constant) {
    std::string text = opcode + " %0";
    for (u32 i = 1; i < types.size(); ++i) text += fmt::format(", %{}", i);
    add(opcode + "." + constant, types, fmt::format("{}, {};", text, constant));
  }
  /// Statements in a block of their own with predicates p and q.
  void block(const std::string& name, const std::string& types, const std::string& statements) {
    add(name, types, "{ .reg .pred p, q; " + statements + " }");
  }
  /// An instruction with a predicate p for a result, shown as 1 or 0.
  void predicate(const std::string& opcode, const std::string& operands) {
    std::string text = opcode + " p";
    for (u32 i = 1; i <= operands.size(); ++i) text += fmt::format(", %{}", i);
    block(opcode, "r" + operands, text + "; selp.u32 %0, 1, 0, p;");
  }

 private:
  void add(const std::string& opcode, const std::string& types, const std::string& assembly) {
    std::string name = "op_" + opcode;
    std::replace(name.begin(), name.end(), '.', '_');
    rows.push_back({name, types, assembly});
  }
};

std::string letters(char letter, u32 count) {
  return std::string(count, letter);
}

void integers(Table& t) {
  for (const char* type : {"s32", "u32", "s64", "u64", "s16", "u16"}) {
    const std::string suffix = std::string(".") + type;
    const bool is_signed = type[0] == 's';
    const char c = suffix.ends_with("64") ? 'l' : suffix.ends_with("32") ? 'r' : 'h';
    for (const char* op : {"add", "sub", "mul.lo", "mul.hi", "min", "max", "div", "rem"})
      t.plain(op + suffix, letters(c, 3));
    for (const char* op : {"mad.lo", "mad.hi"}) t.plain(op + suffix, letters(c, 4));
    t.plain("sad" + suffix, letters(c, 4));
    if (is_signed) t.plain("abs" + suffix, letters(c, 2));
    if (is_signed) t.plain("neg" + suffix, letters(c, 2));
    t.plain("shr" + suffix, {c, c, 'a'});
    for (const char* compare : {"eq", "ne", "lt", "le", "gt", "ge"})
      t.predicate(fmt::format("setp.{}{}", compare, suffix), letters(c, 2));
    if (c == 'h') t.plain("mul.wide" + suffix, "rhh");
    if (c == 'r') t.plain("mul.wide" + suffix, "lrr");
    if (c == 'r') t.plain("mad.wide" + suffix, "lrrl");
    if (c == 'h') continue;
    for (const char* op : {"bfind", "bfind.shiftamt"}) t.plain(op + suffix, {'r', c});
    t.plain("bfe" + suffix, {c, c, 'a', 'a'});
  }
  for (const char* op : {"add.sat.s32", "sub.sat.s32"}) t.plain(op, "rrr");
  t.plain("mad.hi.sat.s32", "rrrr");
  for (const char* type : {"s32", "u32"}) {
    for (const char* half : {"lo", "hi"}) {
      t.plain(fmt::format("mul24.{}.{}", half, type), "rrr");
      t.plain(fmt::format("mad24.{}.{}", half, type), "rrrr");
      for (const char* other : {"s32", "u32"}) t.plain(fmt::format("dp2a.{}.{}.{}", half, type, other), "rrrr");
    }
    for (const char* other : {"s32", "u32"}) t.plain(fmt::format("dp4a.{}.{}", type, other), "rrrr");
  }
}

void bits(Table& t) {
  for (const char c : {'r', 'l'}) {
    const char* type = c == 'r' ? ".b32" : ".b64";
    for (const char* op : {"popc", "clz"}) t.plain(std::string(op) + type, {'r', c});
    for (const char* op : {"brev", "cnot", "not"}) t.plain(std::string(op) + type, {c, c});
    t.plain(std::string("shl") + type, {c, c, 'a'});
    t.plain(std::string("bfi") + type, {c, c, c, 'a', 'a'});
  }
  t.plain("shl.b16", "hha");
  for (const char* mode : {"l.wrap", "l.clamp", "r.wrap", "r.clamp"}) t.plain(fmt::format("shf.{}.b32", mode), "rrra");
  for (const char* mode : {"", ".f4e", ".b4e", ".rc8", ".ecl", ".ecr", ".rc16"})
    t.plain(std::string("prmt.b32") + mode, "rrrr");
  for (const char* table : {"0x96", "0xe8", "0xca", "0x1b", "0x7f", "0x80", "0x3c", "0xd5"})
    t.with_constant("lop3.b32", "rrrr", table);
  for (const char* mode : {"clamp", "wrap"}) t.plain(fmt::format("bmsk.{}.b32", mode), "raa");
  t.block("carry.add", "lrrrr", ".reg .u32 x, y; add.cc.u32 x, %1, %3; addc.u32 y, %2, %4; mov.b64 %0, {x, y};");
  t.block("carry.sub", "lrrrr", ".reg .u32 x, y; sub.cc.u32 x, %1, %3; subc.u32 y, %2, %4; mov.b64 %0, {x, y};");
  t.block("carry.mad", "lrrrr",
          ".reg .u32 x, y; mad.lo.cc.u32 x, %1, %2, %3; madc.hi.u32 y, %1, %2, %4; mov.b64 %0, {x, y};");
  t.block("carry.three", "rrrrr", ".reg .u32 x, y; add.cc.u32 x, %1, %3; addc.cc.u32 y, %2, %4; addc.u32 %0, x, y;");
  t.block("slct.s32", "rrrr", "slct.u32.s32 %0, %1, %2, %3;");
}

void floats(Table& t) {
  for (const char* mode : {".rn", ".rz", ".rm", ".rp"}) {
    for (const char* ftz : {"", ".ftz"}) {
      for (const char* sat : {"", ".sat"}) {
        for (const char* op : {"add", "sub", "mul"}) t.plain(fmt::format("{}{}{}{}.f32", op, mode, ftz, sat), "fff");
        t.plain(fmt::format("fma{}{}{}.f32", mode, ftz, sat), "ffff");
      }
      t.plain(fmt::format("div{}{}.f32", mode, ftz), "fff");
      for (const char* op : {"rcp", "sqrt"}) t.plain(fmt::format("{}{}{}.f32", op, mode, ftz), "ff");
    }
    for (const char* op : {"add", "sub", "mul", "div"}) t.plain(fmt::format("{}{}.f64", op, mode), "ddd");
    t.plain(fmt::format("fma{}.f64", mode), "dddd");
    for (const char* op : {"rcp", "sqrt"}) t.plain(fmt::format("{}{}.f64", op, mode), "dd");
  }
  for (const char* type : {"f32", "ftz.f32", "f64"}) {
    const char c = type[1] == '6' ? 'd' : 'f';
    for (const char* op : {"min", "max"}) t.plain(fmt::format("{}.{}", op, type), letters(c, 3));
    for (const char* op : {"abs", "neg"}) t.plain(fmt::format("{}.{}", op, type), letters(c, 2));
    for (const char* compare :
         {"eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan"})
      t.predicate(fmt::format("setp.{}.{}", compare, type), letters(c, 2));
  }
  for (const char* type : {"f32", "f64"}) {
    const char c = type[1] == '6' ? 'd' : 'f', clean = type[1] == '6' ? 'D' : 'F';
    t.plain(fmt::format("copysign.{}", type), {c, clean, clean});
    for (const char* test : {"finite", "infinite", "number", "notanumber", "normal", "subnormal"})
      t.predicate(fmt::format("testp.{}.{}", test, type), letters(c, 1));
    t.plain(fmt::format("set.gt.u32.{}", type), {'r', c, c});
    t.plain(fmt::format("set.leu.f32.{}", type), {'f', c, c});
  }
  t.plain("slct.f32.s32", "fffr");
  t.plain("slct.u32.f32", "rrrf");
  t.block("setp.both", "rffr",
          "setp.ne.u32 q, %3, 0; setp.lt.and.f32 p|q, %1, %2, q; selp.u32 %0, 2, 5, p; @q add.u32 %0, %0, 16;");
}

void halves(Table& t) {
  for (const char* ftz : {"", ".ftz"}) {
    for (const char* sat : {"", ".sat"}) {
      for (const char* op : {"add", "sub", "mul"}) {
        t.plain(fmt::format("{}{}{}.f16", op, ftz, sat), "hhh");
        t.plain(fmt::format("{}{}{}.f16x2", op, ftz, sat), "rrr");
      }
      t.plain(fmt::format("fma.rn{}{}.f16", ftz, sat), "hhhh");
      t.plain(fmt::format("fma.rn{}{}.f16x2", ftz, sat), "rrrr");
    }
  }
  for (const char* compare : {"lt", "geu", "nan"}) t.predicate(fmt::format("setp.{}.f16", compare), "hh");
}

void conversions(Table& t) {
  const Words integers_{"s32", "u32", "s64", "u64", "s16", "u16"};
  const auto letter = [](std::string_view type) {
    return type == "f64" ? 'd' : type == "f32" ? 'f' : type.ends_with("64") ? 'l' : type.ends_with("32") ? 'r' : 'h';
  };
  for (const char* integer : integers_) {
    for (const char* real : {"f16", "f32", "f64"}) {
      for (const char* mode : {"rni", "rzi", "rmi", "rpi"})
        t.plain(fmt::format("cvt.{}.{}.{}", mode, integer, real), {letter(integer), letter(real)});
      for (const char* mode : {"rn", "rz", "rm", "rp"})
        t.plain(fmt::format("cvt.{}.{}.{}", mode, real, integer), {letter(real), letter(integer)});
    }
    for (const char* other : integers_) {
      if (std::string_view(integer) == other) continue;
      t.plain(fmt::format("cvt.{}.{}", integer, other), {letter(integer), letter(other)});
      // .sat is legal where the result cannot hold every operand.
      const auto bits_here = std::stoul(integer + 1), bits_there = std::stoul(other + 1);
      const bool holds = integer[0] == other[0] ? bits_here >= bits_there : integer[0] == 's' && bits_here > bits_there;
      if (!holds) t.plain(fmt::format("cvt.sat.{}.{}", integer, other), {letter(integer), letter(other)});
    }
  }
  // Results and operands of 8 bits lie in wider registers.
  for (const char* narrow : {"s8", "u8"}) {
    for (const char* sat : {"", ".sat"}) {
      t.plain(fmt::format("cvt{}.{}.s32", sat, narrow), "rr");
      t.plain(fmt::format("cvt{}.{}.u64", sat, narrow), "rl");
    }
    t.plain(fmt::format("cvt.s32.{}", narrow), "rr");
    t.plain(fmt::format("cvt.rzi.{}.f32", narrow), "rf");
    t.plain(fmt::format("cvt.rn.f32.{}", narrow), "fr");
  }
  for (const char* real : {"f32", "f64"})
    for (const char* mode : {"rni", "rzi", "rmi", "rpi"})
      t.plain(fmt::format("cvt.{}.{}.{}", mode, real, real), {letter(real), letter(real)});
  for (const char* mode : {"rn", "rz", "rm", "rp"}) {
    t.plain(fmt::format("cvt.{}.f32.f64", mode), "fd");
    t.plain(fmt::format("cvt.{}.ftz.f32.f64", mode), "fd");
    t.plain(fmt::format("cvt.{}.f16.f32", mode), "hf");
    t.plain(fmt::format("cvt.{}.f16.f64", mode), "hD");
  }
  t.plain("cvt.f64.f32", "df");
  t.plain("cvt.ftz.f64.f32", "df");
  t.plain("cvt.f32.f16", "fh");
  t.plain("cvt.f64.f16", "dh");
  t.plain("cvt.sat.f32.f32", "ff");
  t.plain("cvt.sat.f64.f64", "dd");
  t.plain("cvt.rn.sat.f32.s32", "fr");
  t.plain("cvt.rn.sat.f16.f32", "hf");
}

std::string_view type_name(char letter) {
  switch (letter) {
    case 'l':
      return "u64";
    case 'f':
    case 'F':
      return "float";
    case 'd':
    case 'D':
      return "double";
    case 'h':
      return "u16";
    default:
      return "u32";
  }
}
char constraint(char letter) {
  return letter == 'a' ? 'r' : static_cast<char>(letter >= 'a' ? letter : letter - 'A' + 'a');
}

}  // namespace

const std::vector<Instruction>& instructions() {
  static const std::vector<Instruction> all = [] {
    Table table;
    integers(table);
    bits(table);
    floats(table);
    halves(table);
    conversions(table);
    return std::move(table.rows);
  }();
  return all;
}

std::string device_function(const Instruction& instruction) {
  std::string parameters, inputs;
  for (u32 i = 1; i < instruction.types.size(); ++i) {
    const char letter = instruction.types[i], name = static_cast<char>('a' + i - 1);
    const char* comma = i == 1 ? "" : ", ";
    parameters += fmt::format("{}{} {}", comma, type_name(letter), name);
    const std::string value = letter == 'F' || letter == 'D' ? fmt::format("clean({})", name) : std::string(1, name);
    inputs += fmt::format("{}\"{}\"({})", comma, constraint(letter), value);
  }
  const char result = instruction.types[0];
  return fmt::format(
      "static __device__ __forceinline__ {0} {1}({2}) {{\n  {0} result;\n  asm(\"{3}\" : \"={4}\"(result) : {5});\n"
      "  return result;\n}}\n",
      type_name(result), instruction.name, parameters, instruction.assembly, constraint(result), inputs);
}

}  // namespace terrace::random_kernels
