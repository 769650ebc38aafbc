// The crossbar alone: units that send at stated cycles on one side, units that receive on the other.
// SPDX-License-Identifier: MIT
#include "noc/crossbar.h"

#include <gtest/gtest.h>

#include <memory>

#include "benches/scripted.h"

namespace terrace {
namespace {

constexpr NocConfig kNoc{.latency = 5, .flit_bytes = 32, .header_bytes = 8, .queue_packets = 4};

class CrossbarBench {
 public:
  explicit CrossbarBench(u32 inputs, u32 outputs, const NocConfig& config = kNoc, Crossbar<u32>::Ports ports = {})
      : crossbar(scheduler, config, inputs, outputs, ports), inbox(outputs) {
    for (u32 i = 0; i < inputs; ++i) {
      senders_.push_back(std::make_unique<Scripted>(scheduler, "sender"));
      crossbar.connect_input(i, senders_[i]->id());
    }
    for (u32 i = 0; i < outputs; ++i) {
      receivers_.push_back(std::make_unique<Scripted>(scheduler, "receiver"));
      crossbar.connect_output(i, receivers_[i]->id());
      receivers_[i]->always(
          [this, i](Cycle now) { return one_at_a_time ? take_one(i, now) : inbox[i].take(crossbar, i, now); });
    }
  }
  /// A packet in that cycle, or as soon as it may leave.
  void send(Cycle at, u32 input, u32 output, u32 packet, u32 flits = 1) {
    senders_[input]->at(at, [=, this](Cycle now) {
      if (!crossbar.can_send(input, output, now)) return false;
      crossbar.send(input, output, now, packet, flits, TenantId{0});
      return true;
    });
  }
  void run() { scheduler.run(100'000); }
  std::vector<u32> order(u32 output = 0) const {
    std::vector<u32> packets;
    for (const auto& arrival : inbox[output].seen) packets.push_back(arrival.what);
    return packets;
  }

  Scheduler scheduler;
  Crossbar<u32> crossbar;
  std::vector<Inbox<u32>> inbox;  // by output
  bool one_at_a_time = false;     // receivers take one packet in a tick, like L2 slices, and do not ask for another

 private:
  Cycle take_one(u32 output, Cycle now) {
    crossbar.absorb(output, now);
    if (crossbar.front(output, now)) inbox[output].seen.push_back({now, crossbar.receive(output, now)});
    return kNever;
  }

  std::vector<std::unique_ptr<Scripted>> senders_, receivers_;
};

using Times = std::vector<Cycle>;
using Packets = std::vector<u32>;

TEST(CrossbarBench, APacketArrivesWithItsHeadAfterTheLatency) {
  CrossbarBench bench(1, 1);
  bench.send(3, 0, 0, 7, 4);
  bench.run();
  EXPECT_EQ(bench.inbox[0].times(), Times{8});
  EXPECT_EQ(bench.order(), Packets{7});
}

TEST(CrossbarBench, APacketGoesToItsOutputAndNoOther) {
  CrossbarBench bench(2, 3);
  bench.send(0, 0, 2, 1);
  bench.send(0, 1, 1, 2);
  bench.run();
  EXPECT_EQ(bench.order(0), Packets{});
  EXPECT_EQ(bench.order(1), Packets{2});
  EXPECT_EQ(bench.order(2), Packets{1});
}

TEST(CrossbarBench, AnInputSendsOneFlitPerCycle) {
  CrossbarBench bench(1, 2);
  bench.send(0, 0, 0, 1, 3);
  bench.send(0, 0, 1, 2, 1);  // another output, but the same port: it leaves in cycle 3
  bench.run();
  EXPECT_EQ(bench.inbox[1].times(), Times{8});
}

TEST(CrossbarBench, AnInputWithTwoPortsSendsTwo) {
  CrossbarBench bench(1, 3, kNoc, {.input = 2});
  bench.send(0, 0, 0, 1, 3);
  bench.send(0, 0, 1, 2, 2);
  bench.send(0, 0, 2, 3, 1);  // the second port is free first
  bench.run();
  EXPECT_EQ(bench.inbox[1].times(), Times{5});
  EXPECT_EQ(bench.inbox[2].times(), Times{7});
}

TEST(CrossbarBench, AnOutputReceivesOneFlitPerCycle) {
  CrossbarBench bench(2, 1);
  bench.send(0, 0, 0, 1, 4);
  bench.send(0, 1, 0, 2, 1);
  bench.run();
  EXPECT_EQ(bench.inbox[0].times(), (Times{5, 9}));
  EXPECT_EQ(bench.crossbar.stats(0).flits.value, 5u);
  EXPECT_EQ(bench.crossbar.stats(0).packets.value, 2u);
}

TEST(CrossbarBench, AnOutputWithTwoPortsReceivesTwo) {
  CrossbarBench bench(3, 1, kNoc, {.output = 2});
  for (u32 input = 0; input < 3; ++input) bench.send(0, input, 0, input, 4);
  bench.run();
  EXPECT_EQ(bench.inbox[0].times(), (Times{5, 5, 9}));
}

TEST(CrossbarBench, AReceiverThatTakesOnePacketIsWokenForTheNext) {
  CrossbarBench bench(3, 1);
  bench.one_at_a_time = true;
  bench.send(0, 0, 0, 1, 4);
  bench.send(0, 1, 0, 2, 1);
  bench.send(0, 2, 0, 3, 1);
  bench.run();
  EXPECT_EQ(bench.inbox[0].times(), (Times{5, 9, 10}));
}

TEST(CrossbarBench, AnOutputServesItsInputsInTurn) {
  CrossbarBench bench(3, 1);
  bench.inbox[0].open = 100;
  for (u32 input = 0; input < 3; ++input) {
    for (u32 k = 0; k < 2; ++k) bench.send(0, input, 0, 10 * input + k);
  }
  bench.run();
  EXPECT_EQ(bench.order(), (Packets{0, 10, 20, 1, 11, 21}));
}

TEST(CrossbarBench, TheTurnGoesOnBehindTheInputThatWasServedLast) {
  CrossbarBench bench(3, 1);
  bench.send(0, 1, 0, 10);
  for (u32 input = 0; input < 3; ++input) bench.send(50, input, 0, 20 + input);
  bench.run();
  EXPECT_EQ(bench.order(), (Packets{10, 22, 20, 21}));
}

TEST(CrossbarBench, AFullQueueRefusesUntilItsOutputHasTakenOne) {
  NocConfig config = kNoc;
  config.queue_packets = 2;
  CrossbarBench bench(1, 1, config);
  bench.inbox[0].open = 100;
  for (u32 k = 0; k < 3; ++k) bench.send(0, 0, 0, k);
  bench.run();
  EXPECT_EQ(bench.inbox[0].times(), (Times{100, 101, 106})) << "the place of the first is used in cycle 101";
}

TEST(CrossbarBench, APacketForABusyOutputDoesNotHoldUpOneForAnother) {
  NocConfig config = kNoc;
  config.queue_packets = 1;
  CrossbarBench bench(2, 2, config);
  bench.inbox[0].open = 100;
  bench.send(0, 0, 0, 1);
  bench.send(1, 0, 1, 2);  // the same input
  bench.send(1, 1, 0, 3);  // and the same output from another one
  bench.run();
  EXPECT_EQ(bench.inbox[1].times(), Times{6});
  EXPECT_EQ(bench.order(0), (Packets{1, 3}));
}

TEST(CrossbarBench, AWideInputSendsSeveralFlitsPerCycle) {
  CrossbarBench bench(1, 2, kNoc, {.input_flits = 2});
  bench.send(0, 0, 0, 1, 4);  // two cycles
  bench.send(0, 0, 1, 2, 5);  // three
  bench.send(0, 0, 0, 3, 1);
  bench.run();
  EXPECT_EQ(bench.inbox[1].times(), Times{7});
  EXPECT_EQ(bench.inbox[0].times(), (Times{5, 10}));
}

TEST(CrossbarBench, AWideOutputReceivesSeveralFlitsPerCycle) {
  CrossbarBench bench(2, 1, kNoc, {.output_flits = 4});
  bench.send(0, 0, 0, 1, 8);
  bench.send(0, 1, 0, 2, 8);
  bench.run();
  EXPECT_EQ(bench.inbox[0].times(), (Times{5, 7}));
}

TEST(CrossbarBench, TheWayToAnotherPartitionIsLonger) {
  NocConfig config = kNoc;
  config.partitions = 2;
  config.far_cycles = 3;
  CrossbarBench bench(2, 2, config);
  bench.send(0, 0, 0, 1);
  bench.send(1, 0, 1, 2);  // far
  bench.send(0, 1, 0, 3);  // far
  bench.run();
  EXPECT_EQ(bench.inbox[0].times(), (Times{5, 8}));
  EXPECT_EQ(bench.order(0), (Packets{1, 3}));
  EXPECT_EQ(bench.inbox[1].times(), Times{9});
}

TEST(CrossbarBench, PacketsOfOneQueueStayInOrder) {
  CrossbarBench bench(1, 1);
  for (u32 k = 0; k < 20; ++k) bench.send(k / 3, 0, 0, k, 1 + k % 3);
  bench.run();
  for (u32 k = 0; k < 20; ++k) EXPECT_EQ(bench.order()[k], k);
}

TEST(CrossbarBench, AStreamOfSingleFlitsRunsAtFullRate) {
  NocConfig config = kNoc;
  config.queue_packets = config.latency + 1;  // on the way, and the place that comes back a cycle later
  CrossbarBench bench(1, 1, config);
  for (u32 k = 0; k < 50; ++k) bench.send(0, 0, 0, k);
  bench.run();
  EXPECT_EQ(bench.inbox[0].seen.back().at, 5u + 49);
}

TEST(CrossbarBench, HeaderAndDataAreCutIntoFlits) {
  EXPECT_EQ(kNoc.flits(0), 1u);
  EXPECT_EQ(kNoc.flits(24), 1u);
  EXPECT_EQ(kNoc.flits(25), 2u);
  EXPECT_EQ(kNoc.flits(128), 5u);
}

}  // namespace
}  // namespace terrace
