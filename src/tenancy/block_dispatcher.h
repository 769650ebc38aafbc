// Hands thread blocks to SMs: each tenant's blocks in order, to the SMs that are its own, as soon as one has room
// (warps, blocks, registers, shared memory), at most one block per SM and cycle. It knows what every SM holds because
// every block it sends comes back. Of a tenant's launches in flight the oldest that has blocks left sends; the next one
// gets the room that is left when the last of them has gone. An SM that goes to another tenant gets its first block when
// it has given back all of the last one's. Blocks that come back unfinished go before those that have not begun. When
// tenants take turns, every SM has as much room for each of them, and the one whose turn it is sends.
// SPDX-License-Identifier: MIT
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "config/fields.h"
#include "engine/link.h"
#include "engine/scheduler.h"
#include "frontend/inst_stream.h"
#include "stats/stat_fields.h"
#include "wire/dispatch.h"

namespace terrace {

struct DispatchStats {
  PerTenant<Counter> launches, blocks_sent, blocks_back, idle_cycles;
  u64 unfinished_blocks = 0;  // that came back before they had ended
  void describe(StatFields& v) {
    v("launches", launches, "launches", "kernels launched");
    v("blocks_sent", blocks_sent, "blocks", "thread blocks sent to SMs");
    v("blocks_back", blocks_back, "blocks", "thread blocks completed");
    v("idle_cycles", idle_cycles, "cycles", "cycles between kernels of a tenant (launch gaps)");
    v.identity("every block sent comes back", sum(blocks_sent), sum(blocks_back, unfinished_blocks));
  }
};

class BlockDispatcher final : public Unit {
 public:
  struct SmPort {
    Link<BlockStart>* starts;
    Link<BlockDone>* done;
  };
  BlockDispatcher(Scheduler& scheduler, SmRoom whole_sm, u32 warp_width, std::vector<SmPort> sms,
                  std::vector<std::vector<u32>> sms_of_tenant, bool take_turns = false);
  void connect(UnitId self) { self_ = self; }

  Cycle tick(Cycle now) override;
  void explain(std::ostream& out) const override;

  // Between cycles only.
  /// Starts a launch, beside those in flight: its first blocks leave in cycle `at`. One that fits on no SM is an
  /// InputError.
  void launch(TenantId tenant, const LaunchShape& shape, Cycle at);
  /// No more blocks of this tenant leave; those under way come back.
  void cancel(TenantId tenant);
  /// Whose SMs are whose from now on; blocks under way stay where they are.
  void assign(std::vector<std::vector<u32>> sms_of_tenant, Cycle now);
  /// Blocks that left an SM unfinished; it takes others from cycle `open` on.
  void take_back(u32 sm, std::vector<UnfinishedBlock> blocks, Cycle now, Cycle open);
  /// Whose blocks are on an SM or on their way there, if any.
  std::optional<TenantId> holder(u32 sm) const;
  /// Registers and shared memory of one block of a launch in flight.
  u64 context_bytes(TenantId tenant, LaunchId launch) const;
  /// The tenant whose turn begins in cycle `at`. Before the first call no tenant has a turn.
  void give_turn(TenantId tenant, Cycle at);
  /// Nobody sends until a turn is given.
  void end_turn() { turn_from_ = kNever; }
  /// Whether a launch of this tenant has not ended.
  bool running(TenantId tenant) const { return !tenants_[index(tenant)].launches.empty(); }
  struct Ended {
    TenantId tenant;
    LaunchId launch;
  };
  /// Launches that have ended since the last call.
  std::vector<Ended> take_finished() { return std::exchange(finished_, {}); }

  DispatchStats stats;

 private:
  struct InFlight {
    LaunchShape shape;
    SmRoom needs;
    u64 next = 0, total = 0;                      // blocks that have not begun: from next on
    std::deque<UnfinishedBlock> unfinished = {};  // blocks that go on
    u64 out = 0, ended = 0;                       // on SMs or on the way; back for good
    Cycle at = 0;
    bool has_blocks() const { return next < total || !unfinished.empty(); }
    bool over() const { return out == 0 && !has_blocks(); }
  };
  struct TenantState {
    std::vector<u32> sms;
    std::vector<InFlight> launches;  // oldest first
  };

  void accept_done(Cycle now);
  bool send_blocks(InFlight& launch, TenantId id, Cycle now);
  static BlockStart next_block(InFlight& launch, TenantId id);
  bool finish(TenantId id);
  const InFlight& in_flight(TenantId tenant, LaunchId launch) const;
  InFlight& in_flight(TenantId tenant, LaunchId launch) {
    return const_cast<InFlight&>(std::as_const(*this).in_flight(tenant, launch));
  }
  SmRoom& room(u32 sm, TenantId id) { return rooms_[(take_turns_ ? index(id) * ports_.size() : 0) + sm]; }
  bool may_hold(u32 sm, TenantId id, Cycle now) const {
    return take_turns_ || ((holders_[sm] == id || rooms_[sm].blocks == whole_sm_.blocks) && opens_[sm] <= now);
  }
  /// From when on a launch may send.
  Cycle may_send_from(TenantId id, const InFlight& launch) const;

  Scheduler& scheduler_;
  UnitId self_{};
  const SmRoom whole_sm_;
  const u32 warp_width_;
  const bool take_turns_;
  TenantId turn_{};
  Cycle turn_from_ = kNever;
  std::vector<SmPort> ports_;
  std::vector<SmRoom> rooms_;      // by SM; when tenants take turns, by tenant and SM
  std::vector<TenantId> holders_;  // by SM: who sent a block there last
  std::vector<Cycle> opens_;       // by SM: from when on it takes blocks
  std::vector<TenantState> tenants_;
  std::vector<Ended> finished_;
};

}  // namespace terrace
