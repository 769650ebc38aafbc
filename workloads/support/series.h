// exp, log, sin and cos from the four operations alone, good to about 1e-14: the same on every host, which libm is
// not. Inputs may depend on them, and references use them too.
// SPDX-License-Identifier: MIT
#pragma once

namespace terrace {

inline constexpr double kPi = 3.14159265358979323846;

double series_exp(double x);
/// x > 0.
double series_log(double x);

struct SinCos {
  double sin, cos;
};
/// For angles of at most a few turns.
SinCos series_sin_cos(double angle);

}  // namespace terrace
