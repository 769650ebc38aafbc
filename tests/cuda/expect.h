// What the test programs beside this file demand of a call: whatever is not so ends the program with its line.
// SPDX-License-Identifier: MIT
#pragma once

#include <stdio.h>
#include <stdlib.h>

#define EXPECT(condition)                                             \
  do {                                                                \
    if (!(condition)) {                                               \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
      exit(1);                                                        \
    }                                                                 \
  } while (0)
#define OK(call) EXPECT((call) == 0)
#define REFUSED(call, error) EXPECT((call) == (error) && cudaGetLastError() == (error))
