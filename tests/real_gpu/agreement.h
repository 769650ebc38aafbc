// Comparing Terrace with a real GPU: each of these runs both and says on standard output where they differ. They give
// the number of differences.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "frontend/workload.h"
#include "real_gpu/cuda_driver.h"

namespace terrace::real_gpu {

/// Random kernels, from FOLDER/COMPILER/unit_N.ptx and .cubin. Hashes go to `hash_file`, a line per seed, where both
/// compilers' codes give the same on both sides.
u32 compare_kernels(Gpu& gpu, const std::string& folder, const std::string& hash_file);

/// Every registered workload, with the modules of FOLDER/NAME.ptx and .cubin: its own check must pass on both, and the
/// buffers are compared bit for bit (differences there are told, not counted: the check has the last word).
u32 compare_workloads(Gpu& gpu, const std::string& folder, InputSize size);

/// Every row of the opcode table of tests/unit, in a kernel of its own that the driver compiles.
u32 compare_opcodes(Gpu& gpu, u32 cases, const std::string& only, u64 seed);

/// Tensor instructions with so many warps of operands each, loads of matrices, asynchronous copies, barrier objects.
u32 compare_matrices(Gpu& gpu, u32 cases);
/// Kernels whose threads wait for each other, or call through pointers (tests/support/waiting_kernels.h).
u32 compare_waiting(Gpu& gpu);

}  // namespace terrace::real_gpu
