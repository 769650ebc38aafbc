// Kernels that share a GPU in pairs: what they are called, and how they are launched on a real GPU (pairs.cc) and in Terrace
// (predicted.cc).
// SPDX-License-Identifier: MIT
#pragma once

#include <set>
#include <string>
#include <vector>

#include "frontend/program.h"

namespace terrace::silicon {

struct TenantKernel {
  const char* name;
  const char* kernel;  // of tenants.cu
  u32 threads;         // of a block, one for each SM
  u64 bytes;
};
const std::vector<TenantKernel>& tenant_kernels();
/// An unknown name is the user's error.
u32 tenant_number(const std::string& name);

struct Pair {
  u32 first, second;
  bool held;  // kept from any fitting
};
/// As scripts/list_pairs writes them.
std::vector<Pair> read_pairs(const std::string& path);

/// The SMs of the first tenant, by halves and by a quarter and the rest; an even number, since SMs come in twos.
struct Split {
  const char* name;
  u32 percent;  // of the first tenant
  u32 sms_of_first(u32 sms) const { return (sms * percent / 100 + 1) / 2 * 2; }
};
inline constexpr Split kSplits[] = {{"half", 50}, {"quarter", 25}};

/// `out` of a tenant, in words of 8 bytes, as in tenants.cu.
inline constexpr u32 kTenantOutWords = 2 * 1024 + 8;

struct TenantTask {
  u32 tenant = 0;
  u64 first_sm = 0, end_sm = 1024;
  u64 start = 0, end = 0;    // of the window
  u64 most_bytes = ~u64{0};  // of its data, where there is less than it asks for
};
Launch tenant_launch(const TenantTask& task, u64 data, u64 out, u32 sms);

struct TenantCount {
  u64 units = 0;       // done within the window
  std::set<u32> sms;   // where it ran
  u64 last_begin = 0;  // when the last of its blocks began
  double megahertz = 0;
};
TenantCount read_tenant(const std::vector<u64>& out);

/// Values as a list of JSON.
std::string json_values(const std::vector<double>& values);

}  // namespace terrace::silicon
