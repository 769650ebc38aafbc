// Tensor instructions, loads of matrices, asynchronous copies and barrier objects on a real GPU and here. Integers, copies and
// layouts must agree bit for bit. The ISA leaves the rounding of floating-point sums open: they may differ within what
// single (or half) precision loses, and how many do is told.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <optional>

#include "real_gpu/agreement.h"
#include "tests/unit/ptx_async_cases.h"
#include "tests/unit/ptx_harness.h"
#include "tests/unit/ptx_matrix_cases.h"

namespace terrace::real_gpu {
namespace {

using matrix_cases::Mma;

struct KernelCase {
  std::string name, text;
  u32 blocks = 1, threads = 32;
  std::vector<u8> in;
  u64 bytes_out = 0;
};

Launch launch_of(const KernelCase& kernel) {
  Launch launch;
  launch.kernel = "k";
  launch.grid = {kernel.blocks};
  launch.block = {kernel.threads};
  return launch;
}

std::vector<u8> run_on(Gpu& gpu, const KernelCase& kernel) {
  Gpu::Module* module = gpu.load(kernel.text);
  const Gpu::Address in = gpu.allocate(kernel.in.size()), out = gpu.allocate(kernel.bytes_out);
  gpu.upload(in, kernel.in.data(), kernel.in.size());
  std::vector<u8> results(kernel.bytes_out);
  gpu.upload(out, results.data(), results.size());
  Launch launch = launch_of(kernel);
  launch.argument(in).argument(out);
  gpu.launch(module, launch);
  gpu.download(results.data(), out, results.size());
  gpu.release(in);
  gpu.release(out);
  gpu.unload(module);
  return results;
}

std::vector<u8> run_here(const KernelCase& kernel) {
  ptx::Harness harness(kernel.text);
  const auto in = harness.buffer("in", kernel.in);
  const auto out = harness.buffer("out", std::vector<u8>(kernel.bytes_out));
  Launch launch = launch_of(kernel);
  launch.argument(in).argument(out);
  harness.run(launch);
  return harness.read(out);
}

/// Both results, or nothing when the GPU refuses the kernel.
struct Both {
  std::vector<u8> theirs, ours;
};
std::optional<Both> run_both(Gpu& gpu, const KernelCase& kernel) {
  Both both;
  const std::string refusal = ptx::refusal([&] { both.theirs = run_on(gpu, kernel); });
  if (!refusal.empty()) {
    fmt::print("{}: {}\n", kernel.name, refusal);
    return std::nullopt;
  }
  both.ours = run_here(kernel);
  return both;
}

bool differs(Gpu& gpu, const KernelCase& kernel) {
  const auto both = run_both(gpu, kernel);
  if (!both) return true;
  for (u64 i = 0; i < both->ours.size(); ++i) {
    if (both->ours[i] == both->theirs[i]) continue;
    fmt::print("{}: byte {} is {:#x} on the GPU, {:#x} here\n", kernel.name, i, both->theirs[i], both->ours[i]);
    return true;
  }
  return false;
}

std::vector<KernelCase> exact_cases() {
  std::vector<KernelCase> cases;
  Rng rng(5, "matrices");
  for (const matrix_cases::Wmma& w : matrix_cases::all_wmma()) {
    for (u32 layouts = 0; layouts < 8; ++layouts) {
      const matrix_cases::Layouts by_rows{(layouts & 1) != 0, (layouts & 2) != 0, (layouts & 4) != 0};
      cases.push_back({fmt::format("wmma {} of {} to {}, layouts {}", w.shape, w.factors, w.sum_out, layouts),
                       wmma_text(w, by_rows), 1, 32, wmma_problem(rng, w, by_rows).in, matrix_cases::kBytesOut});
    }
  }
  constexpr u32 kBlocks = 64;
  for (const char* rounding : {"", ".rz", ".rm", ".rp"})
    cases.push_back({fmt::format("mma of f64{}", rounding), matrix_cases::mma_f64_text(rounding), kBlocks, 32,
                     matrix_cases::doubles(rng, kBlocks), u64{kBlocks} * 32 * 16});
  const std::vector<u8> nothing(16);
  for (const u32 count : {1u, 2u, 4u})
    for (const bool transposed : {false, true})
      cases.push_back({fmt::format("ldmatrix.x{}{}", count, transposed ? ".trans" : ""),
                       matrix_cases::ldmatrix_of(count, transposed), 1, 32, nothing, 512});
  cases.push_back({"stmatrix, movmatrix", matrix_cases::stmatrix_and_movmatrix(), 1, 32, nothing, 512});
  for (const std::string& copy : async_cases::all_copies())
    cases.push_back({copy, async_cases::copy_text(copy), 1, 32, async_cases::numbers(), async_cases::kBytes});
  u32 number = 0;
  for (const async_cases::BarrierCase& each : async_cases::all_barriers())
    cases.push_back({fmt::format("mbarrier case {}", number++), async_cases::barrier_text(each.body), 1, each.threads,
                     nothing, 256});
  return cases;
}

double value_of(const std::string& type, u32 bits) {
  if (type == "f16") return ptx::widen(ptx::F16{static_cast<u16>(bits)});
  if (type == "bf16") return ptx::widen(ptx::BF16{static_cast<u16>(bits)});
  return std::bit_cast<float>(type == "tf32" ? bits & ~u32{0x1fff} : bits);
}

/// Every other block has numbers around 1, the others any bits.
std::vector<u32> operands(const Mma& mma, u32 blocks) {
  Rng rng(6, mma.opcode);
  const u32 words = mma.a + mma.b + mma.c;
  std::vector<u32> made(u64{blocks} * 32 * words);
  for (u64 i = 0; i < made.size(); ++i) {
    made[i] = static_cast<u32>(rng.next());
    const bool factor = i % words < mma.a + mma.b;
    const std::string& type = factor ? mma.factors : mma.sums;
    if (i / words / 32 % 2 == 0 || type.ends_with('8') || type == "s32") continue;
    // Exponents near that of 1: sign and fraction stay.
    const u32 near = static_cast<u32>(rng.below(8));
    if (type == "f16")
      made[i] = (made[i] & 0x83ff'83ff) | (11 + near) << 10 | (11 + (near * 5 + 3) % 8) << 26;
    else if (type == "bf16")
      made[i] = (made[i] & 0x807f'807f) | (123 + near) << 7 | (123 + (near * 5 + 3) % 8) << 23;
    else
      made[i] = (made[i] & 0x807f'ffff) | (123 + near) << 23;
  }
  return made;
}

struct Outcome {
  u32 other_bits = 0, wrong = 0;
  u64 first = 0;
};

/// The sum that a lane's element is, and its largest term.
struct Sum {
  double total = 0, largest = 0;
};
Sum exact_sum(const Mma& mma, const u32* block, u32 lane, u32 element) {
  const u32 words = mma.a + mma.b + mma.c, per = 32 / matrix_cases::bits_of_type(mma.factors);
  const u32 width = 32 / per, mask = width == 32 ? ~u32{0} : (u32{1} << width) - 1;
  const u32 row = lane / 4 + element / 2 * 8, col = lane % 4 * 2 + element % 2;
  Sum sum;
  const auto add = [&](double term) {
    sum.total += term;
    sum.largest = std::fmax(sum.largest, std::fabs(term));
  };
  for (u32 k = 0; k < mma.k; ++k) {
    const u32 step = k / (4 * per), in_group = k / per % 4, part = k % per;
    const u32 a = block[(row % 8 * 4 + in_group) * words + step * 2 + row / 8] >> part * width & mask;
    const u32 b = block[(col * 4 + in_group) * words + mma.a + step] >> part * width & mask;
    add(value_of(mma.factors, a) * value_of(mma.factors, b));
  }
  const u32 per_sum = mma.sums == "f16" ? 2 : 1;
  const u32 c = block[lane * words + mma.a + mma.b + element / per_sum] >> (per_sum == 2 ? element % 2 * 16 : 0);
  add(value_of(mma.sums, mma.sums == "f16" ? c & 0xffff : c));
  return sum;
}

bool within(const Mma& mma, const Sum& exact, double theirs, double ours) {
  if (std::isnan(theirs) || std::isnan(ours)) return std::isnan(theirs) && std::isnan(ours);
  if (!std::isfinite(exact.total) || !std::isfinite(theirs) || !std::isfinite(ours)) {
    // Where sums overflow, one side may still be finite: the largest number.
    return std::signbit(theirs) == std::signbit(ours) &&
           std::fabs(exact.total) >= (mma.sums == "f16" ? 65504 : 0x1.fp127);
  }
  const double precision = mma.sums == "f16" ? 0x1p-10 : 0x1p-23, least = mma.sums == "f16" ? 0x1p-24 : 0x1p-149;
  const double bound = (mma.k + 1) * exact.largest * precision + std::fabs(exact.total) * 2 * precision + least;
  return std::fabs(theirs - exact.total) <= bound && std::fabs(ours - exact.total) <= bound;
}

Outcome judge(const Mma& mma, const std::vector<u32>& in, const Both& both) {
  Outcome outcome;
  const u32 words = mma.a + mma.b + mma.c, per_sum = mma.sums == "f16" ? 2 : 1;
  const auto word = [](const std::vector<u8>& from, u64 place) {
    u32 value;
    std::memcpy(&value, from.data() + place * 4, 4);
    return value;
  };
  for (u64 place = 0; place < both.ours.size() / 4; ++place) {
    const u32 ours = word(both.ours, place), theirs = word(both.theirs, place);
    if (ours == theirs) continue;
    ++outcome.other_bits;
    bool good = mma.sums != "s32";
    const u64 thread = place / mma.d;
    for (u32 part = 0; good && part < per_sum; ++part) {
      const u32 element = static_cast<u32>(place % mma.d) * per_sum + part;
      const Sum exact = exact_sum(mma, in.data() + thread / 32 * 32 * words, thread % 32, element);
      const auto value = [&](u32 bits) { return value_of(mma.sums, per_sum == 2 ? bits >> part * 16 & 0xffff : bits); };
      good = within(mma, exact, value(theirs), value(ours));
    }
    if (!good && outcome.wrong++ == 0) outcome.first = place;
  }
  return outcome;
}

}  // namespace

u32 compare_matrices(Gpu& gpu, u32 cases) {
  u32 wrong = 0, compared = 0;
  for (const KernelCase& kernel : exact_cases()) {
    ++compared;
    wrong += differs(gpu, kernel);
  }
  for (const Mma& mma : matrix_cases::all_mma()) {
    const std::vector<u32> in = operands(mma, cases);
    KernelCase kernel{
        mma.opcode, mma_text(mma), cases, 32, std::vector<u8>(in.size() * 4), u64{cases} * 32 * mma.d * 4};
    std::memcpy(kernel.in.data(), in.data(), kernel.in.size());
    const auto both = run_both(gpu, kernel);
    ++compared;
    if (!both) {
      ++wrong;
      continue;
    }
    const Outcome outcome = judge(mma, in, *both);
    wrong += outcome.wrong != 0;
    fmt::print("{}: {} of {} registers have other bits, {} of them are wrong{}\n", mma.opcode, outcome.other_bits,
               both->ours.size() / 4, outcome.wrong,
               outcome.wrong == 0 ? "" : fmt::format(", first in register {}", outcome.first));
  }
  fmt::print("matrices, copies and barrier objects: {} compared, {} are wrong\n", compared, wrong);
  return wrong;
}

}  // namespace terrace::real_gpu
