// SPDX-License-Identifier: MIT
#include "dxt1.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace terrace::dxt1 {
namespace {

using Colour = std::array<double, 3>;
constexpr double kSteps[3] = {31, 63, 31};
constexpr u32 kShifts[3] = {11, 5, 0};

Colour colour_of(u32 pixel) {
  return {(pixel & 255) / 255.0, (pixel >> 8 & 255) / 255.0, (pixel >> 16 & 255) / 255.0};
}
Colour end_point(u64 bits) {
  Colour colour;
  for (u64 c = 0; c < 3; ++c)
    colour[c] = static_cast<double>(bits >> kShifts[c] & static_cast<u64>(kSteps[c])) / kSteps[c];
  return colour;
}

u32 cut_at(u64 first, u64 second, u64 third) {
  u32 cut = 0;
  for (u64 i = 0; i < kPixels; ++i) cut |= (i < first ? 0u : i < second ? 2u : i < third ? 3u : 1u) << (2 * i);
  return cut;
}

/// The places of the pixels in order along the principal axis.
std::array<u64, kPixels> sorted_places(const std::array<Colour, kPixels>& colours, const Colour& sum) {
  double covariance[3][3] = {};
  for (const Colour& colour : colours) {
    for (u64 i = 0; i < 3; ++i) {
      for (u64 j = 0; j < 3; ++j) covariance[i][j] += (colour[i] - sum[i] / kPixels) * (colour[j] - sum[j] / kPixels);
    }
  }
  Colour axis = {1, 1, 1};
  for (u32 iteration = 0; iteration < 8; ++iteration) {
    Colour next{};
    double most = 0;
    for (u64 i = 0; i < 3; ++i) {
      for (u64 j = 0; j < 3; ++j) next[i] += covariance[i][j] * axis[j];
      most = std::max(most, std::fabs(next[i]));
    }
    if (most == 0) break;
    for (u64 i = 0; i < 3; ++i) axis[i] = next[i] / most;
  }
  const auto position = [&](u64 i) { return std::inner_product(axis.begin(), axis.end(), colours[i].begin(), 0.0); };
  std::array<u64, kPixels> places;
  std::iota(places.begin(), places.end(), u64{0});
  std::sort(places.begin(), places.end(),
            [&](u64 a, u64 b) { return position(a) < position(b) || (position(a) == position(b) && a < b); });
  return places;
}

struct Choice {
  double error = 1e30;
  u64 first = 0, second = 0;
  u32 cut = 0;
  bool three = false;
};

void try_cut(Choice& best, u32 cut, bool three, const std::array<Colour, kPixels>& sorted, const Colour& sum) {
  constexpr double kWeights[2][4] = {{1, 0, 2.0 / 3, 1.0 / 3}, {1, 0, 0.5, 0}};
  double aa = 0, bb = 0, ab = 0;
  Colour ax{};
  for (u64 i = 0; i < kPixels; ++i) {
    const u32 entry = cut >> (2 * i) & 3;
    const double a = kWeights[three][entry], b = three && entry == 3 ? 0 : 1 - a;
    aa += a * a;
    bb += b * b;
    ab += a * b;
    for (u64 c = 0; c < 3; ++c) ax[c] += a * sorted[i][c];
  }
  const double determinant = aa * bb - ab * ab;
  if (determinant < 1e-3) return;
  Choice choice{0, 0, 0, cut, three};
  for (u64 c = 0; c < 3; ++c) {
    const double bx = sum[c] - ax[c];
    const auto step = [&](double x) { return std::floor(std::clamp(x, 0.0, 1.0) * kSteps[c] + 0.5); };
    const double first = step((ax[c] * bb - bx * ab) / determinant);
    const double second = step((bx * aa - ax[c] * ab) / determinant);
    const double a = first / kSteps[c], b = second / kSteps[c];
    choice.error += a * a * aa + b * b * bb + 2 * (a * b * ab - a * ax[c] - b * bx);
    choice.first |= static_cast<u64>(first) << kShifts[c];
    choice.second |= static_cast<u64>(second) << kShifts[c];
  }
  if (choice.error < best.error) best = choice;
}

}  // namespace

std::vector<u32> all_cuts(u32 count) {
  std::vector<u32> cuts;
  for (u64 first = 0; first <= kPixels; ++first) {
    for (u64 second = first; second <= kPixels; ++second) cuts.push_back(cut_at(first, second, second));
  }
  cuts.resize(kThreeColourCuts, cuts.back());
  for (u64 first = 0; first <= kPixels; ++first) {
    for (u64 second = first; second <= kPixels; ++second) {
      for (u64 third = second + 1; third <= kPixels; ++third) cuts.push_back(cut_at(first, second, third));
    }
  }
  cuts.resize(count, cuts.back());
  return cuts;
}

u64 compress(const Block& pixels, std::span<const u32> cuts, u32 four_cuts, u32 three_cuts) {
  std::array<Colour, kPixels> colours, sorted;
  Colour sum{};
  for (u64 i = 0; i < kPixels; ++i) {
    colours[i] = colour_of(pixels[i]);
    for (u64 c = 0; c < 3; ++c) sum[c] += colours[i][c];
  }
  const auto places = sorted_places(colours, sum);
  for (u64 i = 0; i < kPixels; ++i) sorted[i] = colours[places[i]];
  Choice best;
  for (u64 i = 0; i < four_cuts; ++i) try_cut(best, cuts[i], false, sorted, sum);
  for (u64 i = 0; i < three_cuts; ++i) try_cut(best, cuts[i], true, sorted, sum);
  // The order of the end points tells the decoder how many colours there are.
  if (best.three ? best.first > best.second : best.first < best.second) {
    std::swap(best.first, best.second);
    best.cut ^= best.three ? ~best.cut >> 1 & 0x5555'5555u : 0x5555'5555u;
  }
  if (best.first == best.second) best.cut = 0;
  u64 entries = 0;
  for (u64 i = 0; i < kPixels; ++i) entries |= u64{best.cut >> (2 * i) & 3} << (2 * places[i]);
  return entries << 32 | best.second << 16 | best.first;
}

double squared_error(const Block& pixels, u64 compressed) {
  const u64 first = compressed & 0xffff, second = compressed >> 16 & 0xffff;
  const Colour a = end_point(first), b = end_point(second);
  double sum = 0;
  for (u64 i = 0; i < kPixels; ++i) {
    const u64 entry = compressed >> (32 + 2 * i) & 3;
    const Colour want = colour_of(pixels[i]);
    for (u64 c = 0; c < 3; ++c) {
      const double middle =
          first > second ? (entry == 2 ? 2 * a[c] + b[c] : a[c] + 2 * b[c]) / 3 : (entry == 2 ? (a[c] + b[c]) / 2 : 0);
      const double got = entry == 0 ? a[c] : entry == 1 ? b[c] : middle;
      sum += (got - want[c]) * (got - want[c]);
    }
  }
  return sum;
}

}  // namespace terrace::dxt1
