// SPDX-License-Identifier: MIT
#include "run/timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <iterator>

#include "text/tree.h"

namespace terrace {

namespace {

// Groups of tracks.
constexpr u32 kTenants = 1, kTurns = 2, kDecisions = 3, kEpochs = 4, kRequests = 5, kFirstMmu = 10;

/// With its quotation marks.
std::string json_string(const std::string& text) {
  std::string quoted = json_text(Tree(text));
  quoted.pop_back();
  return quoted;
}

const char* word_of(AccessKind kind) {
  switch (kind) {
    case AccessKind::kLoad:
      return "load";
    case AccessKind::kStore:
      return "store";
    case AccessKind::kAtomic:
      return "atomic";
    case AccessKind::kWalk:
      break;
  }
  return "walk";
}

class Writer {
 public:
  explicit Writer(const std::vector<std::string>& tenants) : tenants_(tenants) { out_ = "{\"traceEvents\":["; }

  void process(u32 pid, const std::string& name) { named("process_name", pid, 0, name); }
  void thread(u32 pid, u32 tid, const std::string& name) { named("thread_name", pid, tid, name); }

  /// `name` is a JSON string; `arguments` are the members of a JSON table.
  void slice(const char* kind, std::string_view name, u32 pid, u32 tid, Cycle from, Cycle to,
             std::string_view arguments = "") {
    begin();
    fmt::format_to(end(), R"({{"ph":"X","cat":"{}","name":{},"pid":{},"tid":{},"ts":{},"dur":{},"args":{{{}}}}})", kind,
                   name, pid, tid, from, to - from, arguments);
  }
  void instant(const char* kind, std::string_view name, u32 pid, u32 tid, Cycle at, std::string_view arguments) {
    begin();
    fmt::format_to(end(), R"({{"ph":"i","s":"p","cat":"{}","name":{},"pid":{},"tid":{},"ts":{},"args":{{{}}}}})", kind,
                   name, pid, tid, at, arguments);
  }
  void counter(const char* kind, std::string_view name, u32 pid, Cycle at, std::string_view values) {
    begin();
    fmt::format_to(end(), R"({{"ph":"C","cat":"{}","name":{},"pid":{},"tid":0,"ts":{},"args":{{{}}}}})", kind, name,
                   pid, at, values);
  }
  /// What was seen and what was kept.
  void sampled(const char* kind, u64 seen, u64 kept) {
    fmt::format_to(std::back_inserter(samples_), R"({}"{}":{{"seen":{},"kept":{}}})", samples_.empty() ? "" : ",", kind,
                   seen, kept);
  }

  std::string tenant(TenantId id) const { return fmt::format("tenant {}: {}", index(id), tenants_[index(id)]); }

  std::string finish(Cycle cycles) {
    fmt::format_to(
        end(),
        "\n],\n\"displayTimeUnit\":\"ms\",\n\"otherData\":{{\"schema\":\"terrace.timeline/1\",\"time\":\"one "
        "microsecond here is one core cycle\",\"cycles\":{},\"events\":{{{}}}}}}}\n",
        cycles, samples_);
    return std::move(out_);
  }

 private:
  std::back_insert_iterator<std::string> end() { return std::back_inserter(out_); }
  void begin() {
    out_ += first_ ? "\n" : ",\n";
    first_ = false;
  }
  void named(const char* what, u32 pid, u32 tid, const std::string& name) {
    begin();
    fmt::format_to(end(), R"({{"ph":"M","name":"{}","pid":{},"tid":{},"args":{{"name":{}}}}})", what, pid, tid,
                   json_string(name));
  }

  const std::vector<std::string>& tenants_;
  std::string out_, samples_;
  bool first_ = true;
};

/// Of how many one is shown, so that there are not more than `most`: a power of two, as elsewhere.
u64 every_of(u64 count, u64 most) {
  return std::bit_ceil((count + most - 1) / std::max<u64>(most, 1));
}

/// Kernels of a tenant that overlap get tracks of their own: slices of one track must lie inside one another or apart.
void add_kernels(Writer& out, const TimelineRecords& records, u32 tenants) {
  out.process(kTenants, "tenants: kernels");
  std::vector<const KernelRecord*> all;
  for (const KernelRecord& kernel : *records.kernels) all.push_back(&kernel);
  const u64 every = every_of(all.size(), records.most_events / TimelineShares::kKernels);
  const u64 ended = all.size();
  for (const KernelRecord& kernel : records.kernels_under_way) all.push_back(&kernel);
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < all.size(); ++i)
    if (i >= ended || i % every == 0) order.push_back(i);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return all[a]->began < all[b]->began; });
  std::vector<std::vector<Cycle>> free_from(tenants);  // by tenant and track
  for (const std::size_t i : order) {
    const KernelRecord& kernel = *all[i];
    std::vector<Cycle>& tracks = free_from[index(kernel.tenant)];
    u32 track = 0;
    while (track < tracks.size() && tracks[track] > kernel.began) ++track;
    // Tracks of tenant 0 are 0, 16, 32 ...: no tenant takes another one's.
    const u32 tid = index(kernel.tenant) + track * kMaxTenants;
    if (track == tracks.size()) {
      tracks.push_back(0);
      out.thread(kTenants, tid, out.tenant(kernel.tenant));
    }
    tracks[track] = kernel.ended;
    out.slice(
        "kernel", json_string(kernel.name), kTenants, tid, kernel.began, kernel.ended,
        fmt::format(R"("tenant":{},"warp_instructions":{},"thread_instructions":{}{})", index(kernel.tenant),
                    kernel.warp_instructions, kernel.thread_instructions, i >= ended ? R"(,"unfinished":true)" : ""));
  }
  out.sampled("kernels", all.size(), order.size());
}

void add_turns(Writer& out, const TimelineRecords& records) {
  if (records.turns == nullptr) return;
  out.process(kTurns, "turns on all SMs");
  std::vector<TurnSpan> turns = records.turns->kept();
  if (records.open_turn) turns.push_back(*records.open_turn);
  for (const TurnSpan& turn : turns) {
    const std::string to = fmt::format(R"("tenant":{})", index(turn.tenant));
    if (turn.instead) {
      out.slice("switch", fmt::format(R"("switch to tenant {}")", index(turn.tenant)), kTurns, 0, turn.began,
                turn.ended, fmt::format(R"({},"from":{})", to, index(*turn.instead)));
    } else {
      out.slice("turn", json_string(out.tenant(turn.tenant)), kTurns, 0, turn.began, turn.ended, to);
    }
  }
  out.sampled("turns", records.turns->seen() + records.open_turn.has_value(), turns.size());
}

void add_decisions(Writer& out, const TimelineRecords& records) {
  const std::vector<SmDecision>& decisions = *records.decisions;
  if (decisions.empty()) return;
  out.process(kDecisions, "SM partitioner: decisions");
  const u64 every = every_of(decisions.size(), records.most_events / TimelineShares::kDecisions);
  u64 shown = 0;
  for (std::size_t i = 0; i < decisions.size(); i += every, ++shown) {
    const SmDecision& each = decisions[i];
    out.instant("decision", json_string(each.text), kDecisions, 0, each.at,
                each.tenant ? fmt::format(R"("tenant":{})", index(*each.tenant)) : "");
    std::string sms;
    for (u32 tenant = 0; tenant < each.running.size(); ++tenant)
      sms += fmt::format(R"({}"tenant {}":{})", tenant == 0 ? "" : ",", tenant, each.running[tenant]);
    if (!sms.empty()) out.counter("sms", R"("SMs")", kDecisions, each.at, sms);
  }
  out.sampled("decisions", decisions.size(), shown);
}

/// A counter holds from its time on, so an epoch's values stand where it began.
void add_epochs(Writer& out, const TimelineRecords& records) {
  if (records.epochs == nullptr) return;
  out.process(kEpochs, "epochs");
  for (const EpochMark& mark : records.epochs->kept()) {
    for (u32 i = 0; i < mark.tenants.size(); ++i) {
      const TenantEpoch& epoch = mark.tenants[i];
      const Cycle from = mark.ended - epoch.cycles;
      out.counter("epoch", fmt::format(R"("instructions, tenant {}")", i), kEpochs, from,
                  fmt::format(R"("warp":{},"thread":{})", epoch.warp_instructions, epoch.thread_instructions));
      out.counter("epoch", fmt::format(R"("memory, tenant {}")", i), kEpochs, from,
                  fmt::format(R"("l2_requests":{},"l2_hits":{},"dram_lines":{},"concurrent_walks":{})",
                              epoch.l2_requests, epoch.l2_hits, epoch.dram_lines, epoch.concurrent_walks));
    }
  }
  out.sampled("epochs", records.epochs->seen(), records.epochs->kept().size());
}

void add_walks(Writer& out, const TimelineRecords& records) {
  u64 seen = 0, kept = 0;
  for (u32 mmu = 0; mmu < records.walks.size(); ++mmu) {
    const u32 pid = kFirstMmu + mmu;
    out.process(pid, fmt::format("mmu.{}: page walks", mmu));
    u32 walkers = 0;
    for (const WalkSpan& walk : records.walks[mmu]->kept()) walkers = std::max(walkers, walk.walker + 1);
    for (u32 walker = 0; walker < walkers; ++walker) out.thread(pid, walker, fmt::format("walker {}", walker));
    for (const WalkSpan& walk : records.walks[mmu]->kept())
      out.slice("walk", fmt::format(R"("tenant {}")", index(walk.tenant)), pid, walk.walker, walk.started, walk.ended,
                fmt::format(R"("tenant":{},"page":"{:#x}","queued":{},"reads":{})", index(walk.tenant), walk.page,
                            walk.started - walk.arrived, walk.reads));
    seen += records.walks[mmu]->seen();
    kept += records.walks[mmu]->kept().size();
  }
  if (!records.walks.empty()) out.sampled("walks", seen, kept);
}

/// The request, and inside it what it waited for, one after the other.
void add_request(Writer& out, const RequestSpan& request, u32 sm) {
  out.slice("request", fmt::format(R"("{}, tenant {}")", word_of(request.kind), index(request.tenant)), kRequests, sm,
            request.began, request.ended,
            fmt::format(R"("tenant":{},"warp":{},"source_line":{},"lines":{},"walks":{})", index(request.tenant),
                        request.warp, request.source_line, request.lines, request.walks));
  const Cycle known = std::max(request.left, request.translated);
  const auto stage = [&](const char* name, Cycle from, Cycle to) {
    if (to > from) out.slice("stage", name, kRequests, sm, from, to);
  };
  stage(R"("in the load-store queue")", request.began, request.left);
  stage(R"("waits for pages")", request.left, known);
  stage(R"("waits for lines")", known, request.ended);
}

void add_requests(Writer& out, const TimelineRecords& records) {
  out.process(kRequests, "SMs: sampled memory instructions");
  u64 seen = 0, kept = 0;
  for (u32 sm = 0; sm < records.requests.size(); ++sm) {
    seen += records.requests[sm]->seen();
    kept += records.requests[sm]->kept().size();
    if (records.requests[sm]->kept().empty()) continue;
    out.thread(kRequests, sm, fmt::format("sm.{}", sm));
    for (const RequestSpan& request : records.requests[sm]->kept()) add_request(out, request, sm);
  }
  out.sampled("requests", seen, kept);
}

}  // namespace

std::string timeline_json(const TimelineRecords& records, const std::vector<std::string>& tenants) {
  Writer out(tenants);
  add_kernels(out, records, static_cast<u32>(tenants.size()));
  add_turns(out, records);
  add_decisions(out, records);
  add_epochs(out, records);
  add_walks(out, records);
  add_requests(out, records);
  return out.finish(records.ended);
}

}  // namespace terrace
