// SPDX-License-Identifier: MIT
#include "toy_machine.h"

#include <memory>
#include <vector>

#include "engine/check.h"
#include "toy_memory.h"
#include "toy_mmu.h"
#include "toy_sm.h"
#include "toy_world.h"

namespace terrace::toy {
namespace {

class Machine {
 public:
  explicit Machine(const Config& config)
      : world_(config),
        mmu_(world_),
        requests_(world_, [](const Access& access) { return access.slice; }),
        replies_(world_, [](const Access& access) { return access.source; }) {
    for (u32 i = 0; i < config.sms; ++i) sms_.push_back(std::make_unique<Sm>(world_, u16(i)));
    for (u32 i = 0; i < config.slices; ++i) slices_.push_back(std::make_unique<Slice>(world_));
    for (u32 i = 0; i < config.channels; ++i) channels_.push_back(std::make_unique<Channel>(world_));
    connect(config);
  }

  Result run() {
    world_.scheduler.run(kNever);
    bool finished = world_.accesses.live() == 0 && world_.translations_in_flight == 0;
    for (const auto& sm : sms_) finished &= sm->finished();
    if (!finished) {
      throw Deadlock("nothing can happen any more, but:\n" + world_.scheduler.explain());
    }
    Stats total;
    add(total, mmu_.stats);
    add(total, requests_.stats);
    add(total, replies_.stats);
    for (const auto& sm : sms_) add(total, sm->stats);
    for (const auto& slice : slices_) add(total, slice->stats);
    for (const auto& channel : channels_) add(total, channel->stats);
    Result result;
    result.cycles = world_.scheduler.now();
    result.digest = 0xcbf29ce484222325 ^ result.cycles;  // FNV-1a over the words
    total.each([&](const char* name, u64 value) {
      result.digest = (result.digest ^ value) * 0x100000001b3;
      result.summary += fmt::format("{}={} ", name, value);
    });
    result.instructions = total.issued;
    result.walks = total.walks;
    result.dram_accesses = total.dram_accesses;
    result.ticks = world_.scheduler.ticks();
    return result;
  }

 private:
  static void add(Stats& to, const Stats& from) {
    const auto* source = reinterpret_cast<const u64*>(&from);
    auto* target = reinterpret_cast<u64*>(&to);
    for (size_t i = 0; i < sizeof(Stats) / sizeof(u64); ++i) target[i] += source[i];
  }
  void connect(const Config& config) {
    Scheduler& scheduler = world_.scheduler;
    const UnitId requests = scheduler.add(requests_, "requests"), replies = scheduler.add(replies_, "replies");
    const UnitId mmu = scheduler.add(mmu_, "mmu");
    std::vector<AccessLink*> up, down, to_slices, from_slices;
    for (u32 i = 0; i < config.sms; ++i) {
      Sm& sm = *sms_[i];
      sm.unit = scheduler.add(sm, fmt::format("sm{}", i));
      sm.requests.connect(sm.unit, requests);
      sm.replies.connect(replies, sm.unit);
      sm.translate.connect(sm.unit, mmu);
      sm.translated.connect(mmu, sm.unit);
      up.push_back(&sm.requests);
      down.push_back(&sm.replies);
      mmu_.sms.push_back(&sm);
    }
    mmu_.requests.connect(mmu, requests);
    mmu_.replies.connect(replies, mmu);
    up.push_back(&mmu_.requests);
    down.push_back(&mmu_.replies);
    for (u32 i = 0; i < config.channels; ++i) scheduler.add(*channels_[i], fmt::format("channel{}", i));
    for (u32 i = 0; i < config.slices; ++i) {
      Slice& slice = *slices_[i];
      const UnitId unit = scheduler.add(slice, fmt::format("slice{}", i));
      const UnitId channel{static_cast<u16>(index(mmu) + 1 + config.sms + i % config.channels)};
      slice.requests.connect(requests, unit);
      slice.replies.connect(unit, replies);
      slice.to_dram.connect(unit, channel);
      slice.from_dram.connect(channel, unit);
      to_slices.push_back(&slice.requests);
      from_slices.push_back(&slice.replies);
      Channel& home = *channels_[i % config.channels];
      home.slices.push_back(&slice);
      if (config.mistake == Mistake::kSameCycleCredit) {
        home.credits = 1;
        slice.shared_credits = &home.credits;
      }
    }
    requests_.connect(up, to_slices);
    replies_.connect(from_slices, down);
  }

  World world_;
  std::vector<std::unique_ptr<Sm>> sms_;
  std::vector<std::unique_ptr<Slice>> slices_;
  std::vector<std::unique_ptr<Channel>> channels_;
  Mmu mmu_;
  Crossbar requests_, replies_;
};

}  // namespace

const std::vector<Mix>& mixes() {
  // Chosen so that instructions per cycle, and walks per instruction, lie in five different regimes.
  static const std::vector<Mix> kMixes = {
      {"compute", 8, 1000, 64, 30},   {"balanced", 200, 700, 512, 30}, {"memory", 280, 600, 512, 30},
      {"walk", 170, 64, 400'000, 30}, {"few_sms", 100, 800, 256, 4},
  };
  return kMixes;
}

const Mix& mix(const std::string& name) {
  for (const Mix& mix : mixes()) {
    if (mix.name == name) return mix;
  }
  throw InputError("no mix named " + name);
}

Result run(const Config& config) {
  return Machine(config).run();
}

}  // namespace terrace::toy
