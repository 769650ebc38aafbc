// A memory channel between scripted sources: requests go out at given cycles, replies and commands are written down.
// SPDX-License-Identifier: MIT
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <ostream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "dram/channel.h"
#include "stats/stat_tree.h"

namespace terrace {

/// The golden digests of channels are of this text.
inline std::ostream& operator<<(std::ostream& out, const DramCommand& c) {
  static constexpr const char* kNames[] = {"ACT", "PRE", "RD", "WR", "REF"};
  return out << kNames[static_cast<int>(c.kind)] << " bank " << c.bank << " row " << c.row << " @" << c.cycle
             << (c.closes ? " closes" : "");
}

/// The command of a line of a channel's log, such as "102  RD bank 3 row 17 closes it, command clock 98".
inline DramCommand command_of(const std::string& line) {
  static const std::map<std::string, DramCommand::Kind> kKinds{{"ACT", DramCommand::Kind::kActivate},
                                                               {"PRE", DramCommand::Kind::kPrecharge},
                                                               {"RD", DramCommand::Kind::kRead},
                                                               {"WR", DramCommand::Kind::kWrite},
                                                               {"REF", DramCommand::Kind::kRefresh}};
  std::istringstream words(line);
  Cycle core = 0;
  std::string word;
  words >> core >> word;
  DramCommand command{.kind = kKinds.at(word), .bank = 0, .cycle = 0, .row = 0};
  while (words >> word) {
    if (word == "bank") words >> command.bank;
    if (word == "row") words >> command.row;
    if (word == "clock") words >> command.cycle;
    command.closes |= word == "closes";
  }
  EXPECT_TRUE(line.ends_with("  " + text_of(command))) << line;
  return command;
}

struct ScriptedRequest {
  Cycle at = 0;
  DramPlace place{};
  bool write = false;
  TenantId tenant{};
  u8 walk_level = 0;
  u64 words = ~u64{0};  // that a write carries, or a read wants
};
struct SeenReply {
  u32 tag = 0;
  Cycle at = 0;
  PhysAddr line{};
  friend bool operator==(const SeenReply&, const SeenReply&) = default;
};

/// Pushes its requests in order, each not before its cycle; tags are their places in the script. Takes one reply in
/// `reply_every` cycles.
class ScriptedSource final : public Unit {
 public:
  ScriptedSource(Scheduler& scheduler, u32 link_entries, u32 every)
      : to(scheduler, {.rate = 1, .latency = 1, .capacity = link_entries}),
        back(scheduler, {.rate = 1, .latency = 1, .capacity = link_entries}),
        reply_every(every) {}

  Cycle tick(Cycle now) override {
    Cycle wake = kNever;
    if (back.front(now) != nullptr) {
      const Cycle turn = (now + reply_every - 1) / reply_every * reply_every;
      if (turn == now) {
        const DramReply reply = back.pop(now);
        replies.push_back({reply.tag, now, reply.line});
      }
      wake = turn == now ? now + 1 : turn;
    }
    if (sent < script.size()) {
      const ScriptedRequest& next = script[sent];
      if (next.at > now) return std::min(wake, next.at);
      if (to.can_push(now)) {
        to.push(now, {.line = map->address(next.place),
                      .tag = sent,
                      .tenant = next.tenant,
                      .walk_level = next.walk_level,
                      .words = next.words,
                      .write = next.write});
        ++sent;
        wake = now + 1;
      }
    }
    return wake;
  }
  void explain(std::ostream& out) const override {
    if (sent < script.size()) out << script.size() - sent << " requests are left to send\n";
  }
  void archive(Archive& a) { a(to, back, sent, replies); }

  Link<DramRequest> to;
  Link<DramReply> back;
  u32 reply_every;
  const AddressMap* map = nullptr;
  std::vector<ScriptedRequest> script;
  u32 sent = 0;
  std::vector<SeenReply> replies;
};

class DramBench {
 public:
  struct Options {
    u32 core_mhz = 0;  // 0: that of the DRAM
    u32 line_bytes = 128;
    u32 sources = 1;
    u32 tenants = 1;
    u32 link_entries = 4;
    u32 reply_every = 1;
    u32 index = 0;  // of the channel
    Scheduler::Options engine{};
  };

  DramBench(const DramConfig& config, const Options& options)
      : scheduler(options.engine),
        full(config.resolved()),
        channel(config, {.index = options.index,
                         .channels = full.channels,
                         .core_mhz = options.core_mhz ? options.core_mhz : full.clock_mhz,
                         .line_bytes = options.line_bytes,
                         .tenants = options.tenants}),
        clock(full.clock_mhz, options.core_mhz ? options.core_mhz : full.clock_mhz),
        tenants_(options.tenants) {
    const UnitId id = scheduler.add(channel, "channel");
    for (u32 i = 0; i < options.sources; ++i) {
      sources.push_back(std::make_unique<ScriptedSource>(scheduler, options.link_entries, options.reply_every));
      ScriptedSource& source = *sources.back();
      source.map = &channel.map();
      const UnitId own = scheduler.add(source, "source");
      source.to.connect(own, id);
      source.back.connect(id, own);
      channel.connect(source.to, source.back);
    }
    channel.log_to(&log_);
  }

  void send(ScriptedRequest request, u32 source = 0) {
    request.place.channel = full.channels == 1 ? 0 : request.place.channel;
    sources[source]->script.push_back(request);
  }
  void read(Cycle at, u32 bank, u32 row, u32 column = 0) { send({at, {0, bank, row, column}}); }
  void write(Cycle at, u32 bank, u32 row, u32 column = 0) { send({at, {0, bank, row, column}, true}); }

  /// Until nothing is left to do, or the limit.
  Scheduler::End run(Cycle until = 1'000'000'000) {
    const auto end = scheduler.run(until);
    settle(scheduler.now());
    return end;
  }
  void settle(Cycle now) {
    channel.settle(now);
    read_log();
  }

  std::vector<DramCommand> of(DramCommand::Kind kind) const {
    std::vector<DramCommand> some;
    std::copy_if(commands.begin(), commands.end(), std::back_inserter(some),
                 [&](const DramCommand& c) { return c.kind == kind; });
    return some;
  }
  /// The command cycle of the nth command of a kind.
  u64 cycle_of(DramCommand::Kind kind, u32 n = 0) const {
    const auto some = of(kind);
    EXPECT_LT(n, some.size()) << "too few commands of kind " << static_cast<int>(kind);
    return n < some.size() ? some[n].cycle : 0;
  }

  /// Every statistic of the channel by name; broken identities throw.
  std::string statistics() {
    StatTree tree(tenants_);
    tree.add("dram", channel.stats);
    tree.check_identities();
    return tree.csv();
  }
  /// Those of its scheduler and its books too.
  StatTree all_statistics() {
    StatTree tree(tenants_);
    tree.add("dram", channel.stats);
    tree.add("scheduler", channel.scheduler());
    if (channel.blame.on()) tree.add("blame", static_cast<Blame&>(channel.blame));
    return tree;
  }
  void archive(Archive& a) {
    read_log();
    StatTree tree = all_statistics();
    a(scheduler, channel, sources, tree, commands);
  }
  u64 total(const PerTenant<Counter>& counters) const {
    u64 sum = 0;
    for (const Counter& counter : counters.each()) sum += counter.value;
    return sum;
  }

  Scheduler scheduler;
  DramConfig full;
  Channel channel;
  ClockDomain clock;
  std::vector<std::unique_ptr<ScriptedSource>> sources;
  std::vector<DramCommand> commands;  // as the channel's log has them, up to the last run() or settle()

 private:
  void read_log() {
    std::istringstream lines(std::exchange(log_.text, {}));
    for (std::string line; std::getline(lines, line);) {
      commands.push_back(command_of(line));
      EXPECT_EQ(std::stoull(line), clock.core(commands.back().cycle)) << "the cycle of the core's clock stands first";
    }
  }

  u32 tenants_;
  EventLog log_;
};

}  // namespace terrace
