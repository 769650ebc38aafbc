// Passes everything on to another stream; what a test wants to see or to change, it overrides.
// SPDX-License-Identifier: MIT
#pragma once

#include "frontend/inst_stream.h"

namespace terrace {

class ForwardingStream : public InstStream {
 public:
  explicit ForwardingStream(InstStream& inner) : inner_(inner) {}

  void begin_run() override { inner_.begin_run(); }
  LaunchShape begin_launch(const Launch& launch) override { return inner_.begin_launch(launch); }
  void end_launch(LaunchId launch) override { inner_.end_launch(launch); }
  BlockRef begin_block(LaunchId launch, u64 block, SmId sm) override { return inner_.begin_block(launch, block, sm); }
  WarpRef warp(BlockRef block, u32 number) const override { return inner_.warp(block, number); }
  const WarpView& view(WarpRef warp) const override { return inner_.view(warp); }
  void end_block(BlockRef block) override { inner_.end_block(block); }
  void execute(WarpRef warp, Cycle now, StoreLog& stores, Effect& effect) override {
    inner_.execute(warp, now, stores, effect);
  }
  void perform_atomic(AtomicRef atomic, u64 lanes) override { inner_.perform_atomic(atomic, lanes); }
  BlockImage save(BlockRef block) const override { return inner_.save(block); }
  BlockRef restore(LaunchId launch, const BlockImage& image, SmId sm) override {
    return inner_.restore(launch, image, sm);
  }
  std::string whereabouts(WarpRef warp) const override { return inner_.whereabouts(warp); }
  std::optional<std::string> find_endless_loop() override { return inner_.find_endless_loop(); }
  void archive(Archive& a) override { inner_.archive(a); }
  bool serves_threads() const override { return inner_.serves_threads(); }

 private:
  InstStream& inner_;
};

}  // namespace terrace
