// What the fuzz target of the protocol and the tests of its findings do with bytes: take them for the messages of a CUDA
// process (src/cuda/protocol.h) and answer each. Whatever the process says, it gets an answer; anything else is a defect of ours.
//
// A message is one byte for the call, two for the length of its payload and the payload: with the headers of the socket most
// changes would end a conversation at once.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "cuda/cuda_program.h"
#include "cuda/host_session.h"
#include "engine/check.h"
#include "frontend/functional_runner.h"
#include "frontend/guest_memory.h"
#include "frontend/ptx/execute/machine.h"

namespace terrace::cuda {

class Conversation {
 public:
  Conversation() : host_(setup(), memory_, machine_) { host_.begin(); }

  /// False when it is over.
  bool say(const Message& message) {
    std::vector<Message> answers;
    HostSession::Outcome outcome = host_.handle(message, answers);
    if (outcome == HostSession::Outcome::kWaits) {
      perform();
      outcome = host_.handle(message, answers);
      SIM_CHECK(outcome != HostSession::Outcome::kWaits, "the process waits although nothing is left");
    }
    SIM_CHECK(!answers.empty() && answers.back().call == Call::kAnswer, "a call has no answer");
    last_ = static_cast<Status>(Reader(answers.back().payload).u32());
    if (host_.full()) perform();
    if (outcome != HostSession::Outcome::kEnded) return true;
    if (faulted_) return false;
    host_.begin();  // the next process of the slot
    return true;
  }
  /// How the last call ended.
  Status last() const { return last_; }

 private:
  static HostSession::Setup setup() {
    HostSession::Setup setup;
    setup.device = {"fuzz", u64{4} << 20, 4, 32, 64, 32, 65536, 98304, 1000, 1 << 20};
    return setup;
  }
  /// What was issued, in the order of issue; kernels for some hundred instructions.
  void perform() {
    for (const Launch& launch : host_.take_issued()) {
      if (faulted_) return;
      if (launch.action) {
        launch.action(memory_, 7);
        continue;
      }
      try {
        FunctionalRunner runner(machine_, {.resident_blocks = 1, .instruction_limit = 400, .count = false});
        runner.run(launch);
      } catch (const InputError& error) {
        faulted_ = true;
        host_.fail(status_of_fault(error.what()));
      }
    }
  }

  GuestMemory memory_{PageSize::k4K, u64{64} << 20};  // little: nothing here may ask for much and get it
  ptx::Machine machine_{memory_};
  HostSession host_;
  bool faulted_ = false;
  Status last_ = Status::kSuccess;
};

/// How each call ended.
inline std::vector<Status> try_conversation(std::span<const u8> bytes) {
  Conversation conversation;
  std::vector<Status> ends;
  bool goes_on = true;
  while (goes_on && bytes.size() >= 3) {
    const u64 length = std::min<u64>(u64{bytes[1]} | u64{bytes[2]} << 8, bytes.size() - 3);
    const auto payload = bytes.subspan(3, length);
    goes_on = conversation.say({static_cast<Call>(bytes[0]), {payload.begin(), payload.end()}});
    ends.push_back(conversation.last());
    bytes = bytes.subspan(3 + length);
  }
  return ends;
}

}  // namespace terrace::cuda
