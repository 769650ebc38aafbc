// terrace serve: CUDA programs that attach to a socket, each a tenant of one simulated GPU as long as it runs (docs/cuda.md).
// SPDX-License-Identifier: MIT
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <optional>

#include "cli/commands.h"
#include "cli/cuda_tenants.h"
#include "cli/progress.h"
#include "cli/serve_clients.h"
#include "config/field_text.h"
#include "cuda/reception.h"
#include "engine/check.h"
#include "engine/interrupt.h"
#include "text/output.h"

namespace terrace {
namespace {

namespace fs = std::filesystem;

/// The socket of a server; it goes when the server ends, however it does.
class SocketFile {
 public:
  explicit SocketFile(std::string path) : path_(std::move(path)), listening_(cuda::listen_at(path_)) {
    remove_if_killed(path_);
  }
  ~SocketFile() {
    keep_if_killed(path_);
    unlink(path_.c_str());
  }
  SocketFile(const SocketFile&) = delete;
  SocketFile& operator=(const SocketFile&) = delete;
  const cuda::Descriptor& listening() const { return listening_; }

 private:
  std::string path_;
  cuda::Descriptor listening_;
};

/// Who is served, and for how long.
struct Service {
  cuda::Reception::Setup setup;
  bool fixed = false;  // a set of clients that begin together
};

u64 number_of(const std::string& text, std::string_view option, u64 most) {
  const auto number = parse_integer(text);
  if (!number || *number < 1 || *number > most)
    input_error("serve: {} must be a whole number from 1 to {}, not {}", option, most, text);
  return *number;
}

Service service_of(const CudaOptions& options) {
  constexpr u32 kTenants = 4;              // chosen: as many as the mixes of the papers have tenants
  constexpr u64 kMostClients = 1'000'000;  // chosen: a table of more lines helps nobody
  Service service;
  service.fixed = options.tenants.empty() && !options.clients.empty();
  if (!options.clients.empty())
    service.setup.clients = number_of(options.clients, "--clients", service.fixed ? kMaxTenants : kMostClients);
  service.setup.tenants = service.fixed ? static_cast<u32>(service.setup.clients)
                          : options.tenants.empty()
                              ? kTenants
                              : static_cast<u32>(number_of(options.tenants, "--tenants", kMaxTenants));
  service.setup.patience_s = seconds_of(options.host_timeout, kHostTimeout, "serve", "--host-timeout");
  service.setup.idle_s = seconds_of(options.idle, 0, "serve", "--idle");
  if (service.fixed && service.setup.idle_s != 0)
    input_error("serve: --idle has no effect with --clients alone, which waits for all of them; add --tenants");
  return service;
}

std::string invitation(const Service& service, const std::string& socket) {
  const std::string who = !service.fixed ? fmt::format("clients, at most {} at a time,", service.setup.tenants)
                          : service.setup.clients == 1 ? "a client"
                                                       : fmt::format("{} clients", service.setup.clients);
  return fmt::format("waiting for {} at {}; run a program with LD_LIBRARY_PATH={} {}={}", who, socket, cudart_folder(),
                     cuda::kSocketVariable, fs::absolute(socket).string());
}

class Server {
 public:
  Server(const CommandLine& line, const Service& service, cuda::Reception& reception)
      : line_(line), reception_(reception), request_(request_of(line)), clients_(service.setup.tenants) {
    const std::vector<std::string> first = reception.waiting();
    for (u32 tenant = 0; tenant < service.setup.tenants; ++tenant) {
      const std::string name =
          service.fixed && !first[tenant].empty() ? first[tenant] : fmt::format("tenant {}", tenant);
      tenants_.push_back(make_tenant(request_.config, name, service.setup.tenants,
                                     std::make_unique<cuda::TenantHost>(reception, TenantId(tenant))));
    }
  }

  int run(std::optional<OutputFile>& json) {
    Progress progress(line_.command, Progress::style_of_stderr(line_.quiet));
    request_.check = false;  // clients come and go: what became of each is told in a list of its own
    for (const CudaTenant& tenant : tenants_) {
      request_.given.push_back(given(tenant));
      request_.given.back().visitors = &reception_;
    }
    request_.progress = [&progress](double part, Cycle cycles, u64 warp_instructions) {
      if (progress.due(part)) progress.update(part, cycles, warp_instructions);
    };
    request_.stop = interrupted;
    request_.on_departure = [&](u32 tenant, const TenantProgress& in_all) {
      progress.finish();
      note_departure(tenant, in_all);
    };
    request_.on_end = [&](u32 tenant, const TenantProgress& in_all) {
      if (in_all.visits > 0 && in_all.left == kNever)
        add(tenant, in_all, {false, "was attached when the server ended"});
    };
    RunResult result = simulate(request_);
    progress.finish();
    if (json) {
      result.json["clients"] = clients_.json();
      json->write(json_text(result.json));
      json->commit();
    }
    write_stdout(result.text + (clients_.empty() ? "\nno client came\n" : "\n" + clients_.table()));
    if (clients_.all_faulted()) return kInputExitCode;
    return clients_.all_ended_well() ? 0 : 1;
  }

 private:
  const ServedClient& add(u32 tenant, const TenantProgress& in_all, CheckResult end) {
    return clients_.add(tenant, reception_.command(TenantId(tenant)), in_all, tenants_[tenant].program->launches(),
                        std::move(end));
  }
  void note_departure(u32 tenant, const TenantProgress& in_all) {
    const ServedClient& client = add(tenant, in_all, tenants_[tenant].program->check(*tenants_[tenant].memory));
    if (!line_.quiet || client.fault) say(clients_.sentence());
  }

  const CommandLine& line_;
  cuda::Reception& reception_;
  RunRequest request_;
  ServedClients clients_;
  std::vector<CudaTenant> tenants_;
};

}  // namespace

int serve_command(const CommandLine& line) {
  request_of(line);  // wrong input is told before anybody attaches
  const Service service = service_of(line.cuda);
  std::optional<OutputFile> json;
  if (!line.run.json.empty()) json.emplace(line.run.json);
  const SocketFile socket(line.cuda.socket);
  cuda::Reception reception(socket.listening(), service.setup);
  if (!line.quiet) say(invitation(service, line.cuda.socket));
  if (service.fixed) reception.gather();
  return Server(line, service, reception).run(json);
}

}  // namespace terrace
