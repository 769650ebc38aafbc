// The ways that a walker's reads can take to memory (walk_path.h): through the GPU's L2 like any load, or straight to the
// memory channels, as an IOMMU's do. The MMU cannot tell.
// SPDX-License-Identifier: MIT
#pragma once

#include <bit>
#include <optional>
#include <vector>

#include "engine/link.h"
#include "engine/types.h"
#include "noc/crossbar.h"
#include "translation/walk_path.h"
#include "wire/access.h"
#include "wire/dram.h"
#include "wire/line_map.h"
#include "wire/line_shape.h"
#include "wire/line_truth.h"

namespace terrace {

class WalkMemory {
 public:
  virtual ~WalkMemory() = default;
  /// First in each tick.
  virtual void absorb(Cycle /*now*/) {}
  /// False: no place; the MMU is woken when it should ask again.
  virtual bool send(const WalkRead& read, Cycle now) = 0;
  /// The walker whose read has come back, one after the other until there is none in this cycle.
  virtual std::optional<u32> receive(Cycle now) = 0;
  /// Ways that cannot hold each other up.
  virtual u32 links() const = 0;
  virtual u32 link_of(PhysAddr line) const = 0;
};

class WalkThroughL2 final : public WalkMemory {
 public:
  /// `port` is the MMU's place in both crossbars.
  WalkThroughL2(Crossbar<AccessRef>& requests, Crossbar<AccessRef>& replies, AccessPool& accesses, const LineMap& map,
                const NocConfig& noc, LineTruth& truth, u32 port, u32 line_bytes)
      : requests_(requests),
        replies_(replies),
        accesses_(accesses),
        map_(map),
        noc_(noc),
        truth_(truth),
        port_(port),
        line_shift_(static_cast<u32>(std::countr_zero(line_bytes))) {}
  void absorb(Cycle now) override { replies_.absorb(port_, now); }
  bool send(const WalkRead& read, Cycle now) override;
  std::optional<u32> receive(Cycle now) override;
  u32 links() const override { return 1; }
  u32 link_of(PhysAddr) const override { return 0; }

 private:
  Crossbar<AccessRef>& requests_;
  Crossbar<AccessRef>& replies_;
  AccessPool& accesses_;
  const LineMap& map_;
  NocConfig noc_;
  LineTruth& truth_;
  u32 port_;
  u32 line_shift_;
};

class WalkToDram final : public WalkMemory {
 public:
  struct Channel {
    Link<DramRequest>* requests;
    Link<DramReply>* replies;
  };
  WalkToDram(std::vector<Channel> channels, const LineMap& map, LineTruth& truth, LineShape lines)
      : channels_(std::move(channels)), map_(map), truth_(truth), lines_(lines) {}
  bool send(const WalkRead& read, Cycle now) override;
  std::optional<u32> receive(Cycle now) override;
  u32 links() const override { return static_cast<u32>(channels_.size()); }
  u32 link_of(PhysAddr line) const override { return map_.channel_of(line); }

 private:
  std::vector<Channel> channels_;
  const LineMap& map_;
  LineTruth& truth_;
  const LineShape lines_;
};

}  // namespace terrace
