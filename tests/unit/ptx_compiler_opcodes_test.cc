// The lists of docs/ptx.md: every opcode string that compilers print is tried on the decoder, with operands of its
// types.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "support/paths.h"
#include "tests/unit/ptx_harness.h"

namespace terrace::ptx {
namespace {

using Words = std::vector<std::string>;

Words split(const std::string& text, char at) {
  Words words;
  std::istringstream in(text);
  for (std::string word; std::getline(in, word, at);) words.push_back(word);
  return words;
}

/// The words of the block ```name in docs/ptx.md.
Words documented(const std::string& name) {
  std::ifstream file(source_folder() + "/docs/ptx.md");
  Words words;
  bool inside = false;
  for (std::string line; std::getline(file, line);) {
    if (line == "```" + name)
      inside = true;
    else if (line == "```")
      inside = false;
    else if (inside)
      for (const std::string& word : split(line, ' ')) words.push_back(word);
  }
  return words;
}

/// A register that holds the type, numbered.
std::string reg(const std::string& type, int number) {
  const std::string n = std::to_string(number);
  if (type == "pred") return "%p" + n;
  if (type == "f32") return "%f" + n;
  if (type == "f64") return "%fd" + n;
  const std::string bits = type.substr(1);
  return (bits == "64" ? "%rd" : bits == "32" ? "%r" : "%rs") + n;
}

std::string address(const std::string& opcode) {
  for (const auto& [space, name] :
       {std::pair{".shared", "[s]"}, {".const", "[c]"}, {".local", "[l]"}, {".param", "[x]"}})
    if (opcode.find(space) != opcode.npos) return name;
  return "[%rd9]";
}

std::string list_of(const std::string& opcode, const std::string& type) {
  const int count = opcode.find(".v4.") != opcode.npos ? 4 : opcode.find(".v2.") != opcode.npos ? 2 : 1;
  std::string text = reg(type, 1);
  for (int i = 2; i <= count; ++i) text += ", " + reg(type, i);
  return count == 1 ? text : "{" + text + "}";
}

/// Statements that use the opcode with operands as the ISA asks.
std::string statement(const std::string& opcode) {
  const Words parts = split(opcode, '.');
  const std::string base = parts[0], type = parts.back();
  const auto same = [&](int operands) {
    std::string text = opcode + " " + reg(type, 1);
    for (int i = 2; i <= operands + 1; ++i) text += ", " + reg(type, i);
    return text + ";";
  };
  if (base == "ret" || base == "exit") return opcode + ";";
  if (base == "bra") return opcode + " DONE;";
  if (base == "bar") return opcode + " 0;";
  if (base == "call") return opcode + " nothing;";
  if (base == "tex") {
    const std::string at = reg(type, 5) + (opcode.find(".2d.") != opcode.npos ? ", " + reg(type, 6) : "");
    return opcode + " " + list_of(opcode, parts[parts.size() - 2]) + ", [%rd1, {" + at + "}];";
  }
  if (base == "st" && opcode.find(".param") != opcode.npos)
    return "{ .param .b64 argument; " + opcode + " [argument], " + reg(type, 1) + "; }";
  if (base == "ld") return opcode + " " + list_of(opcode, type) + ", " + address(opcode) + ";";
  if (base == "st") return opcode + " " + address(opcode) + ", " + list_of(opcode, type) + ";";
  if (base == "atom") return opcode + " " + reg(type, 1) + ", " + address(opcode) + ", " + reg(type, 2) + ";";
  if (base == "cvt") return opcode + " " + reg(parts[parts.size() - 2], 1) + ", " + reg(type, 2) + ";";
  if (base == "setp") return opcode + " %p1, " + reg(type, 1) + ", " + reg(type, 2) + ";";
  if (base == "testp") return opcode + " %p1, " + reg(type, 1) + ";";
  if (base == "selp") return opcode + " " + reg(type, 1) + ", " + reg(type, 2) + ", " + reg(type, 3) + ", %p1;";
  if (base == "shfl") return opcode + " %r1|%p1, %r2, 1, 31, -1;";
  if (base == "vote") return opcode + " %r1, %p1, -1;";
  if (base == "popc" || base == "clz") return opcode + " %r1, " + reg(type, 2) + ";";
  if (base == "shl" || base == "shr") return opcode + " " + reg(type, 1) + ", " + reg(type, 2) + ", %r3;";
  if (base == "bfe") return opcode + " " + reg(type, 1) + ", " + reg(type, 2) + ", %r3, %r4;";
  if (base == "bfi") return opcode + " " + reg(type, 1) + ", " + reg(type, 2) + ", " + reg(type, 3) + ", %r4, %r5;";
  if (opcode.find(".wide.") != opcode.npos) {
    const std::string wide = type.substr(1) == "16" ? "b32" : "b64";
    return opcode + " " + reg(wide, 1) + ", " + reg(type, 2) + ", " + reg(type, 3) +
           (base == "mad" ? ", " + reg(wide, 4) : "") + ";";
  }
  for (const char* unary :
       {"abs", "neg", "not", "mov", "sqrt", "rsqrt", "rcp", "ex2", "lg2", "sin", "cos", "brev", "cvta"})
    if (base == unary) return same(1);
  for (const char* ternary : {"fma", "mad", "madc", "prmt", "shf"})
    if (base == ternary) return same(3);
  return same(2);
}

/// What the decoder says to the opcode; empty when it accepts it.
std::string answer(const std::string& opcode) {
  const std::string text = module_text(
      ".const .align 16 .b8 c[64];\n.shared .align 16 .b8 s[64];\n.func nothing() { ret; }\n"
      ".visible .entry k(.param .align 16 .b8 x[64]) {\n.reg .pred %p<20>;\n.reg .b16 %rs<20>;\n.reg .b32 %r<20>;\n"
      ".reg .f32 %f<20>;\n.reg .b64 %rd<20>;\n.reg .f64 %fd<20>;\n.local .align 16 .b8 l[64];\n" +
      statement(opcode) + "\nDONE:\nret;\n}\n");
  return refusal([&] {
    Harness harness(text);
    Launch launch;
    launch.kernel = "k";
    launch.grid = {1};
    launch.block = {32};
    launch.argument(std::array<u64, 8>{});
    harness.machine.begin_launch(launch);
  });
}

TEST(PtxCompilerOpcodes, EveryStringListedAsAcceptedIsDecoded) {
  const Words accepted = documented("accepted");
  EXPECT_GT(accepted.size(), 250u);
  for (const std::string& opcode : accepted) EXPECT_EQ(answer(opcode), "") << statement(opcode);
}

}  // namespace
}  // namespace terrace::ptx
