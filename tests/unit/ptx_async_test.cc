// Asynchronous copies and barrier objects, without timing: what they leave in memory and registers, their faults and what
// is refused. When copies arrive is tested in benches/sm_test.cc.
// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/ptx_async_cases.h"
#include "tests/unit/ptx_harness.h"

namespace terrace::ptx {
namespace {

using async_cases::numbers;
using testing::HasSubstr;

std::vector<u8> run_copy(const std::string& copy, const std::vector<u8>& in) {
  Harness harness(async_cases::copy_text(copy));
  const auto given = harness.buffer("in", in);
  const Buffer<u8> out(harness.memory, "out", 512);
  harness.run(1, 32, given, out);
  return harness.read(out);
}

/// What the target must hold when lane l copied `bytes`, of which so many were read.
template <class F>
std::vector<u8> copied(u32 bytes, F&& read) {
  std::vector<u8> expected(512, 0xee);
  for (u32 i = 0; i < 512; ++i)
    if (i % 16 < bytes) expected[i] = i % 16 < read(i / 16) ? numbers()[i] : 0;
  return expected;
}

TEST(PtxAsync, CopiesOfEachSize) {
  for (const u32 bytes : {4u, 8u, 16u}) {
    const auto all = copied(bytes, [&](u32) { return bytes; });
    EXPECT_EQ(run_copy(fmt::format("cp.async.ca.shared.global [%r2], [%rd0], {};", bytes), numbers()), all);
    EXPECT_EQ(run_copy(fmt::format("cp.async.ca.shared::cta.global.L2::128B [%r2], [%rd0], {};", bytes), numbers()),
              all);
  }
  const auto whole = copied(16, [](u32) { return 16u; });
  EXPECT_EQ(run_copy("cp.async.cg.shared.global [%r2], [%rd0], 16;", numbers()), whole);
  EXPECT_EQ(run_copy("cvt.u64.u32 %rd5, %r2; cp.async.cg.shared.global [%rd5], [%rd0+0], 16;", numbers()), whole);
}

TEST(PtxAsync, WhatIsNotReadBecomesZero) {
  EXPECT_EQ(run_copy("cp.async.ca.shared.global [%r2], [%rd0], 16, %r5;", numbers()),
            copied(16, [](u32 lane) { return lane % 17; }));
  EXPECT_EQ(run_copy("cp.async.cg.shared.global [%r2], [%rd0], 16, 3;", numbers()), copied(16, [](u32) { return 3u; }));
  EXPECT_EQ(run_copy("cp.async.ca.shared.global [%r2], [%rd0], 8, %p1;", numbers()),
            copied(8, [](u32 lane) { return lane % 2 == 1 ? 0u : 8u; }));
  EXPECT_EQ(run_copy("cp.async.ca.shared.global [%r2], [%rd0], 8, !%p1;", numbers()),
            copied(8, [](u32 lane) { return lane % 2 == 1 ? 8u : 0u; }));
  // Nothing is read where nothing is wanted: the address may lead nowhere.
  EXPECT_EQ(run_copy("mov.u64 %rd0, 0; cp.async.ca.shared.global [%r2], [%rd0], 4, 0;", numbers()),
            copied(4, [](u32) { return 0u; }));
}

TEST(PtxAsync, FaultsOfCopies) {
  const auto fault = [](const std::string& copy) { return refusal([&] { run_copy(copy, numbers()); }); };
  EXPECT_THAT(fault("cp.async.ca.shared.global [%r2], [%rd0+2], 4;"), HasSubstr("reads 4 bytes at"));
  EXPECT_THAT(fault("cp.async.ca.shared.global [%r2], [%rd0+512], 16;"), HasSubstr("reads 16 bytes at"));
  EXPECT_THAT(fault("cp.async.ca.shared.global [%r2+8], [%rd0], 16;"), HasSubstr("writes 16 bytes at"));
  EXPECT_THAT(fault("cp.async.ca.shared.global [%r2+512], [%rd0], 16;"), HasSubstr("writes 16 bytes at"));
  EXPECT_THAT(fault("cp.async.ca.shared.global [%r2], [%rd0], 4, 5;"), HasSubstr("reads 5 bytes for a copy of 4"));
}

std::string refusal_of(const std::string& statement) {
  return refusal([&] { Harness(kernel_text({}, statement + " ret;")); });
}

TEST(PtxAsync, RefusesOtherFormsByName) {
  EXPECT_THAT(refusal_of("cp.async.cg.shared.global [%r2], [%rd0], 8;"),
              HasSubstr("copies 8 bytes; .ca takes 4, 8 or 16"));
  EXPECT_THAT(refusal_of("cp.async.ca.shared.global [%r2], [%rd0], %r1;"), HasSubstr("must be a constant"));
  EXPECT_THAT(refusal_of("cp.async.ca.global.shared::cluster [%rd0], [%r2], 8;"),
              HasSubstr("needs .ca or .cg, .shared"));
  EXPECT_THAT(refusal_of("cp.async.ca.shared.global.L2::cache_hint [%r2], [%rd0], 16, %rd2;"),
              HasSubstr("cache hints"));
  EXPECT_THAT(refusal_of("cp.async.wait_group %r1;"), HasSubstr("must be a constant"));
  EXPECT_THAT(refusal_of("cp.async.bulk.wait_group 0;"), HasSubstr("bulk copies are not supported"));
  EXPECT_THAT(refusal_of("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r1], 64;"), HasSubstr("transaction counts"));
  EXPECT_THAT(refusal_of("mbarrier.complete_tx.shared::cta.b64 [%r1], 64;"), HasSubstr("only init, inval, arrive"));
  EXPECT_THAT(refusal_of("mbarrier.arrive.shared::cluster.b64 _, [%r1];"),
              HasSubstr(".shared::cluster is not supported"));
}

std::vector<u32> run_barrier(const std::string& body, u32 threads = 1) {
  Harness harness(async_cases::barrier_text(body));
  const Buffer<u32> out(harness.memory, "out", 64);
  harness.run(1, threads, out, out);
  return harness.read(out);
}
void expect_words(const async_cases::BarrierCase& each) {
  std::vector<u32> words = run_barrier(each.body, each.threads);
  words.resize(each.words.size());
  EXPECT_EQ(words, each.words);
}

TEST(PtxMbarrier, APhaseIsCompleteWhenAllHaveArrived) {
  expect_words(async_cases::two_phases());
}

TEST(PtxMbarrier, WhoDropsOutIsNotExpectedAgain) {
  expect_words(async_cases::dropping_out());
}

TEST(PtxMbarrier, ArrivalsOfCopiesCountOnlyWhatTheyAdded) {
  expect_words(async_cases::arrivals_of_copies());
}

TEST(PtxMbarrier, ThreadsWaitForEachOther) {
  expect_words(async_cases::many_threads());
}

TEST(PtxMbarrier, Faults) {
  const auto fault = [](const std::string& body) { return refusal([&] { run_barrier(body); }); };
  EXPECT_THAT(fault("mbarrier.arrive.shared.b64 _, [%r0];"), HasSubstr("not initialised; call mbarrier.init"));
  EXPECT_THAT(
      fault("mbarrier.init.shared.b64 [%r0], 1; mbarrier.inval.shared.b64 [%r0]; mbarrier.test_wait.parity.shared.b64 "
            "%p0, [%r0], 0;"),
      HasSubstr("not initialised"));
  EXPECT_THAT(fault("mbarrier.init.shared.b64 [%r0], 0;"), HasSubstr("expects 0 arrivals; 1 to 1048575"));
  EXPECT_THAT(fault("mbarrier.init.shared.b64 [%r0], 2; mbarrier.arrive.shared.b64 _, [%r0], 3;"),
              HasSubstr("arrives 3 times at a barrier that waits for 2 more"));
  EXPECT_THAT(fault("mbarrier.init.shared.b64 [%r0], 1; mbarrier.arrive.noComplete.shared.b64 _, [%r0], 1;"),
              HasSubstr("marked .noComplete"));
  EXPECT_THAT(fault("mbarrier.init.shared.b64 [%r0+4], 1;"), HasSubstr("writes 8 bytes at"));
  EXPECT_THAT(fault("mbarrier.init.b64 [%rd0], 1;"), HasSubstr("outside of shared memory"));
  EXPECT_THAT(fault("cp.async.mbarrier.arrive.shared.b64 [%r0];"), HasSubstr("not initialised"));
}

}  // namespace
}  // namespace terrace::ptx
