// Tensor instructions as kernels of one warp, for the tests and for the comparison with a real GPU. Every lane reads its
// registers from memory and writes its results back, word by word.
// SPDX-License-Identifier: MIT
#pragma once

#include <fmt/format.h>

#include <cstring>
#include <string>
#include <tuple>
#include <vector>

#include "engine/rng.h"
#include "engine/types.h"
#include "frontend/ptx/arith/half.h"

namespace terrace::matrix_cases {

/// An mma and how many registers each lane has of D, A, B and C.
struct Mma {
  std::string opcode;
  std::string factors, sums;  // types
  u32 m, n, k;
  u32 d, a, b, c;
};

inline std::string registers(const char* name, u32 first, u32 count) {
  std::string text = "{";
  for (u32 i = 0; i < count; ++i) text += fmt::format("{}%{}{}", i == 0 ? "" : ", ", name, first + i);
  return text + "}";
}

/// Kernel k(in, out): in has a + b + c words for each thread, out d words.
inline std::string mma_text(const Mma& mma) {
  const u32 given = mma.a + mma.b + mma.c;
  std::string text = fmt::format(
      ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 in, .param .u64 out) {{\n"
      ".reg .b32 %x<{}>; .reg .b32 %d<{}>; .reg .b32 %t, %i, %n; .reg .b64 %in, %out, %off;\n"
      "ld.param.u64 %in, [in]; ld.param.u64 %out, [out]; mov.u32 %t, %tid.x; mov.u32 %i, %ctaid.x;\n"
      "mov.u32 %n, %ntid.x; mad.lo.u32 %i, %i, %n, %t; mul.wide.u32 %off, %i, {}; add.u64 %in, %in, %off;\n"
      "mul.wide.u32 %off, %i, {}; add.u64 %out, %out, %off;\n",
      given, mma.d, given * 4, mma.d * 4);
  for (u32 i = 0; i < given; ++i) text += fmt::format("ld.global.u32 %x{}, [%in+{}];\n", i, i * 4);
  text += fmt::format("{} {}, {}, {}, {};\n", mma.opcode, registers("d", 0, mma.d), registers("x", 0, mma.a),
                      registers("x", mma.a, mma.b), registers("x", mma.a + mma.b, mma.c));
  for (u32 i = 0; i < mma.d; ++i) text += fmt::format("st.global.u32 [%out+{}], %d{};\n", i * 4, i);
  return text + "ret;\n}\n";
}

/// The same of doubles: in has A's, B's and both of C's for each thread, out two of D.
inline std::string mma_f64_text(const std::string& rounding) {
  return ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 in, .param .u64 out) {\n"
         ".reg .f64 %f<4>; .reg .b32 %t, %i, %n; .reg .b64 %in, %out, %off;\n"
         "ld.param.u64 %in, [in]; ld.param.u64 %out, [out]; mov.u32 %t, %tid.x; mov.u32 %i, %ctaid.x;\n"
         "mov.u32 %n, %ntid.x; mad.lo.u32 %i, %i, %n, %t; mul.wide.u32 %off, %i, 32; add.u64 %in, %in, %off;\n"
         "mul.wide.u32 %off, %i, 16; add.u64 %out, %out, %off;\n"
         "ld.global.f64 %f0, [%in]; ld.global.f64 %f1, [%in+8]; ld.global.v2.f64 {%f2, %f3}, [%in+16];\n"
         "mma.sync.aligned.m8n8k4.row.col" +
         rounding +
         ".f64.f64.f64.f64 {%f2, %f3}, {%f0}, {%f1}, {%f2, %f3};\n"
         "st.global.v2.f64 [%out], {%f2, %f3}; ret;\n}\n";
}
/// Numbers around 1, in every other block any bits.
inline std::vector<u8> doubles(Rng& rng, u32 blocks) {
  std::vector<u64> made(u64{blocks} * 32 * 4);
  for (u64 i = 0; i < made.size(); ++i) {
    made[i] = rng.next();
    if (i / 128 % 2 == 0) made[i] = (made[i] & 0x800f'ffff'ffff'ffff) | (1019 + rng.below(8)) << 52;
  }
  std::vector<u8> bytes(made.size() * 8);
  std::memcpy(bytes.data(), made.data(), bytes.size());
  return bytes;
}

inline std::vector<Mma> all_mma() {
  std::vector<Mma> all;
  const auto add = [&](const std::string& shape, const std::string& factors, const std::string& sums, u32 m, u32 k,
                       const std::string& other = {}, const std::string& saturate = {}) {
    const u32 per = factors == "tf32" ? 1 : factors.ends_with("16") ? 2 : 4, per_sum = sums == "f16" ? 2 : 1;
    all.push_back({fmt::format("mma.sync.aligned.{}.row.col{}.{}.{}.{}.{}", shape, saturate, sums, factors,
                               other.empty() ? factors : other, sums),
                   factors, sums, m, 8, k, m * 8 / 32 / per_sum, m * k / 32 / per, 8 * k / 32 / per,
                   m * 8 / 32 / per_sum});
  };
  for (const char* sums : {"f16", "f32"}) {
    add("m16n8k8", "f16", sums, 16, 8);
    add("m16n8k16", "f16", sums, 16, 16);
  }
  add("m16n8k8", "bf16", "f32", 16, 8);
  add("m16n8k16", "bf16", "f32", 16, 16);
  add("m16n8k4", "tf32", "f32", 16, 4);
  add("m16n8k8", "tf32", "f32", 16, 8);
  for (const char* saturate : {"", ".satfinite"}) {
    for (const char* a : {"s8", "u8"}) {
      for (const char* b : {"s8", "u8"}) {
        add("m8n8k16", a, "s32", 8, 16, b, saturate);
        add("m16n8k16", a, "s32", 16, 16, b, saturate);
        add("m16n8k32", a, "s32", 16, 32, b, saturate);
      }
    }
  }
  return all;
}

/// A wmma: shape, type of the factors, of C and of D.
struct Wmma {
  std::string shape, factors, sum_in, sum_out;
  u32 m, n, k;
};
inline std::vector<Wmma> all_wmma() {
  std::vector<Wmma> all;
  const std::tuple<const char*, u32, u32> shapes[] = {{"m16n16k16", 16, 16}, {"m32n8k16", 32, 8}, {"m8n32k16", 8, 32}};
  for (const auto& [shape, m, n] : shapes) {
    for (const char* c : {"f16", "f32"})
      for (const char* d : {"f16", "f32"}) all.push_back({shape, "f16", c, d, m, n, 16});
    all.push_back({shape, "bf16", "f32", "f32", m, n, 16});
    all.push_back({shape, "s8", "s32", "s32", m, n, 16});
    all.push_back({shape, "u8", "s32", "s32", m, n, 16});
  }
  all.push_back({"m16n16k8", "tf32", "f32", "f32", 16, 16, 8});
  return all;
}

inline u32 bits_of_type(const std::string& type) {
  return type == "s8" || type == "u8" ? 8 : type == "f16" || type == "bf16" ? 16 : 32;
}

// A, B, C and D in memory: D in `out`, the others in `in`, each at its place, rows (or columns) `kStride` elements apart.
inline constexpr u32 kStride = 48, kPlaceB = 8192, kPlaceC = 16384, kBytesIn = 24576, kBytesOut = 8192;

struct Layouts {
  bool a, b, sums;  // by rows
};

/// Kernel k(in, out): loads, multiplies, stores.
inline std::string wmma_text(const Wmma& w, const Layouts& by_rows) {
  const auto count = [](u32 elements, const std::string& type, bool factor) {
    return factor && type == "f16" ? 8 : elements / 32 / (32 / bits_of_type(type));
  };
  const auto layout = [](bool rows) { return rows ? "row" : "col"; };
  const std::string a = registers("a", 0, count(w.m * w.k, w.factors, true)),
                    b = registers("b", 0, count(w.k * w.n, w.factors, true)),
                    c = registers("c", 0, count(w.m * w.n, w.sum_in, false)),
                    d = registers("d", 0, count(w.m * w.n, w.sum_out, false));
  const std::string types = w.factors == "f16" ? fmt::format("{}.{}", w.sum_out, w.sum_in)
                                               : fmt::format("{0}.{1}.{1}.{0}", w.sum_in, w.factors);
  return ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 in, .param .u64 out) {\n"
         ".reg .b32 %a<8>; .reg .b32 %b<8>; .reg .b32 %c<8>; .reg .b32 %d<8>; .reg .b32 %s; .reg .b64 %in, %out;\n" +
         fmt::format("ld.param.u64 %in, [in]; ld.param.u64 %out, [out]; mov.u32 %s, {};\n", kStride) +
         fmt::format("wmma.load.a.sync.aligned.{}.{}.global.{} {}, [%in], %s;\n", layout(by_rows.a), w.shape, w.factors,
                     a) +
         fmt::format("wmma.load.b.sync.aligned.{}.{}.{} {}, [%in+{}], %s;\n", layout(by_rows.b), w.shape, w.factors, b,
                     kPlaceB) +
         fmt::format("wmma.load.c.sync.aligned.{}.{}.global.{} {}, [%in+{}], %s;\n", layout(by_rows.sums), w.shape,
                     w.sum_in, c, kPlaceC) +
         fmt::format("wmma.mma.sync.aligned.{}.{}.{}.{} {}, {}, {}, {};\n", layout(by_rows.a), layout(by_rows.b),
                     w.shape, types, d, a, b, c) +
         fmt::format("wmma.store.d.sync.aligned.{}.{}.global.{} [%out], {}, %s;\nret;\n}}\n", layout(by_rows.sums),
                     w.shape, w.sum_out, d);
}

/// Small whole numbers, which every format holds.
inline u32 encode(const std::string& type, int value) {
  if (type == "s8" || type == "u8") return static_cast<u8>(value);
  if (type == "s32") return static_cast<u32>(value);
  const u32 bits = std::bit_cast<u32>(static_cast<float>(value));
  if (type == "bf16") return bits >> 16;
  if (type == "f16") return ptx::narrow_bits<ptx::F16, ptx::Round::kNearestEven>(value);
  return bits;
}

inline std::vector<int> random_matrix(Rng& rng, u32 count, int least, int most) {
  std::vector<int> made(count);
  for (int& value : made) value = least + static_cast<int>(rng.below(static_cast<u64>(most - least + 1)));
  return made;
}

/// Puts a matrix into memory.
inline void put(u8* to, const std::vector<int>& matrix, u32 rows, u32 cols, bool by_rows, const std::string& type) {
  const u32 bytes = bits_of_type(type) / 8;
  for (u32 r = 0; r < rows; ++r) {
    for (u32 c = 0; c < cols; ++c) {
      const u32 bits = encode(type, matrix[r * cols + c]);
      std::memcpy(to + u64{by_rows ? r * kStride + c : c * kStride + r} * bytes, &bits, bytes);
    }
  }
}

/// Operands of a wmma, and what D must be.
struct WmmaProblem {
  std::vector<u8> in, out;
};
inline WmmaProblem wmma_problem(Rng& rng, const Wmma& w, const Layouts& by_rows) {
  const int least = w.factors == "u8" ? 0 : -4;
  const std::vector<int> a = random_matrix(rng, w.m * w.k, least, 4), b = random_matrix(rng, w.k * w.n, least, 4),
                         c = random_matrix(rng, w.m * w.n, -9, 9);
  std::vector<int> d = c;
  for (u32 row = 0; row < w.m; ++row)
    for (u32 col = 0; col < w.n; ++col)
      for (u32 k = 0; k < w.k; ++k) d[row * w.n + col] += a[row * w.k + k] * b[k * w.n + col];
  WmmaProblem made{std::vector<u8>(kBytesIn), std::vector<u8>(kBytesOut)};
  put(made.in.data(), a, w.m, w.k, by_rows.a, w.factors);
  put(made.in.data() + kPlaceB, b, w.k, w.n, by_rows.b, w.factors);
  put(made.in.data() + kPlaceC, c, w.m, w.n, by_rows.sums, w.sum_in);
  put(made.out.data(), d, w.m, w.n, by_rows.sums, w.sum_out);
  return made;
}

/// Kernel k(in, out) around statements that act on 1,024 bytes of shared memory at %r1, whose 16-bit elements hold their own
/// numbers. %r5 is the address of a row, another one for each lane; %rd0 leads to the lane's 16 bytes of out.
inline std::string ldmatrix_text(const std::string& body) {
  return ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 in, .param .u64 out) {\n"
         ".reg .pred %p<4>; .reg .b16 %rs<4>; .reg .b32 %r<40>; .reg .b64 %rd<8>; .shared .align 16 .b16 m[512];\n"
         "ld.param.u64 %rd0, [out]; mov.u32 %r0, %tid.x; mov.u32 %r1, m; mov.u32 %r2, 0;\n"
         "FILL: mad.lo.u32 %r3, %r2, 32, %r0; shl.b32 %r4, %r3, 1; add.u32 %r4, %r4, %r1; cvt.u16.u32 %rs0, %r3;\n"
         "st.shared.u16 [%r4], %rs0; add.u32 %r2, %r2, 1; setp.lt.u32 %p0, %r2, 16; @%p0 bra FILL; bar.warp.sync -1;\n"
         "mul.lo.u32 %r5, %r0, 5; and.b32 %r5, %r5, 63; shl.b32 %r5, %r5, 4; add.u32 %r5, %r5, %r1;\n"
         "mul.wide.u32 %rd1, %r0, 16; add.u64 %rd0, %rd0, %rd1;\n" +
         body + "\nret;\n}\n";
}
inline std::string ldmatrix_of(u32 count, bool transposed) {
  std::string body = fmt::format("ldmatrix.sync.aligned.m8n8.x{}{}.shared.b16 {}, [%r5];\n", count,
                                 transposed ? ".trans" : "", registers("r", 10, count));
  for (u32 i = 0; i < count; ++i) body += fmt::format("st.global.u32 [%rd0+{}], %r{};\n", i * 4, 10 + i);
  return ldmatrix_text(body);
}
/// From rows 0 to 31 to rows 32 to 63 transposed, and read from there; and the same without memory.
inline std::string stmatrix_and_movmatrix() {
  return ldmatrix_text(
      "shl.b32 %r6, %r0, 4; add.u32 %r6, %r6, %r1;\n"
      "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r10,%r11,%r12,%r13}, [%r6];\n"
      "stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%r6+512], {%r10,%r11,%r12,%r13}; bar.warp.sync -1;\n"
      "cvt.u64.u32 %rd5, %r6; cvta.shared.u64 %rd5, %rd5; ldmatrix.sync.aligned.m8n8.x2.b16 {%r20, %r21}, [%rd5+512];\n"
      "movmatrix.sync.aligned.m8n8.trans.b16 %r22, %r10; st.global.u32 [%rd0], %r20; st.global.u32 [%rd0+4], %r21;\n"
      "st.global.u32 [%rd0+8], %r22;");
}

}  // namespace terrace::matrix_cases
