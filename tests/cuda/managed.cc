// A program with __managed__ variables. clang does not compile them for NVIDIA's devices, so this one registers by hand what nvcc's
// output registers: a fat binary, a kernel, and the pointers through which the host reaches the variables.
// SPDX-License-Identifier: MIT
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "expect.h"
#include "registration.h"

extern "C" {
void __cudaRegisterManagedVar(void**, void**, const char*, const char*, int, size_t, int, int);
char __cudaInitModule(void**);
int cudaDeviceReset();
int cudaMemcpyToSymbol(const void*, const void*, size_t, size_t, int);
int cudaMemset(void*, int, size_t);
int cudaFree(void*);
int cudaGetSymbolAddress(void**, const void*);
struct PointerAttributes {
  int type, device;
  void *on_device, *on_host;
  long reserved[8];
};
int cudaPointerGetAttributes(PointerAttributes*, const void*);
}

namespace {

// counter += 1; table[2047] = counter; *where = &counter
const char* const kPtx = R"(.version 7.8
.target sm_75
.address_size 64
.visible .global .attribute(.managed) .align 4 .u32 counter = 5;
.visible .global .attribute(.managed) .align 4 .b8 table[8192];
.visible .global .attribute(.managed) .align 8 .u64 where;
.visible .entry step() {
  .reg .b32 %r<2>;
  .reg .b64 %rd<3>;
  ld.global.u32 %r1, [counter];
  add.u32 %r1, %r1, 1;
  st.global.u32 [counter], %r1;
  st.global.u32 [table+8188], %r1;
  mov.u64 %rd1, counter;
  cvta.global.u64 %rd2, %rd1;
  st.global.u64 [where], %rd2;
  ret;
}
)";

int* counter = nullptr;
int (*table)[2048] = nullptr;
std::uint64_t* where = nullptr;

void step() {
  EXPECT(cudaLaunchKernel(reinterpret_cast<const void*>(&step), {1, 1, 1}, {1, 1, 1}, nullptr, 0, nullptr) == 0);
  EXPECT(cudaDeviceSynchronize() == 0);
}

void check() {
  EXPECT(*counter == 5 && (*table)[2047] == 0);
  step();
  EXPECT(*counter == 6 && (*table)[2047] == 6);
  EXPECT(*where == reinterpret_cast<std::uintptr_t>(counter));  // one address on both sides
  *counter = 40;
  (*table)[0] = 1;
  step();
  EXPECT(*counter == 41 && (*table)[2047] == 41 && (*table)[0] == 1);
  const int seven = 7;
  EXPECT(cudaMemcpyToSymbol(counter, &seven, sizeof seven, 0, 1) == 0);
  EXPECT(*counter == 7);
  EXPECT(cudaMemset(table, 0, 4) == 0);
  step();
  EXPECT(*counter == 8 && (*table)[0] == 0);
  void* address = nullptr;
  EXPECT(cudaGetSymbolAddress(&address, counter) == 0 && address == counter);
  PointerAttributes what;
  EXPECT(cudaPointerGetAttributes(&what, &(*table)[9]) == 0 && what.type == 3);
  EXPECT(cudaFree(counter) == 1);  // a variable cannot be freed
}

}  // namespace

int main() {
  static const std::string bytes = fat_binary(kPtx);
  static const struct {
    std::uint32_t magic = 0x466243b1, version = 1;
    const void* data = bytes.data();
    const void* more = nullptr;
  } wrapper;
  void** module = __cudaRegisterFatBinary(&wrapper);
  __cudaRegisterFunction(module, reinterpret_cast<const void*>(&step), "step", "step", -1, nullptr, nullptr, nullptr,
                         nullptr, nullptr);
  __cudaRegisterManagedVar(module, reinterpret_cast<void**>(&counter), "counter", "counter", 0, 4, 0, 0);
  __cudaRegisterManagedVar(module, reinterpret_cast<void**>(&table), "table", "table", 0, 8192, 0, 0);
  __cudaRegisterManagedVar(module, reinterpret_cast<void**>(&where), "where", "where", 0, 8, 0, 0);
  __cudaRegisterFatBinaryEnd(module);
  EXPECT(__cudaInitModule(module) != 0);
  check();
  // After a reset the variables have their first values again.
  EXPECT(cudaDeviceReset() == 0);
  EXPECT(__cudaInitModule(module) != 0);
  check();
  std::puts("managed variables passed");
  return 0;
}
