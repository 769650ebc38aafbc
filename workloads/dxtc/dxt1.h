// DXT1 on the host: the cuts to try, compression of a block, and how far a decoded block is from its pixels.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <span>
#include <vector>

#include "engine/types.h"

namespace terrace::dxt1 {

inline constexpr u64 kPixels = 16;
/// The first so many cuts have no entry 3: palettes of three colours can use them.
inline constexpr u32 kThreeColourCuts = 160;

/// Red, green and blue in the low bytes.
using Block = std::array<u32, kPixels>;

/// Every way to cut 16 sorted colours into the groups of palette entries 0, 2, 3 and 1, two bits a colour. The last one
/// is repeated until there are `count`.
std::vector<u32> all_cuts(u32 count);

/// Two end points of 16 bits, then two bits a pixel.
u64 compress(const Block& pixels, std::span<const u32> cuts, u32 four_cuts, u32 three_cuts);

/// Summed over pixels and components, in units of full scale.
double squared_error(const Block& pixels, u64 compressed);

}  // namespace terrace::dxt1
