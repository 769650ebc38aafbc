// The PTX in a fat binary, as compilers embed it in CUDA programs: a header and entries, each PTX or machine code for one
// architecture, plain or compressed (LZ4 or zstd). The bytes come from a client and may be anything.
// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <span>
#include <string>

#include "engine/types.h"

namespace terrace::cuda {

/// The PTX of the newest architecture; nothing when there is none. Bytes that are not a fat binary, or cannot be
/// decompressed, are an InputError.
std::optional<std::string> ptx_of_fat_binary(std::span<const u8> bytes);

/// A block in LZ4's format; nothing unless it gives exactly `size` bytes.
std::optional<std::string> decompress_lz4(std::span<const u8> bytes, u64 size);

}  // namespace terrace::cuda
