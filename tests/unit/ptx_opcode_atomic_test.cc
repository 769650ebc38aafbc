// Every atomic operation of every type, on global and on shared memory, with and without a result: random and special operands
// against a reference written here. Each lane has a word of its own, so the order of lanes does not matter.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <functional>

#include "engine/rng.h"
#include "tests/unit/float_reference.h"
#include "tests/unit/ptx_harness.h"

namespace terrace::ptx {
namespace {

struct Row {
  std::string op;  // "add.u32"
  u32 bytes;
  std::function<u64(u64 old, u64 operand, u64 compare)> reference;
  std::function<u64(u64 old, u64 operand, u64 compare)> on_global = {};  // where it differs from shared memory
};

u64 low(u64 value) {
  return value & 0xffff'ffff;
}
float f32(u64 bits) {
  return std::bit_cast<float>(static_cast<u32>(bits));
}
/// NaNs of f32 are canonical.
u64 bits32(float value) {
  return std::isnan(value) ? 0x7fff'ffff : std::bit_cast<u32>(value);
}
float flushed(float value) {
  return std::fpclassify(value) == FP_SUBNORMAL ? std::copysign(0.0f, value) : value;
}
template <class T>
auto smaller() {
  return [](u64 a, u64 b, u64) { return static_cast<T>(b) < static_cast<T>(a) ? b : a; };
}
template <class T>
auto larger() {
  return [](u64 a, u64 b, u64) { return static_cast<T>(b) > static_cast<T>(a) ? b : a; };
}

const reference::Shape& shape_of(const std::string& op) {
  return op.find("bf16") != op.npos ? reference::kBF16 : reference::kF16;
}
u64 half_sum(const reference::Shape& shape, u64 a, u64 b) {
  a &= 0xffff, b &= 0xffff;
  return reference::arithmetic(
      shape, MPFR_RNDN, false, {a, b}, {b, a},
      [](mpfr_ptr r, mpfr_srcptr x, mpfr_srcptr y, mpfr_srcptr, mpfr_rnd_t m) { return mpfr_add(r, x, y, m); });
}

std::vector<Row> rows() {
  std::vector<Row> all;
  const auto both = [&](const std::string& op, auto reference) {
    all.push_back({op + ".b32", 4, [=](u64 a, u64 b, u64 c) { return low(reference(a, b, c)); }});
    all.push_back({op + ".b64", 8, reference});
  };
  both("and", [](u64 a, u64 b, u64) { return a & b; });
  both("or", [](u64 a, u64 b, u64) { return a | b; });
  both("xor", [](u64 a, u64 b, u64) { return a ^ b; });
  both("exch", [](u64, u64 b, u64) { return b; });
  both("cas", [](u64 a, u64 b, u64 c) { return a == c ? b : a; });
  for (const char* type : {"u32", "s32"}) {
    all.push_back({std::string("add.") + type, 4, [](u64 a, u64 b, u64) { return low(a + b); }});
  }
  all.push_back({"add.u64", 8, [](u64 a, u64 b, u64) { return a + b; }});
  all.push_back({"min.u32", 4, smaller<u32>()});
  all.push_back({"min.s32", 4, smaller<i32>()});
  all.push_back({"min.u64", 8, smaller<u64>()});
  all.push_back({"min.s64", 8, smaller<i64>()});
  all.push_back({"max.u32", 4, larger<u32>()});
  all.push_back({"max.s32", 4, larger<i32>()});
  all.push_back({"max.u64", 8, larger<u64>()});
  all.push_back({"max.s64", 8, larger<i64>()});
  all.push_back({"inc.u32", 4, [](u64 a, u64 b, u64) { return a >= b ? 0 : a + 1; }});
  all.push_back({"dec.u32", 4, [](u64 a, u64 b, u64) { return a == 0 || a > b ? b : a - 1; }});
  all.push_back({"add.f32", 4, [](u64 a, u64 b, u64) { return bits32(f32(a) + f32(b)); },
                 [](u64 a, u64 b, u64) { return bits32(flushed(flushed(f32(a)) + flushed(f32(b)))); }});
  all.push_back({"add.f64", 8, [](u64 a, u64 b, u64) {
                   return std::bit_cast<u64>(std::bit_cast<double>(a) + std::bit_cast<double>(b));
                 }});
  for (const std::string type : {"f16", "bf16"}) {
    const reference::Shape& shape = shape_of(type);
    all.push_back({"add.noftz." + type, 2, [&shape](u64 a, u64 b, u64) { return half_sum(shape, a, b); }});
    all.push_back({"add.noftz." + type + "x2", 4, [&shape](u64 a, u64 b, u64) {
                     return half_sum(shape, a >> 16, b >> 16) << 16 | half_sum(shape, a, b);
                   }});
  }
  return all;
}

/// Specials of a half: zeros, subnormals, the smallest normal, one, the largest, infinities and NaNs; any bits besides.
u64 pick_half(Rng& rng, const reference::Shape& shape) {
  const u64 specials[] = {0,
                          1,
                          shape.min_normal() - 1,
                          shape.min_normal(),
                          shape.infinity() - 1,
                          shape.infinity(),
                          shape.infinity() + 1,
                          shape.sign() - 1};
  const u64 bits = rng.below(3) == 0 ? specials[rng.below(std::size(specials))] : rng.next();
  return (bits ^ (rng.below(2) != 0 ? shape.sign() : 0)) & 0xffff;
}

/// Specials first, then random words; floats of every magnitude are among random bits, subnormals among the specials.
u64 pick(Rng& rng, const Row& row) {
  static constexpr u64 kSpecial32[] = {0,           1,           0x7fff'ffff, 0x8000'0000, 0xffff'ffff,
                                       0x8000'0001, 0x0040'0000, 0x0080'0000, 0x3f80'0000, 0xbf80'0000,
                                       0x7f80'0000, 0xff80'0000, 0x7fc0'0000};
  static constexpr u64 kSpecial64[] = {
      0, 1, ~u64{0}, u64{1} << 63, ~(u64{1} << 63), 0x3ff0'0000'0000'0000, 0x0008'0000'0000'0000};
  if (row.op.find("noftz") != row.op.npos) {
    const u64 low_half = pick_half(rng, shape_of(row.op));
    return row.bytes == 2 ? low_half : pick_half(rng, shape_of(row.op)) << 16 | low_half;
  }
  const bool special = rng.below(3) == 0;
  if (row.bytes == 4) return special ? kSpecial32[rng.below(std::size(kSpecial32))] : low(rng.next());
  const u64 value = special ? kSpecial64[rng.below(std::size(kSpecial64))] : rng.next();
  // A NaN passes through f64 additions with its payload, which hosts treat differently: not compared here.
  return row.op == "add.f64" && std::isnan(std::bit_cast<double>(value)) ? 0 : value;
}

std::string program(const Row& row, bool global, bool result) {
  const std::string reg = row.bytes == 8 ? "%rd" : row.bytes == 4 ? "%r" : "%rs";
  const std::string bits = "b" + std::to_string(8 * row.bytes), size = std::to_string(row.bytes);
  const std::string space = global ? "global" : "shared", place = global ? "%rd10" : "%r20";
  const std::string operands = row.op.starts_with("cas") ? reg + "14, " + reg + "13" : reg + "13";
  std::string text =
      "ld.param.u64 %rd1, [words]; ld.param.u64 %rd2, [operands]; ld.param.u64 %rd3, [compares]; ld.param.u64 %rd4, "
      "[olds];\n"
      "mov.u32 %r1, %tid.x; mul.wide.u32 %rd5, %r1, " +
      size + "; mul.lo.u32 %r20, %r1, " + size +
      ";\n"
      "add.s64 %rd10, %rd1, %rd5; add.s64 %rd11, %rd2, %rd5; add.s64 %rd15, %rd3, %rd5; add.s64 %rd16, %rd4, %rd5;\n"
      "ld.global." +
      bits + " " + reg + "12, [%rd10]; ld.global." + bits + " " + reg + "13, [%rd11]; ld.global." + bits + " " + reg +
      "14, [%rd15];\nmov.u32 %r21, shared_words; add.s32 %r20, %r20, %r21; st.shared." + bits + " [%r20], " + reg +
      "12;\n";
  const std::string type = row.op.substr(row.op.find('.') + 1), name = row.op.substr(0, row.op.find('.'));
  // Float operations want float registers in typed PTX; the machine takes either, as newer compilers print them.
  text += (result ? "atom." : "red.") + space + "." + name + "." + type + " " + (result ? reg + "17, " : "") + "[" +
          place + "], " + operands + ";\n";
  text +=
      "ld." + space + "." + bits + " " + reg + "18, [" + place + "]; st.global." + bits + " [%rd10], " + reg + "18;\n";
  if (result) text += "st.global." + bits + " [%rd16], " + reg + "17;\n";
  return ".shared .align 8 .b8 shared_words[256];\n" + text + "ret;";
}

template <class T>
void check(const Row& row, bool global, bool result) {
  Rng rng(5, row.op);
  std::string text =
      kernel_text({"u64 words", "u64 operands", "u64 compares", "u64 olds"}, program(row, global, result));
  Harness harness(text);
  const auto& reference = global && row.on_global ? row.on_global : row.reference;
  const u32 rounds = 20;
  const auto words = harness.buffer("words", std::vector<T>(32)),
             operands = harness.buffer("operands", std::vector<T>(32));
  const auto compares = harness.buffer("compares", std::vector<T>(32)),
             olds = harness.buffer("olds", std::vector<T>(32));
  for (u32 round = 0; round < rounds; ++round) {
    std::vector<T> old(32), operand(32), compare(32);
    for (u32 lane = 0; lane < 32; ++lane) {
      old[lane] = static_cast<T>(pick(rng, row));
      operand[lane] = static_cast<T>(pick(rng, row));
      compare[lane] = rng.below(2) ? old[lane] : static_cast<T>(pick(rng, row));
    }
    std::copy(old.begin(), old.end(), words.write(harness.memory).begin());
    std::copy(operand.begin(), operand.end(), operands.write(harness.memory).begin());
    std::copy(compare.begin(), compare.end(), compares.write(harness.memory).begin());
    harness.run(1, 32, words, operands, compares, olds);
    const auto now = harness.read(words), returned = harness.read(olds);
    for (u32 lane = 0; lane < 32; ++lane) {
      ASSERT_EQ(u64{now[lane]}, reference(old[lane], operand[lane], compare[lane]))
          << row.op << (global ? " global " : " shared ") << std::hex << old[lane] << " with " << operand[lane];
      if (result) {
        ASSERT_EQ(returned[lane], old[lane]) << row.op;
      }
    }
  }
}

TEST(PtxOpcodes, AtomicsAndReductionsOfEveryTypeAgreeWithTheirReference) {
  for (const Row& row : rows()) {
    for (const bool global : {true, false}) {
      for (const bool result : {true, false}) {
        if (!result && (row.op.starts_with("exch") || row.op.starts_with("cas"))) continue;  // red has neither
        if (row.bytes == 2) check<u16>(row, global, result);
        if (row.bytes == 4) check<u32>(row, global, result);
        if (row.bytes == 8) check<u64>(row, global, result);
      }
    }
  }
}

}  // namespace
}  // namespace terrace::ptx
