// Mathematics by the names of the C++ standard library, beside host code that uses it, too.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>
#include <iostream>
#include <vector>

__global__ void identities(const double* x, double* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  double v = x[i];
  float f = (float)v;
  y[i] = std::exp(std::log(v)) / v + std::sqrt(v * v) / v + std::pow(v, 0.0) +
         std::abs(std::exp(-f) * std::exp(f) - 1.0f) * 1e-3 + std::max(std::floor(v - v), 0.0) + std::isnan(v);
}

int main() {
  std::vector<double> v(10, std::exp(1.0));
  std::cout << std::sqrt(*std::max_element(v.begin(), v.end())) << std::endl;
}
