// One CUDA process as the simulator sees it: its modules, buffers, streams and events, and what it has issued since it last
// waited. The library in the process asks (protocol.h); this answers. What it may ask is checked here, to the last byte: it
// cannot reach what is not its own, nor make the simulator stop.
//
// Copies and events that stand behind kernels in their stream become launches without a kernel (Launch::action). Simplified: a
// call that waits, waits for all that the process has issued; a copy to the device waits until nothing of the process runs.
// SPDX-License-Identifier: MIT
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cuda/protocol.h"
#include "frontend/guest_memory.h"
#include "frontend/program.h"
#include "frontend/ptx/execute/machine.h"

namespace terrace::cuda {

struct Message {
  Call call{};
  std::vector<u8> payload;
};

class HostSession {
 public:
  struct Setup {
    DeviceFacts device;
    u64 call_cycles = 0;  // host time of a call
    u32 most_registers_of_thread = 256;
  };
  HostSession(Setup setup, GuestMemory& memory, ptx::Machine& machine)
      : setup_(std::move(setup)), memory_(memory), machine_(machine) {
    streams_[0];
  }

  enum class Outcome : u8 {
    kAnswered,
    kWaits,  // what was issued must complete; then the same message is handled again
    kEnded   // answered, and it was the last one
  };
  /// Answers a message; `answers` gets what is sent back, in order. Nothing of the process runs meanwhile.
  Outcome handle(const Message& message, std::vector<Message>& answers);

  /// What was issued since the last call; nothing of it has begun.
  std::vector<Launch> take_issued();
  /// So much is issued that the process should wait for it.
  bool full() const { return issued_.size() >= kMostIssued || issued_bytes_ >= kMostIssuedBytes; }
  bool empty() const { return issued_.empty(); }
  /// From now on every call fails with this.
  void fail(Status status) { failed_ = status; }
  /// Another process: nothing of an earlier one is left. Nothing of it may run.
  void begin();
  /// Frees all that the process has. Nothing of it may run.
  void clear();
  /// Of the PTX of all modules.
  u64 code_hash() const { return code_hash_; }
  u64 launches() const { return launches_; }

 private:
  static constexpr u64 kFirstHandle = 16;  // small numbers are CUDA's own streams
  static constexpr u64 kMostHandles = 1 << 20;
  static constexpr u64 kMostIssued = 1024, kMostIssuedBytes = u64{256} << 20;  // chosen: as drivers bound their queues
  struct Stream {
    bool blocking = true;  // waits for the default stream, and the default stream for it
    u64 last = 0;          // ticket
  };
  struct Event {
    bool recorded = false;
    u64 ticket = 0;
    Cycle at = 0;
  };
  struct Kernel {
    u32 module;
    std::string name;
    const ptx::Function* declaration;
    const ptx::Code* code;
  };
  struct Managed {
    u64 bytes;
    std::vector<u8> known;  // what the process has there
  };
  /// An answer in the making.
  struct Answer {
    Status status = Status::kSuccess;
    std::string sentence = {};
    Writer fields = {};
  };

  Outcome serve(Call call, Reader& fields, Answer& answer);
  bool needs_wait(const Message& message) const;
  void load_module(Reader& fields, Answer& answer);
  void find_kernel(Reader& fields, Answer& answer);
  void find_symbol(Reader& fields, Answer& answer, bool managed);
  void allocate(Reader& fields, Answer& answer, bool managed);
  void free(Reader& fields, Answer& answer);
  void write(Reader& fields, Answer& answer);
  void read(Reader& fields, Answer& answer);
  void copy(Reader& fields, Answer& answer);
  void set(Reader& fields, Answer& answer);
  void stream(Call call, Reader& fields, Answer& answer);
  void event(Call call, Reader& fields, Answer& answer);
  void launch(Reader& fields, Answer& answer);
  void occupancy(Reader& fields, Answer& answer);
  void create_texture(Reader& fields, Answer& answer);
  void destroy_texture(Reader& fields, Answer& answer);
  void create_surface(Reader& fields, Answer& answer);
  void destroy_surface(Reader& fields, Answer& answer);
  void describe_device(Answer& answer) const;
  void heap(Reader& fields, Answer& answer);
  void stack(Reader& fields, Answer& answer);
  void deliver_printed(std::vector<Message>& answers);

  /// The memory of a call on the device, or nothing: then the answer says so.
  bool contains(const Area& area) const;
  /// Does it now, or in its stream's turn when something is ahead of it.
  void in_turn(u64 stream, bool writes, std::function<void(GuestMemory&, Cycle)> action, bool always_queue = false);
  void issue(Launch launch, u64 stream);
  void deliver_managed(std::vector<Message>& answers);
  u64 whole_pages(u64 bytes) const;
  u64 blocks_of_sm(const ptx::Code& code, u64 threads, u64 dynamic_shared_bytes) const;
  void note_managed(const Area& area);

  Setup setup_;
  GuestMemory& memory_;
  ptx::Machine& machine_;
  std::optional<Status> failed_;
  std::map<u64, u64> buffers_;  // first address -> bytes
  u64 used_bytes_ = 0;
  std::map<u64, Managed> managed_;
  u64 modules_ = 0;
  std::vector<Kernel> kernels_;
  std::map<u64, Stream> streams_;
  std::map<u64, std::shared_ptr<Event>> events_;
  u64 next_handle_ = kFirstHandle;
  std::vector<Launch> issued_;
  u64 tickets_ = 0, first_of_batch_ = 1;
  u64 calls_ = 0;  // since the host went on
  std::deque<Message> deliveries_;
  u64 issued_bytes_ = 0;  // of copies
  u64 code_hash_ = 0, launches_ = 0;
  u64 local_bytes_ = 0;
  bool counts_heap_ = false;  // in used_bytes_
  bool ran_ = false;          // since managed memory was last compared
};

}  // namespace terrace::cuda
