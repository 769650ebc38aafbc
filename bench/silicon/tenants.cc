// SPDX-License-Identifier: MIT
#include "tenants.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "engine/check.h"

namespace terrace::silicon {

const std::vector<TenantKernel>& tenant_kernels() {
  constexpr u64 kMb = u64{1} << 20, kGb = u64{1} << 30;
  static const std::vector<TenantKernel> kAll = {
      {"compute", "tenant_compute", 1024, kMb},          {"shared", "tenant_shared", 1024, kMb},
      {"l1", "tenant_read_own", 1024, 64 * kMb},         {"l2", "tenant_read", 1024, 8 * kMb},
      {"l2_large", "tenant_read", 1024, 30 * kMb},       {"stream", "tenant_read", 1024, 4 * kGb},
      {"write", "tenant_write", 1024, 4 * kGb},          {"copy", "tenant_copy", 1024, 8 * kGb},
      {"mixed", "tenant_mixed", 1024, 4 * kGb},          {"random", "tenant_random_read", 1024, 4 * kGb},
      {"update", "tenant_random_update", 1024, 4 * kGb}, {"atomics", "tenant_random_add", 1024, kMb},
      {"chase", "tenant_chase", 256, 4 * kGb},           {"chase_l2", "tenant_chase", 256, 16 * kMb},
      {"pages", "tenant_pages", 256, 32 * kGb},
  };
  return kAll;
}

u32 tenant_number(const std::string& name) {
  const auto& all = tenant_kernels();
  std::string names;
  for (u32 i = 0; i < all.size(); ++i) {
    if (name == all[i].name) return i;
    names += fmt::format("{}{}", i == 0 ? "" : ", ", all[i].name);
  }
  input_error("there is no tenant called {}; there are {}", name, names);
}

std::vector<Pair> read_pairs(const std::string& path) {
  std::ifstream in(path);
  if (!in) input_error("{} cannot be read; scripts/list_pairs makes it", path);
  std::vector<Pair> pairs;
  u32 number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    if (line.empty() || line[0] == '#') continue;
    std::istringstream words(line);
    std::string first, second, held;
    words >> first >> second >> held;
    if (held != "held" && held != "open")
      input_error("{}:{}: a pair is two names and \"held\" or \"open\", not \"{}\"", path, number, line);
    pairs.push_back({tenant_number(first), tenant_number(second), held == "held"});
  }
  return pairs;
}

Launch tenant_launch(const TenantTask& task, u64 data, u64 out, u32 sms) {
  constexpr u32 kBlocksPerSm = 8;  // all but one leave; so many that every SM gets one whatever the order
  const TenantKernel& kernel = tenant_kernels()[task.tenant];
  Launch launch;
  launch.kernel = kernel.kernel;
  launch.grid = {sms * kBlocksPerSm};
  launch.block = {kernel.threads};
  launch.argument(data)
      .argument(out)
      .argument(std::min(kernel.bytes, task.most_bytes))
      .argument(task.first_sm)
      .argument(task.end_sm);
  launch.argument(u64{sms}).argument(task.start).argument(task.end);
  return launch;
}

TenantCount read_tenant(const std::vector<u64>& out) {
  constexpr u32 kSms = 1024;
  TenantCount count;
  for (u32 sm = 0; sm < kSms; ++sm) {
    if (out[sm] > 0) count.sms.insert(sm);
    count.units += out[kSms + sm];
  }
  count.last_begin = out[2 * kSms + 1];
  if (out[2 * kSms + 3] > 0)
    count.megahertz = 1000 * static_cast<double>(out[2 * kSms + 2]) / static_cast<double>(out[2 * kSms + 3]);
  return count;
}

std::string json_values(const std::vector<double>& values) {
  std::string text = "[";
  for (const double value : values) text += fmt::format("{}{:.5g}", text.size() == 1 ? "" : ", ", value);
  return text + "]";
}

}  // namespace terrace::silicon
