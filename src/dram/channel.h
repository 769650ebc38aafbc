// A memory channel: takes requests for whole lines from any number of sources, lets a DramScheduler hold and order
// them, issues commands under all times of the devices, and answers reads to the source they came from. Writes are
// posted. It stands behind the L2 slices (or a walker that goes straight to memory) and is the end of the path.
//
// One command per command clock (row and column each, where the standard has two buses). The channel reads until
// write_high writes wait or no read does, and writes until write_low are left; a scheduler may have it read in between.
// A read behind a waiting write of its line gets what was written, in the time of any read.
// With partial_writes = "read", a write of parts of bursts waits as a read first, then as a write.
// A rank whose refresh is due serves nothing until it is done. A source must take replies whether or not its requests
// are accepted, or the two wait for each other.
// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <vector>

#include "blame/waiting.h"
#include "dram/address_map.h"
#include "dram/command.h"
#include "dram/device.h"
#include "dram/dram_blame.h"
#include "dram/dram_config.h"
#include "dram/dram_stats.h"
#include "engine/archive.h"
#include "engine/clock.h"
#include "engine/link.h"
#include "engine/ring.h"
#include "engine/unit.h"
#include "wire/dram.h"

namespace terrace {

/// What a channel needs to know besides its configuration.
struct DramChannelSetup {
  u32 index = 0;                // among the channels
  u32 first = 0, channels = 1;  // of the part of memory that it belongs to
  u32 core_mhz = 1000;
  u32 line_bytes = 128;
  u32 tenants = 1;
  u64 seed = 1;
};

class Channel final : public Unit {
 public:
  Channel(const DramConfig& config, const DramChannelSetup& setup);

  /// One more source; before the first cycle. The links' ends are connected by whoever draws them. Replies come in the
  /// order in which the data does, which is not that of the requests.
  void connect(Link<DramRequest>& requests, Link<DramReply>& replies);

  Cycle tick(Cycle now) override;
  void explain(std::ostream& out) const override;

  /// Accounts for the refreshes of an idle channel up to the end of cycle `now`; changes no result. At the end of a
  /// run.
  void settle(Cycle now);

  /// Whom to tell what is read and written; before the first cycle.
  void observe(LineTruth& truth) { truth_ = &truth; }

  /// Between cycles, before cycle `now`, in which the caller also wakes the channel.
  void epoch(TenantEpochs tenants, Cycle now);
  bool by_epochs() const { return scheduler_->by_epochs(); }
  DramScheduler& scheduler() const { return *scheduler_; }

  /// From now on: which tenant's reads wait for which tenant. After the sources are connected, before the first cycle.
  void enable_blame(u32 tenants);

  const AddressMap& map() const { return map_; }
  bool idle() const { return stats.waiting == 0 && stats.reads_in_flight == 0; }

  void archive(Archive& a);

  DramStats stats;
  DramBlame blame;

 private:
  using Choice = DramScheduler::Choice;
  struct Entry {
    DramRequest request;
    u32 row = 0;
    u32 source = 0;
    u64 age = 0;
    Cycle accepted = 0;
    u8 bank = 0;
    bool reads_first = false;  // a write of which the rest of its bursts is read
    bool writes() const { return request.write && !reads_first; }
  };
  /// Bursts that were read, and are to be written in part.
  struct Merged {
    Cycle at = 0;  // when they are there
    Entry entry;
  };
  struct Return {
    Cycle at = 0;
    DramReply reply;
    bool walk = false;
    TenantId whose() const { return reply.tenant; }
  };
  struct Source {
    Link<DramReply>* replies;
    OutletRing<Return> returns;
    bool looked_up = false;  // `next` stands for the request at the end of its link,
    bool refused = false;    // which was refused, and nothing has changed since
    DramWaiting next{};
    void archive(Archive& a) { a(returns, looked_up, refused, next); }
  };
  struct Refresh {
    u64 due = 0;
    bool pending = false;
  };
  static constexpr u32 kUrgencyShift = 56;  // keys are urgency, then age: 2^56 requests are out of reach
  static constexpr u32 kPassLimit = 16;     // chosen: the lines of a GDDR5 row, as in FR-FCFS
  struct Best {
    u64 key = ~u64{0};
    u32 bank = DramDevice::kMaxBanks;
    bool passes = false;  // goes before an older one

    bool found() const { return bank != DramDevice::kMaxBanks; }
    u32 urgency() const { return static_cast<u32>(key >> kUrgencyShift); }
    void consider(u32 other, u64 its_key) {
      const bool best = its_key < key;
      key = best ? its_key : key;
      bank = best ? other : bank;
    }
    /// A bank that cannot go yet, or could but is not the best, counts for `next`. Which of the three it is, no host foresees:
    /// hence without branches.
    void consider_at(u64 cycle, u64 at, u32 other, u64 its_key, u64& next) {
      const bool goes = at <= cycle;
      const u64 again = goes ? (found() ? cycle + 1 : kNever) : at;
      next = std::min(next, again);
      consider(other, goes ? its_key : ~u64{0});
    }
  };

  void deliver(Cycle now);
  void deliver_to(u32 source, Cycle now);
  void accept(Cycle now);
  bool offer(u32 source, Cycle now);
  void offer_merged(Cycle now);
  void take_in(u16 entry, Cycle now);
  void turn();
  void retry_refused();
  /// Something may be possible in this cycle that was not before.
  void look_now(Cycle now) {
    cursor_ = std::min(cursor_, first_cycle(now));
    look_at_ = now;
  }
  Cycle next_wake(Cycle now) const;

  /// The command cycles of core cycle `now` are first_cycle(now) to clock_.local(now); there may be none.
  u64 first_cycle(Cycle now) const { return now == 0 ? 0 : clock_.local(now - 1) + 1; }
  void advance(u64 until, Cycle now);
  u64 decide(u64 cycle, Cycle now);
  /// No command can be issued before.
  u64 next_chance() const;
  bool refresh(u64 cycle, bool bus_free);
  void choose_anew();
  void classify(u32 bank);
  void find_command(u32 bank);
  void note_row_command(u32 bank);
  Best best_column(u64 cycle);
  Best best_activate(u64 cycle);
  Best best_precharge(u64 cycle);
  void issue_column(const Best& chosen, u64 cycle, Cycle now);
  void issue_activate(u32 bank, u64 cycle);
  void issue_precharge(u32 bank, u64 cycle);
  void log(DramCommand::Kind kind, u32 bank, u64 cycle, u32 row, bool closes = false) {
    if (is_logged()) [[unlikely]]
      log({kind, bank, cycle, row, closes});
  }
  [[gnu::cold, gnu::noinline]] void log(const DramCommand& command);

  DramConfig config_;
  u32 index_;  // among the channels of its part of memory
  ClockDomain clock_;
  AddressMap map_;
  DramDevice device_;
  std::unique_ptr<DramScheduler> scheduler_;
  WaitingLinks<DramRequest> requests_;  // by source
  std::vector<Source> sources_;
  std::vector<u64> returns_in_;  // sources whose reads return, a bit each
  bool any_refused_ = false;
  u32 next_source_ = 0;  // moves on grants
  Cycle accept_at_ = 0;  // before, nothing arrives that has not been offered
  std::vector<Entry> entries_;
  std::vector<u16> free_entries_;
  /// Reads in the queue, whose cycles of waiting banks count.
  struct QueuedReads final : WaitBook {
    explicit QueuedReads(const Channel& channel) : channel_(channel) {}
    void enter_late(Cycle) override {}
    void visit(Cycle now, const Waiting& waits) const override;
    const Channel& channel_;
  } queued_reads_{*this};
  u64 next_age_ = 0;
  u32 waiting_[2] = {};  // reads, writes
  // Writes that are read first: those that were read, and all that are not in the queue as writes yet.
  Ring<Merged> merged_;
  u32 merging_ = 0;
  bool merged_refused_ = false;  // the first of them found no place, and nothing has changed since
  u16 waiting_in_[DramDevice::kMaxBanks] = {};
  u32 returning_ = 0;
  Cycle next_return_ = kNever;  // the first that comes later than now
  bool returns_held_ = false;   // some wait for a reply link
  bool more_requests_ = false;  // some have arrived that can be offered in the next cycle
  bool drains_ = false;         // a batch of writes is under way;
  bool writing_ = false;        // it may be interrupted for reads that must not wait

  Cycle look_at_ = 0;  // the core cycle in which cursor_ begins
  u64 cursor_ = 0;     // the first command cycle that is not decided yet, and can be of interest
  u64 column_at_ = kNever, activate_at_ = kNever, precharge_at_ = kNever;
  u64 bus_at_ = 0;  // no line fits on the bus before
  u32 passed_ = 0;  // lines that went before the oldest one whose bank was ready
  // Banks, a bit each.
  u64 all_banks_;
  u64 stale_ = 0;     // the choice must be asked for again
  u64 occupied_ = 0;  // requests wait for them
  u64 wants_column_ = 0, wants_activate_ = 0, wants_precharge_ = 0;
  u64 blocked_ = 0;                 // their rank is to be refreshed
  u64 fresh_ = 0, conflicted_ = 0;  // opened for a request not yet served; another row was closed for it
  Choice choices_[DramDevice::kMaxBanks];
  u64 keys_[DramDevice::kMaxBanks] = {};      // urgency and age of the choice
  u64 ready_at_[DramDevice::kMaxBanks] = {};  // when the bank itself allows the command it wants
  std::vector<Refresh> refreshes_;
  u64 refresh_at_ = kNever;  // when refreshes must be looked at next
  LineTruth* truth_ = nullptr;
};

}  // namespace terrace
