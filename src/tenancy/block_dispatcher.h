// Hands thread blocks to SMs: each tenant's blocks in order, to the SMs that are its own, as soon as one has room
// (warps, blocks, registers, shared memory), at most one block per SM and cycle. It knows what every SM holds because
// every block it sends comes back. Of a tenant's launches in flight the oldest that has blocks left sends; the next one
// gets the room that is left when the last of them has gone. An SM that goes to another tenant gets its first block when
// it has given back all of the last one's; on one that tenants share, each has a quota. Blocks that come back unfinished
// go before those that have not begun, when their registers and shared memory are back. When tenants take turns, every
// SM has as much room for each of them, and the one whose turn it is sends. A machine may limit how many blocks leave for all
// SMs together; then SMs, and tenants, are served around.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
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
#include "tenancy/context_mover.h"
#include "tenancy/sm_plan.h"
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

/// How many blocks may leave in 1,000 cycles, evenly; 0: no limit.
class BlockPace {
 public:
  explicit BlockPace(u32 per_kcycle) : per_kcycle_(per_kcycle) {}
  bool limited() const { return per_kcycle_ != 0; }
  bool may_leave(Cycle now) const { return next_ < (now + 1) * per_kcycle_ || !limited(); }
  void leaves(Cycle now) {
    if (limited()) next_ = std::max(next_, now * per_kcycle_) + 1000;
  }
  /// When the next one may leave.
  Cycle next() const { return next_ / per_kcycle_; }
  void archive(Archive& a) { a(next_); }

 private:
  const u32 per_kcycle_;
  u64 next_ = 0;  // in parts of a cycle, of which there are per_kcycle_; a block takes 1,000 of them
};

class BlockDispatcher final : public Unit {
 public:
  struct SmPort {
    Link<BlockStart>* starts;
    Link<BlockDone>* done;
  };
  BlockDispatcher(Scheduler& scheduler, SmRoom whole_sm, u32 warp_width, std::vector<SmPort> sms,
                  std::vector<std::vector<u32>> sms_of_tenant, bool take_turns = false, ContextMover mover = {},
                  u32 blocks_per_kcycle = 0);
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
  void assign(std::vector<SmUse> uses, Cycle now);
  /// Blocks that left an SM unfinished; it takes others when their registers and shared memory have left. Returns when.
  Cycle take_back(u32 sm, std::vector<UnfinishedBlock> blocks, Cycle now);
  /// The SM takes no block before this cycle.
  void close(u32 sm, Cycle until);
  /// How many blocks of a tenant are on an SM or on their way there.
  u32 held(u32 sm, TenantId tenant) const { return held_[sm][index(tenant)]; }
  bool empty(u32 sm) const { return rooms_[sm].blocks == whole_sm_.blocks; }
  /// Whether a block's registers and shared memory are on their way to the SM.
  bool restores(u32 sm) const;
  /// The run stops each time that a block comes back from there.
  void watch(u32 sm, bool on) { watched_[sm] = on; }
  /// Registers and shared memory of one block of a launch in flight.
  u64 context_bytes(TenantId tenant, LaunchId launch) const;
  /// Bytes of a tenant's blocks that have moved from SMs to memory, and back.
  u64 saved_bytes(TenantId tenant) const { return saved_bytes_[tenant]; }
  u64 restored_bytes(TenantId tenant) const { return restored_bytes_[tenant]; }
  /// What a block takes up of the launch that a tenant sends from; nothing without one.
  SmRoom block_needs(TenantId tenant) const;
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
  void archive(Archive& a);

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
    u32 first = 0;                   // of its SMs: where the next block may go, if blocks are limited
  };

  /// A block on its way to its SM, whose registers and shared memory are there in a later cycle.
  struct Restored {
    u32 sm = 0;
    Cycle at = 0;
    BlockStart start = {};
  };

  void accept_done(Cycle now);
  void leaves(u32 sm, TenantId id, InFlight& launch);
  void send_restored(Cycle now);
  bool send_blocks(InFlight& launch, TenantId id, Cycle now);
  void send_block(InFlight& launch, TenantId id, u32 sm, Cycle now);
  static BlockStart next_block(InFlight& launch, TenantId id);
  bool finish(TenantId id);
  const InFlight& in_flight(TenantId tenant, LaunchId launch) const;
  InFlight& in_flight(TenantId tenant, LaunchId launch) {
    return const_cast<InFlight&>(std::as_const(*this).in_flight(tenant, launch));
  }
  SmRoom& room(u32 sm, TenantId id) { return rooms_[(take_turns_ ? index(id) * ports_.size() : 0) + sm]; }
  bool may_hold(u32 sm, TenantId id, Cycle now) const {
    if (take_turns_) return true;
    if (opens_[sm] > now || held(sm, id) >= most_blocks(sm, id)) return false;
    return shared_[sm] || held(sm, id) == whole_sm_.blocks - rooms_[sm].blocks;
  }
  /// Before the first plan a tenant may fill its SMs.
  u32 most_blocks(u32 sm, TenantId id) const { return uses_.empty() ? ~u32{0} : uses_[sm].most_blocks(id); }
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
  std::vector<SmRoom> rooms_;                       // by SM; when tenants take turns, by tenant and SM
  std::vector<std::array<u32, kMaxTenants>> held_;  // by SM and tenant: blocks there or on the way
  std::vector<Cycle> opens_;                        // by SM: from when on it takes blocks
  std::vector<SmUse> uses_;                         // by SM
  std::vector<bool> shared_, watched_;              // by SM
  ContextMover mover_;
  BlockPace pace_;
  u32 first_tenant_ = 0;           // moves on when a block leaves, if blocks are limited
  std::deque<Restored> restored_;  // in the order in which they are moved
  PerTenant<u64> saved_bytes_, restored_bytes_;
  std::vector<TenantState> tenants_;
  std::vector<Ended> finished_;
};

}  // namespace terrace
