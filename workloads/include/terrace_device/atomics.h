// CUDA's atomic functions. Part of terrace_device.h, for clang.
// SPDX-License-Identifier: MIT
#pragma once

#include "integers.h"

// The _gen_ builtins take generic pointers; the compiler finds out whether they are global or shared.
TERRACE_DEVICE_INLINE float atomicAdd(float* at, float value) {
  return __nvvm_atom_add_gen_f(at, value);
}
TERRACE_DEVICE_INLINE double atomicAdd(double* at, double value) {
  return __nvvm_atom_add_gen_d(at, value);
}

/// `type` is what the caller has, `like` what the builtin takes, of the same size.
#define TERRACE_DEVICE_ATOMIC(name, type, builtin, like)                                      \
  TERRACE_DEVICE_INLINE type name(type* at, type value) {                                     \
    return static_cast<type>(builtin(reinterpret_cast<like*>(at), static_cast<like>(value))); \
  }
#define TERRACE_DEVICE_ATOMIC_SIGNLESS(name, operation)                                   \
  TERRACE_DEVICE_ATOMIC(name, int, __nvvm_atom_##operation##_gen_i, int)                  \
  TERRACE_DEVICE_ATOMIC(name, unsigned int, __nvvm_atom_##operation##_gen_i, int)         \
  TERRACE_DEVICE_ATOMIC(name, long, __nvvm_atom_##operation##_gen_ll, long long)          \
  TERRACE_DEVICE_ATOMIC(name, unsigned long, __nvvm_atom_##operation##_gen_ll, long long) \
  TERRACE_DEVICE_ATOMIC(name, long long, __nvvm_atom_##operation##_gen_ll, long long)     \
  TERRACE_DEVICE_ATOMIC(name, unsigned long long, __nvvm_atom_##operation##_gen_ll, long long)
#define TERRACE_DEVICE_ATOMIC_SIGNED(name, operation)                                               \
  TERRACE_DEVICE_ATOMIC(name, int, __nvvm_atom_##operation##_gen_i, int)                            \
  TERRACE_DEVICE_ATOMIC(name, unsigned int, __nvvm_atom_##operation##_gen_ui, unsigned int)         \
  TERRACE_DEVICE_ATOMIC(name, long, __nvvm_atom_##operation##_gen_ll, long long)                    \
  TERRACE_DEVICE_ATOMIC(name, unsigned long, __nvvm_atom_##operation##_gen_ull, unsigned long long) \
  TERRACE_DEVICE_ATOMIC(name, long long, __nvvm_atom_##operation##_gen_ll, long long)               \
  TERRACE_DEVICE_ATOMIC(name, unsigned long long, __nvvm_atom_##operation##_gen_ull, unsigned long long)

TERRACE_DEVICE_ATOMIC_SIGNLESS(atomicAdd, add)
TERRACE_DEVICE_ATOMIC_SIGNLESS(atomicExch, xchg)
TERRACE_DEVICE_ATOMIC_SIGNLESS(atomicAnd, and)
TERRACE_DEVICE_ATOMIC_SIGNLESS(atomicOr, or)
TERRACE_DEVICE_ATOMIC_SIGNLESS(atomicXor, xor)
TERRACE_DEVICE_ATOMIC_SIGNED(atomicMin, min)
TERRACE_DEVICE_ATOMIC_SIGNED(atomicMax, max)
TERRACE_DEVICE_ATOMIC(atomicInc, unsigned int, __nvvm_atom_inc_gen_ui, unsigned int)
TERRACE_DEVICE_ATOMIC(atomicDec, unsigned int, __nvvm_atom_dec_gen_ui, unsigned int)
#undef TERRACE_DEVICE_ATOMIC_SIGNED
#undef TERRACE_DEVICE_ATOMIC_SIGNLESS
#undef TERRACE_DEVICE_ATOMIC

// Two's complement: taking away is adding the negative.
TERRACE_DEVICE_INLINE int atomicSub(int* at, int value) {
  return static_cast<int>(atomicAdd(reinterpret_cast<unsigned int*>(at), 0u - static_cast<unsigned int>(value)));
}
TERRACE_DEVICE_INLINE unsigned int atomicSub(unsigned int* at, unsigned int value) {
  return atomicAdd(at, 0u - value);
}

TERRACE_DEVICE_INLINE float atomicExch(float* at, float value) {
  return __int_as_float(atomicExch(reinterpret_cast<int*>(at), __float_as_int(value)));
}
TERRACE_DEVICE_INLINE double atomicExch(double* at, double value) {
  return __longlong_as_double(atomicExch(reinterpret_cast<long long*>(at), __double_as_longlong(value)));
}

TERRACE_DEVICE_INLINE unsigned short atomicCAS(unsigned short* at, unsigned short compare, unsigned short value) {
  unsigned short old;
  asm volatile("atom.cas.b16 %0, [%1], %2, %3;" : "=h"(old) : "l"(at), "h"(compare), "h"(value) : "memory");
  return old;
}
TERRACE_DEVICE_INLINE int atomicCAS(int* at, int compare, int value) {
  return __nvvm_atom_cas_gen_i(at, compare, value);
}
TERRACE_DEVICE_INLINE unsigned int atomicCAS(unsigned int* at, unsigned int compare, unsigned int value) {
  return static_cast<unsigned int>(
      __nvvm_atom_cas_gen_i(reinterpret_cast<int*>(at), static_cast<int>(compare), static_cast<int>(value)));
}
TERRACE_DEVICE_INLINE long long atomicCAS(long long* at, long long compare, long long value) {
  return __nvvm_atom_cas_gen_ll(at, compare, value);
}
TERRACE_DEVICE_INLINE unsigned long long atomicCAS(unsigned long long* at, unsigned long long compare,
                                                   unsigned long long value) {
  return static_cast<unsigned long long>(__nvvm_atom_cas_gen_ll(
      reinterpret_cast<long long*>(at), static_cast<long long>(compare), static_cast<long long>(value)));
}
