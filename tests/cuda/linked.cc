// A program whose object files' device code is linked, as nvcc -rdc=true makes it: the fat binary that it registers has only machine
// code, and points to those of its object files. This one registers by hand.
// SPDX-License-Identifier: MIT
#include <cstdio>

#include "expect.h"
#include "registration.h"

extern "C" {
int cudaMalloc(void**, size_t);
int cudaMemcpy(void*, const void*, size_t, int);
int cudaMemcpyToSymbol(const void*, const void*, size_t, size_t, int);
void __cudaRegisterVar(void**, char*, char*, const char*, int, size_t, int, int);
}

namespace {

const char* const kCaller = R"(.version 7.8
.target sm_75
.address_size 64
.extern .func (.param .b32 r) scaled(.param .b32 x);
.global .align 4 .u32 own = 1;
.visible .entry first(.param .u64 out) {
  .reg .b32 %r<5>;
  .reg .b64 %rd<4>;
  .param .b32 p;
  .param .b32 q;
  ld.param.u64 %rd1, [out];
  mov.u32 %r1, %tid.x;
  st.param.b32 [p], %r1;
  call (q), scaled, (p);
  ld.param.b32 %r2, [q];
  ld.global.u32 %r3, [own];
  add.u32 %r2, %r2, %r3;
  mul.wide.u32 %rd2, %r1, 4;
  add.u64 %rd3, %rd1, %rd2;
  st.global.u32 [%rd3], %r2;
  ret;
}
)";
// scaled(x) = x * factor + own, with an own of 500 here
const char* const kCalled = R"(.version 7.8
.target sm_75
.address_size 64
.visible .const .align 4 .u32 factor = 3;
.global .align 4 .u32 own = 500;
.visible .func (.param .b32 r) scaled(.param .b32 x) {
  .reg .b32 %r<5>;
  ld.param.u32 %r1, [x];
  ld.const.u32 %r2, [factor];
  ld.global.u32 %r3, [own];
  mad.lo.u32 %r4, %r1, %r2, %r3;
  st.param.b32 [r], %r4;
  ret;
}
.visible .entry second(.param .u64 out) {
  .reg .b64 %rd<2>;
  ld.param.u64 %rd1, [out];
  st.global.u32 [%rd1], 77;
  ret;
}
)";

const char first = 0, second = 0;
int factor = 0;

}  // namespace

int main() {
  static const std::string caller = fat_binary(kCaller), called = fat_binary(kCalled);
  static const std::string machine_code{"\x50\xed\x55\xba\x01\x00\x10\x00\x00\x00\x00\x00\x00\x00\x00\x00",
                                        16};  // empty
  static const void* const objects[] = {caller.data(), called.data(), nullptr};
  static const struct {
    std::uint32_t magic = 0x466243b1, version = 2;
    const void* data = machine_code.data();
    const void* more = objects;
  } wrapper;
  void** module = __cudaRegisterFatBinary(&wrapper);
  const auto add = [&](const char& kernel, const char* name) {
    __cudaRegisterFunction(module, &kernel, name, name, -1, nullptr, nullptr, nullptr, nullptr, nullptr);
  };
  add(first, "first");
  add(second, "second");
  __cudaRegisterVar(module, reinterpret_cast<char*>(&factor), nullptr, "factor", 0, 4, 1, 0);
  __cudaRegisterFatBinaryEnd(module);

  void* out = nullptr;
  std::uint32_t got[64];
  EXPECT(cudaMalloc(&out, sizeof got) == 0);
  void* arguments[] = {&out};
  EXPECT(cudaLaunchKernel(&first, {1, 1, 1}, {64, 1, 1}, arguments, 0, nullptr) == 0);
  EXPECT(cudaMemcpy(got, out, sizeof got, 2) == 0);
  for (std::uint32_t i = 0; i < 64; ++i) EXPECT(got[i] == 3 * i + 501);
  const std::uint32_t ten = 10;
  EXPECT(cudaMemcpyToSymbol(&factor, &ten, sizeof ten, 0, 1) == 0);
  EXPECT(cudaLaunchKernel(&first, {1, 1, 1}, {64, 1, 1}, arguments, 0, nullptr) == 0);
  EXPECT(cudaMemcpy(got, out, sizeof got, 2) == 0);
  for (std::uint32_t i = 0; i < 64; ++i) EXPECT(got[i] == 10 * i + 501);
  EXPECT(cudaLaunchKernel(&second, {1, 1, 1}, {1, 1, 1}, arguments, 0, nullptr) == 0);
  EXPECT(cudaMemcpy(got, out, sizeof got, 2) == 0 && got[0] == 77);
  std::puts("linked device code passed");
  return 0;
}
