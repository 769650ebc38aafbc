// Monte Carlo in the LIBOR market model: the value of a portfolio of swaptions on a path of forward rates, and in the
// second kernel its sensitivity to the last rate, by going backwards through all steps of the path. One thread per path;
// its rates are in local memory because they are indexed by loop counters.
// SPDX-License-Identifier: MIT
#include "terrace_device.h"

namespace {
constexpr int kForward = 40, kMostSteps = 40, kMostRates = kForward + kMostSteps, kSwaptions = 15;
constexpr float kNormal = 0.3f;  // every draw, as in the original
}  // namespace

struct Portfolio {
  int maturity[kSwaptions];
  float rate[kSwaptions];
};
__constant__ float lib_volatility[kMostRates];
__constant__ float lib_delta;  // years between rates
__constant__ Portfolio lib_portfolio;

namespace {

/// One step of all rates not yet fixed. `kept`, where there is one, receives them.
__device__ __forceinline__ void step_rates(int step, int count, float* rates, const float* normals, float* kept) {
  const float delta = lib_delta;
  const float shock = fast_sqrt(delta) * normals[step];
  float drift = 0.0f;
#pragma unroll 1
  for (int i = step + 1; i < count; ++i) {
    const float volatility = lib_volatility[i - step - 1];
    const float scaled = delta * volatility;
    const float rate = rates[i];
    drift += fast_divide(scaled * rate, 1.0f + delta * rate);
    const float next = rate * fast_exp(scaled * drift + volatility * (shock - 0.5f * scaled));
    rates[i] = next;
    if (kept) kept[i] = next;
  }
}

__device__ __forceinline__ void start_path(int count, float* rates, float* normals, float first_rate) {
#pragma unroll 1
  for (int i = 0; i < count; ++i) {
    normals[i] = kNormal;
    rates[i] = first_rate;
  }
}

/// Discount factors of the rates beyond the last step, and their sums.
__device__ __forceinline__ void discount(int steps, const float* rates, float* factors, float* sums) {
  float factor = 1.0f, sum = 0.0f;
#pragma unroll 1
  for (int n = steps; n < steps + kForward; ++n) {
    factor = fast_divide(factor, 1.0f + lib_delta * rates[n]);
    sum += lib_delta * factor;
    factors[n - steps] = factor;
    sums[n - steps] = sum;
  }
}

__device__ __forceinline__ float swap_value(int swaption, const float* factors, const float* sums) {
  const int last = lib_portfolio.maturity[swaption] - 1;
  return factors[last] + lib_portfolio.rate[swaption] * sums[last] - 1.0f;
}

}  // namespace

/// Values alone. `steps` rates are fixed one after the other, 40 more are left at the end.
extern "C" __global__ void lib_values(float* values, float first_rate, int steps, u32 paths) {
  const u32 path = global_thread();
  if (path >= paths) return;
  float rates[kMostRates], normals[kMostRates], factors[kForward], sums[kForward];
  start_path(steps + kForward, rates, normals, first_rate);
#pragma unroll 1
  for (int step = 0; step < steps; ++step) step_rates(step, steps + kForward, rates, normals, nullptr);

  discount(steps, rates, factors, sums);
  float value = 0.0f;
#pragma unroll 1
  for (int i = 0; i < kSwaptions; ++i) {
    const float swap = swap_value(i, factors, sums);
    if (swap < 0.0f) value -= 100.0f * swap;
  }
#pragma unroll 1
  for (int n = 0; n < steps; ++n) value = fast_divide(value, 1.0f + lib_delta * rates[n]);
  values[path] = value;
}

namespace {

/// The value, and in `slope` its derivatives by the rates at the end of the path.
__device__ __forceinline__ float portfolio_slopes(int steps, const float* rates, float* slope) {
  float factors[kForward], sums[kForward], factor_slope[kForward], sum_slope[kForward];
  const float delta = lib_delta;
  discount(steps, rates, factors, sums);
#pragma unroll 1
  for (int n = 0; n < kForward; ++n) factor_slope[n] = sum_slope[n] = 0.0f;
  float value = 0.0f;
#pragma unroll 1
  for (int i = 0; i < kSwaptions; ++i) {
    const int last = lib_portfolio.maturity[i] - 1;
    const float swap = swap_value(i, factors, sums);
    if (swap < 0.0f) {
      value -= 100.0f * swap;
      factor_slope[last] -= 100.0f;
      sum_slope[last] -= 100.0f * lib_portfolio.rate[i];
    }
  }
#pragma unroll 1
  for (int n = steps + kForward - 1; n >= steps; --n) {
    const int k = n - steps;
    const float growth = 1.0f + delta * rates[n];
    const float by_factor = factor_slope[k] + delta * sum_slope[k];
    slope[n] = -by_factor * factors[k] * fast_divide(delta, growth);
    if (k > 0) {
      sum_slope[k - 1] += sum_slope[k];
      factor_slope[k - 1] += fast_divide(by_factor, growth);
    }
  }
  float today = 1.0f;
#pragma unroll 1
  for (int n = 0; n < steps; ++n) today = fast_divide(today, 1.0f + delta * rates[n]);
  value *= today;
#pragma unroll 1
  for (int n = 0; n < steps; ++n) slope[n] = -value * fast_divide(delta, 1.0f + delta * rates[n]);
#pragma unroll 1
  for (int n = steps; n < steps + kForward; ++n) slope[n] *= today;
  return value;
}

/// Derivatives by the rates before a step from those after it.
__device__ __forceinline__ void step_back(int step, int count, const float* path, float* slope) {
  const float* const before = path + step * kMostRates;
  const float* const after = before + kMostRates;
  const float delta = lib_delta;
  float through_drift = 0.0f;
#pragma unroll 1
  for (int i = count - 1; i > step; --i) {
    const float volatility = lib_volatility[i - step - 1];
    const float scaled = delta * volatility;
    const float rate_after = after[i], rate_before = before[i], by_rate = slope[i];
    through_drift += scaled * rate_after * by_rate;
    const float per_growth = fast_divide(1.0f, 1.0f + delta * rate_before);
    slope[i] = by_rate * fast_divide(rate_after, rate_before) + through_drift * scaled * per_growth * per_growth;
  }
}

}  // namespace

/// Values, and their derivatives by the last forward rate at the start.
extern "C" __global__ void lib_greeks(float* values, float* slopes, float first_rate, int steps, u32 paths) {
  const u32 path = global_thread();
  if (path >= paths) return;
  const int count = steps + kForward;
  float rates[kMostRates], normals[kMostRates], kept[kMostRates * (kMostSteps + 1)];
  start_path(count, rates, normals, first_rate);
#pragma unroll 1
  for (int i = 0; i < count; ++i) kept[i] = rates[i];
#pragma unroll 1
  for (int step = 0; step < steps; ++step) step_rates(step, count, rates, normals, kept + (step + 1) * kMostRates);

  float* const slope = normals;  // the draws are done with
  values[path] = portfolio_slopes(steps, rates, slope);
#pragma unroll 1
  for (int step = steps - 1; step >= 0; --step) step_back(step, count, kept, slope);
  slopes[path] = slope[count - 1];
}
