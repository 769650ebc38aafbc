// What the programs share that run unchanged on a real GPU and in Terrace, to be compared (docs/real_gpu.md): numbers that are the same on every
// machine, and lines of output. nvcc compiles them too; cuda_mini.h stands in for its header without a toolkit.
// SPDX-License-Identifier: MIT
#pragma once

#ifdef __NVCC__
#include <cuda_runtime.h>
#else
#include "cuda_mini.h"
#endif

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <initializer_list>

/// A generator of its own for each case: what one case draws does not depend on those before it. The environment variable DRAW
/// gives all of them other numbers; 0, the default, are those that outputs are kept of.
struct Numbers {
  unsigned state;
  explicit Numbers(unsigned seed) : state(seed + 0x632be5abu * draw()) {}
  static unsigned draw() {
    static const char* const chosen = getenv("DRAW");
    return chosen != nullptr ? (unsigned)strtoul(chosen, nullptr, 10) : 0;
  }
  unsigned next() {
    state += 0x9e3779b9u;
    unsigned mixed = state;
    mixed = (mixed ^ mixed >> 16) * 0x21f0aaadu;
    mixed = (mixed ^ mixed >> 15) * 0x735a2d97u;
    return mixed ^ mixed >> 15;
  }
  int below(int bound) { return (int)(next() % (unsigned)bound); }
};

inline unsigned bits_of(float value) {
  unsigned bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}
inline float float_of(unsigned bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

/// FNV-1a.
inline unsigned long long hash_of(const void* data, size_t bytes) {
  unsigned long long hash = 0xcbf29ce484222325ull;
  for (size_t i = 0; i < bytes; ++i) hash = (hash ^ ((const unsigned char*)data)[i]) * 0x100000001b3ull;
  return hash;
}

/// The name of a case, in words between slashes.
struct Name {
  char text[160];
  __attribute__((format(printf, 2, 3))) explicit Name(const char* format, ...) {
    va_list values;
    va_start(values, format);
    vsnprintf(text, sizeof text, format, values);
    va_end(values);
  }
};

/// A program with failures goes on, and ends with 1.
static int failures = 0;
/// Whether a call went well; otherwise the case's line says which error it gave.
inline bool worked(const char* name, int status) {
  if (status == 0) return true;
  cudaGetLastError();
  ++failures;
  printf("%s failed %d\n", name, status);
  fflush(stdout);
  return false;
}
#define WORKED(call) worked(name, (int)(call))

/// Whether a part of the program is wanted: all are unless some are named.
inline bool wanted(int words, char** word, const char* part) {
  for (int i = 2; i < words; ++i)
    if (strcmp(word[i], part) == 0) return true;
  return words <= 2;
}
