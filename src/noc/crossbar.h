// The crossbar between SMs, MMUs and L2 slices (`noc`): every input reaches every output, through a queue of its own (virtual output queues, so that a
// packet for a busy output never blocks one for an idle output). An input has one or more ports that each send one flit
// per cycle, or several, and an output has ports that each receive as many; outputs serve their queues round-robin, so no
// input starves.
//
// It is no unit: an input port's state belongs to the unit that sends, an output port's to the unit that receives, and
// the queues between them are funnels. A crossbar that ticked by itself would add a tick per packet and change nothing.
// Simplified: a packet counts as arrived with its head; its length occupies both ports. A crossbar in partitions has a
// longer way between two of them, and no limit of its own there.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "blame/port_books.h"
#include "config/fields.h"
#include "engine/archive.h"
#include "engine/fixed_array.h"
#include "engine/funnel.h"
#include "engine/scheduler.h"
#include "engine/types.h"
#include "stats/stat_fields.h"

namespace terrace {

struct NocConfig {
  u32 latency = 8;
  u32 flit_bytes = 32;
  u32 header_bytes = 8;
  u32 queue_packets = 4;
  u32 sm_ports = 1;
  u32 sm_send_flits = 1, sm_receive_flits = 1, slice_send_flits = 1, slice_receive_flits = 1;
  u32 partitions = 1, far_cycles = 0;
  void describe(Fields& v) {
    v("latency", latency, in(1, 10'000), "cycles from an input port to an output port");
    v("flit_bytes", flit_bytes, in(1, 1024),
      "bytes of a flit: what a port transfers per cycle, unless the keys below give it several flits");
    v("header_bytes", header_bytes, in(1, 1024), "bytes of a packet's header");
    v("queue_packets", queue_packets, in(1, 1024), "packets between one input and one output, in flight or queued");
    v("sm_ports", sm_ports, in(1, 16),
      "ports of an SM (or an MMU): packets that it sends, and receives, at a time; for L2 slices: l2.ports");
    v("sm_send_flits", sm_send_flits, in(1, 64), "flits per cycle that each port of an SM sends");
    v("sm_receive_flits", sm_receive_flits, in(1, 64), "flits per cycle that each port of an SM receives");
    v("slice_send_flits", slice_send_flits, in(1, 64), "flits per cycle that each port of an L2 slice sends");
    v("slice_receive_flits", slice_receive_flits, in(1, 64), "flits per cycle that each port of an L2 slice receives");
    v("partitions", partitions, in(1, 64),
      "partitions of the chip; SMs and L2 slices are assigned to them in turn, and a slice in another partition is "
      "far");
    v("far_cycles", far_cycles, in(0, 10'000), "additional cycles to or from a far slice");
  }
  u32 flits(u32 data_bytes) const { return (header_bytes + data_bytes + flit_bytes - 1) / flit_bytes; }
};

struct NocPortStats {
  Counter packets, flits;
  PerTenant<Counter> flits_of;  // not exported: the power model asks for them
  void describe(StatFields& v) {
    v("packets", packets, "packets", "packets received");
    v("flits", flits, "flits", "flits received");
  }
};

template <class Packet>
class Crossbar {
 public:
  /// Ports of every input and of every output, of which an L2 slice may have several, and their flits per cycle.
  struct Ports {
    u32 input = 1, output = 1;
    u32 input_flits = 1, output_flits = 1;
  };
  Crossbar(Scheduler& scheduler, const NocConfig& config, u32 inputs, u32 outputs, Ports ports = {})
      : scheduler_(scheduler),
        partitions_(config.partitions),
        far_cycles_(config.partitions > 1 ? config.far_cycles : 0),
        input_flits_(ports.input_flits),
        output_flits_(ports.output_flits),
        inputs_(inputs),
        outputs_(outputs) {
    for (Input& input : inputs_) input.ports = PortTimes(ports.input);
    for (u32 i = 0; i < outputs; ++i) outputs_.add(scheduler, config, far_cycles_, inputs, PortTimes(ports.output));
  }
  void connect_input(u32 input, UnitId sender) {
    inputs_[input].unit = sender;
    for (Output& output : outputs_) output.funnel.connect_producer(input, sender);
  }
  void connect_output(u32 output, UnitId receiver) {
    outputs_[output].unit = receiver;
    outputs_[output].funnel.connect_consumer(receiver);
  }

  /// For the sender: whether a packet may leave in this cycle. A refused sender is woken when it should ask again.
  bool can_send(u32 input, u32 output, Cycle now) {
    if (const Cycle free_at = inputs_[input].ports.next_free(); free_at > now) {
      scheduler_.wake(inputs_[input].unit, free_at);
      return false;
    }
    return outputs_[output].funnel.can_push(input, now);
  }
  /// From when on the input port itself is free; before, nothing can be sent wherever it goes.
  Cycle input_free_at(u32 input) const { return inputs_[input].ports.next_free(); }
  void send(u32 input, u32 output, Cycle now, const Packet& packet, u32 flits, TenantId tenant) {
    inputs_[input].ports.occupy(now + cycles_of(flits, input_flits_));
    inputs_[input].sender.only(tenant);
    outputs_[output].funnel.push(input, now, {packet, static_cast<u16>(flits), tenant}, detour(input, output));
  }

  /// For the receiver, first in each tick.
  void absorb(u32 output_index, Cycle now) { outputs_[output_index].waiting.absorb(now); }
  /// The packet whose turn it is, or null: nothing has arrived, or the port is still busy with the last one. The
  /// receiver is woken when a busy port falls free.
  const Packet* front(u32 output_index, Cycle now) {
    Output& output = outputs_[output_index];
    // Most ask in vain, and that is to be cheap: an SM asks in every tick.
    return output.funnel.any_ready() ? front_of_ready(output, now) : nullptr;
  }
  /// Takes what `front` showed, which keeps the port busy for some cycles at least. What is still there wakes the receiver
  /// again.
  Packet receive(u32 output_index, Cycle now, u32 busy_cycles = 1) {
    Output& output = outputs_[output_index];
    const Wrapped taken = output.waiting.pop(output.turn, now);
    output.pointer = output.turn + 1 == inputs_.size() ? 0 : output.turn + 1;
    output.ports.occupy(now + std::max(busy_cycles, cycles_of(taken.flits, output_flits_)));
    ++output.stats.packets;
    output.stats.flits += taken.flits;
    output.stats.flits_of[taken.tenant] += taken.flits;
    if (output.funnel.any_ready()) scheduler_.wake(output.unit, std::max(now + 1, output.ports.next_free()));
    return taken.packet;
  }

  u32 outputs() const { return outputs_.size(); }
  u32 inputs() const { return static_cast<u32>(inputs_.size()); }
  NocPortStats& stats(u32 output) { return outputs_[output].stats; }

  /// Who waits for whom at an output: kept by the port itself.
  auto& books(u32 output) { return outputs_[output].waiting; }
  /// The port of an input, held by the tenant whose packet left last.
  Resource& sender(u32 input) { return inputs_[input].sender; }
  /// Closes statistics that run over cycles, before cycle `now`.
  void settle(Cycle now) {
    for (Output& output : outputs_) output.waiting.blame().settle(now);
  }
  /// Also the queues between its ports.
  void archive(Archive& a) {
    a.part("a crossbar");
    a.expect(inputs_.size(), "the inputs of a crossbar");
    a.expect(outputs_.size(), "the outputs of a crossbar");
    for (Input& input : inputs_) a(input.ports, input.sender);
    for (Output& output : outputs_) {
      a(output.funnel, output.waiting, output.ports, output.pointer, output.turn);
      a(output.stats.flits_of);  // the tree of statistics does not know them
    }
  }
  /// Packets on the way to an output, or waiting there.
  u32 waiting(u32 output) const {
    u32 all = 0;
    for (u32 input = 0; input < inputs_.size(); ++input) all += outputs_[output].funnel.size(input);
    return all;
  }

 private:
  struct Wrapped {
    Packet packet{};
    u16 flits = 0;
    TenantId tenant{};
  };
  /// When each of some ports falls free. The next one is at hand.
  class PortTimes {
   public:
    explicit PortTimes(u32 ports = 1) : others_(ports - 1) {}
    Cycle next_free() const { return next_; }
    /// The next one is used up to, but not including, this cycle.
    void occupy(Cycle until) {
      next_ = until;
      for (Cycle& other : others_) {
        if (other < next_) std::swap(other, next_);
      }
    }
    void archive(Archive& a) { a(next_, others_); }

   private:
    Cycle next_ = 0;
    std::vector<Cycle> others_;
  };
  struct Input {
    UnitId unit{};
    PortTimes ports;
    Resource sender;
  };
  /// What each tick of the receiver touches stands together, in front.
  struct alignas(64) Output {
    Output(Scheduler& scheduler, const NocConfig& config, u32 far_cycles, u32 inputs, PortTimes its_ports)
        : funnel(scheduler, inputs, config.latency, config.queue_packets, far_cycles),
          waiting(funnel),
          ports(std::move(its_ports)) {}
    Funnel<Wrapped> funnel;
    PortBooks<Wrapped> waiting;  // the receiver's end of it
    PortTimes ports;
    UnitId unit{};
    u32 pointer = 0;  // the input that is asked first
    u32 turn = 0;
    NocPortStats stats;
  };

  const Packet* front_of_ready(Output& output, Cycle now) {
    if (output.ports.next_free() > now) {
      scheduler_.wake(output.unit, output.ports.next_free());
      return nullptr;
    }
    output.turn = output.funnel.next_ready(output.pointer);
    return &output.funnel.front(output.turn).packet;
  }

  static u32 cycles_of(u32 flits, u32 per_cycle) {
    return per_cycle == 1 ? flits : (flits + per_cycle - 1) / per_cycle;
  }
  u32 detour(u32 input, u32 output) const {
    return far_cycles_ != 0 && input % partitions_ != output % partitions_ ? far_cycles_ : 0;
  }

  Scheduler& scheduler_;
  u32 partitions_, far_cycles_;
  u32 input_flits_, output_flits_;
  std::vector<Input> inputs_;
  FixedArray<Output> outputs_;
};

}  // namespace terrace
