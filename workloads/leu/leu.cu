// Detection of leukocytes: how well circles of several sizes around each pixel fit the gradient of the image (the inverse
// of its coefficient of variation along the circle), and the greatest such score in a disc around each pixel. Images
// are stored by columns.
// SPDX-License-Identifier: MIT
#include "terrace_device.h"

namespace {
constexpr int kMargin = 22;  // of pixels for which circles would leave the image
constexpr u32 kMostCircles = 7;
constexpr u32 kMostSamples = 150;
constexpr u32 kMostReach = 12;
}  // namespace

/// Cosine and sine of the angles, and the nearest pixels to a circle's places, in columns and rows from its centre.
__constant__ float2 leu_turns[kMostSamples];
__constant__ int2 leu_places[kMostCircles * kMostSamples];
/// Which pixels of the square around one belong to the disc.
__constant__ u8 leu_disc[(2 * kMostReach + 1) * (2 * kMostReach + 1)];

/// Block = column, thread = row.
extern "C" __global__ void leu_gicov(const float* gx, const float* gy, float* scores, u32 rows, u32 circles,
                                     u32 samples) {
  const int column = static_cast<int>(blockIdx.x) + kMargin, row = static_cast<int>(threadIdx.x) + kMargin;
  const int pitch = static_cast<int>(rows), centre = column * pitch + row;
  const int2* place = leu_places;
  float best = 0.0f;
#pragma unroll 1
  for (u32 circle = 0; circle < circles; ++circle) {
    float mean = 0.0f, squares = 0.0f, count = 0.0f;
    const float2 *turn = leu_turns, *last = leu_turns + samples;
#pragma unroll 1
    do {
      const int at = centre + place->x * pitch + place->y;
      const float along = gx[at] * turn->x + gy[at] * turn->y;
      const float off = along - mean;
      count += 1.0f;
      mean += fast_divide(off, count);
      squares += off * (along - mean);
      ++place;
      ++turn;
    } while (turn != last);
    const float variance = squares / static_cast<float>(samples - 1);
    const float score = mean * mean / variance;
    best = score > best ? score : best;
  }
  scores[centre] = best;
}

extern "C" __global__ void leu_dilate(const float* scores, float* dilated, u32 columns, u32 rows, u32 reach) {
  const u32 pixel = global_thread();
  if (pixel >= columns * rows) return;
  const int column = static_cast<int>(pixel / rows), row = static_cast<int>(pixel % rows);
  const int r = static_cast<int>(reach), side = 2 * r + 1;
  float greatest = 0.0f;
  // The part of the square that lies in the image.
  const int first_x = column > r ? -r : -column, first_y = row > r ? -r : -row;
  const int last_x = column + r < static_cast<int>(columns) ? r : static_cast<int>(columns) - 1 - column;
  const int last_y = row + r < static_cast<int>(rows) ? r : static_cast<int>(rows) - 1 - row;
#pragma unroll 1
  for (int dx = first_x; dx <= last_x; ++dx) {
    const u8* disc = leu_disc + ((dx + r) * side + r);
    const float* score = scores + ((column + dx) * static_cast<int>(rows) + row);
#pragma unroll 1
    for (int dy = first_y; dy <= last_y; ++dy) {
      if (disc[dy] == 0) continue;
      greatest = score[dy] > greatest ? score[dy] : greatest;
    }
  }
  dilated[pixel] = greatest;
}
