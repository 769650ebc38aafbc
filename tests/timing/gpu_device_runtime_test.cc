// Kernels that print and take memory while SMs run side by side: no outcome depends on the order in which SMs tick.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <sstream>

#include "support/scratch.h"
#include "timing/tenant_runs.h"

namespace terrace {
namespace {

// Every thread takes 48 bytes, prints its number and the address, frees it if its number is even, and takes 16 more.
constexpr const char* kPtx = R"(.version 7.8
.target sm_70
.address_size 64
.extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b);
.extern .func (.param .b64 r) malloc(.param .b64 a);
.extern .func free(.param .b64 a);
.global .align 1 .b8 format[7] = {37, 100, 32, 37, 112, 10, 0};
.visible .entry k(.param .u64 out) {
  .reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .pred %p;
  .local .align 8 .b8 depot[16];
  mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mad.lo.u32 %r4, %r2, %r3, %r1;
  { .param .b64 p; .param .b64 r; st.param.b64 [p], 48; call.uni (r), malloc, (p); ld.param.b64 %rd1, [r]; }
  mov.u64 %rd2, depot; st.local.u32 [%rd2], %r4; st.local.u64 [%rd2+8], %rd1; cvta.local.u64 %rd3, %rd2;
  mov.u64 %rd4, format; cvta.global.u64 %rd5, %rd4;
  { .param .b64 p; .param .b64 q; .param .b32 r; st.param.b64 [p], %rd5; st.param.b64 [q], %rd3;
    call.uni (r), vprintf, (p, q); }
  and.b32 %r5, %r4, 1; setp.ne.u32 %p, %r5, 0; @%p bra ODD;
  { .param .b64 p; st.param.b64 [p], %rd1; call.uni free, (p); }
ODD:
  { .param .b64 p; .param .b64 r; st.param.b64 [p], 16; call.uni (r), malloc, (p); ld.param.b64 %rd1, [r]; }
  ld.param.u64 %rd6, [out]; mul.wide.u32 %rd7, %r4, 8; add.u64 %rd6, %rd6, %rd7; st.global.u64 [%rd6], %rd1;
  ret;
}
)";
constexpr u32 kBlocks = 12, kThreads = 64;

struct Printed {
  std::string digest, text;
  friend bool operator==(const Printed&, const Printed&) = default;
};

std::string program(const Scratch& scratch) {
  scratch.write("k.ptx", kPtx);
  return scratch.write("k.toml",
                       fmt::format("source = \"k.ptx\"\n[[buffer]]\nname = \"out\"\ntype = \"u64\"\ncount = {}\n"
                                   "[[launch]]\nkernel = \"k\"\ngrid = [{}]\nblock = [{}]\nargs = [\"out\"]\n",
                                   kBlocks * kThreads, kBlocks, kThreads));
}

Printed run(const std::string& tenants, Scheduler::Options options = {}) {
  RunRequest request = tenant_run(tenants, {"sm.count=4"});
  request.options = options;
  Printed printed;
  request.print = [&](std::string_view text) { printed.text += text; };
  const RunResult result = simulate(request);
  EXPECT_TRUE(result.faults.empty());
  printed.digest = digest_of(result);
  return printed;
}

TEST(GpuDeviceRuntime, TextAndAddressesDoNotDependOnTheTickOrder) {
  const Scratch scratch;
  const std::string path = program(scratch);
  const Printed straight = run(path);
  for (const u64 seed : {1, 2, 3}) EXPECT_EQ(straight, run(path, {.permute_seed = seed})) << seed;
  EXPECT_EQ(straight, run(path, {.sleep = false}));
  std::istringstream lines(straight.text);
  std::set<u32> threads;
  std::set<std::string> odd;  // what odd threads have is never freed
  u32 thread = 0;
  for (std::string address; lines >> thread >> address;) {
    EXPECT_TRUE(threads.insert(thread).second);
    EXPECT_TRUE(address.starts_with("0x"));
    EXPECT_TRUE(thread % 2 == 0 || odd.insert(address).second) << address << " is given twice";
  }
  EXPECT_EQ(threads.size(), kBlocks * kThreads);
}

TEST(GpuDeviceRuntime, TenantsHaveTheirOwnHeaps) {
  const Scratch scratch;
  const std::string path = program(scratch);
  const Printed alone = run(path, {}), both = run(path + " " + path);
  // Each prints all lines; they take from the same addresses, each in its own address space.
  EXPECT_EQ(both.text.size(), 2 * alone.text.size());
  const auto addresses = [](const std::string& text) {
    std::istringstream lines(text);
    std::set<std::string> found;
    for (std::string thread, address; lines >> thread >> address;) found.insert(address);
    return found;
  };
  EXPECT_EQ(*addresses(both.text).begin(), *addresses(alone.text).begin());
  EXPECT_LT(addresses(both.text).size(), 3 * addresses(alone.text).size() / 2);
}

}  // namespace
}  // namespace terrace
