// SPDX-License-Identifier: MIT
#include "cuda/host_session.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "cuda/fat_binary.h"
#include "engine/check.h"
#include "engine/hash.h"
#include "frontend/ptx/decode/inst.h"

namespace terrace::cuda {
namespace {

constexpr u64 kMostModules = 4096, kMostHandles = 1 << 20, kMostArguments = 4096;
constexpr u64 kManagedPage = 4096;  // what is compared and sent as a whole

}  // namespace

u64 HostSession::whole_pages(u64 bytes) const {
  const u64 page = static_cast<u64>(memory_.page_size());
  return (std::max<u64>(bytes, 1) + page - 1) / page * page;
}

HostSession::Outcome HostSession::handle(const Message& message, std::vector<Message>& answers) {
  Reader fields(message.payload);
  Answer answer;
  Outcome outcome = Outcome::kAnswered;
  if (!issued_.empty() && needs_wait(message)) return Outcome::kWaits;
  ++calls_;
  if (failed_ && message.call != Call::kHello && message.call != Call::kGoodbye && message.call != Call::kDevice) {
    answer.status = *failed_;
  } else {
    outcome = serve(message.call, fields, answer);
    if (!fields.good() && answer.status == Status::kSuccess) answer.status = Status::kInvalidValue;
  }
  for (; !deliveries_.empty(); deliveries_.pop_front()) answers.push_back(std::move(deliveries_.front()));
  deliver_printed(answers);
  if (ran_) deliver_managed(answers);
  Writer whole;
  whole.u32(static_cast<u32>(answer.status))
      .text(answer.sentence)
      .data(answer.fields.bytes().data(), answer.fields.bytes().size());
  answers.push_back({Call::kAnswer, whole.bytes()});
  return outcome;
}

/// Calls whose answer depends on what was issued.
bool HostSession::needs_wait(const Message& message) const {
  Reader fields(message.payload);
  switch (message.call) {
    case Call::kFree:
    case Call::kStreamWait:
    case Call::kStreamDestroy:
    case Call::kEventWait:
    case Call::kEventElapsed:
    case Call::kWait:
    case Call::kReset:
    case Call::kHeapBytes:
    case Call::kTextureDestroy:
    case Call::kGoodbye:
    case Call::kLoadModule:     // its variables are written
    case Call::kManagedSymbol:  // its variable is read
      return true;
    case Call::kRead:
      fields.area();
      fields.u64();
      return fields.u32() != 0;
    case Call::kCopy:
      fields.area();
      fields.area();
      fields.u64();
      return fields.u32() != 0;
    default:
      return false;
  }
}

HostSession::Outcome HostSession::serve(Call call, Reader& fields, Answer& answer) {
  switch (call) {
    case Call::kHello:
      if (fields.u32() != kProtocolVersion) {
        answer.status = Status::kNoDevice;
        answer.sentence = "this runtime library and the simulator come from different builds; use those of one build";
        return Outcome::kEnded;
      }
      break;
    case Call::kGoodbye:
      return Outcome::kEnded;
    case Call::kLoadModule:
      load_module(fields, answer);
      break;
    case Call::kKernel:
      find_kernel(fields, answer);
      break;
    case Call::kSymbol:
    case Call::kManagedSymbol:
      find_symbol(fields, answer, call == Call::kManagedSymbol);
      break;
    case Call::kAllocate:
    case Call::kAllocateManaged:
      allocate(fields, answer, call == Call::kAllocateManaged);
      break;
    case Call::kFree:
      free(fields, answer);
      break;
    case Call::kWrite:
      write(fields, answer);
      break;
    case Call::kRead:
      read(fields, answer);
      break;
    case Call::kCopy:
      copy(fields, answer);
      break;
    case Call::kSet:
      set(fields, answer);
      break;
    case Call::kStreamCreate:
    case Call::kStreamDestroy:
    case Call::kStreamWait:
    case Call::kStreamAfterEvent:
      stream(call, fields, answer);
      break;
    case Call::kEventCreate:
    case Call::kEventDestroy:
    case Call::kEventRecord:
    case Call::kEventWait:
    case Call::kEventElapsed:
      event(call, fields, answer);
      break;
    case Call::kLaunch:
      launch(fields, answer);
      break;
    case Call::kWait:
      break;
    case Call::kMemoryInfo:
      answer.fields.u64(setup_.device.memory_bytes - std::min(setup_.device.memory_bytes, used_bytes_))
          .u64(setup_.device.memory_bytes);
      break;
    case Call::kDevice:
      describe_device(answer);
      break;
    case Call::kOccupancy:
      occupancy(fields, answer);
      break;
    case Call::kReset:
      clear();
      break;
    case Call::kHeapBytes:
      heap(fields, answer);
      break;
    case Call::kTextureCreate:
      create_texture(fields, answer);
      break;
    case Call::kTextureDestroy:
      destroy_texture(fields, answer);
      break;
    default:
      answer.status = Status::kInvalidValue;
      answer.sentence = fmt::format("call {} is not known", static_cast<u32>(call));
      return Outcome::kEnded;
  }
  return Outcome::kAnswered;
}

void HostSession::describe_device(Answer& answer) const {
  const DeviceFacts& device = setup_.device;
  answer.fields.text(device.name)
      .u64(device.memory_bytes)
      .u32(device.sms)
      .u32(device.warp_width)
      .u32(device.sm_warps)
      .u32(device.sm_blocks)
      .u32(device.sm_registers)
      .u32(device.sm_shared_bytes)
      .u32(device.core_mhz)
      .u32(device.l2_bytes);
}

/// cudaLimitMallocHeapSize. As in CUDA it is too late once a kernel has been launched that takes memory.
void HostSession::heap(Reader& fields, Answer& answer) {
  const bool change = fields.u32() != 0;
  const u64 bytes = fields.u64();
  if (change && (!fields.good() || bytes > setup_.device.memory_bytes || !machine_.set_heap_bytes(bytes)))
    answer.status = Status::kInvalidValue;
  answer.fields.u64(machine_.heap_bytes());
}

void HostSession::deliver_printed(std::vector<Message>& answers) {
  const std::string text = machine_.take_printed();
  if (text.empty()) return;
  Writer fields;
  fields.text(text);
  answers.push_back({Call::kPrinted, fields.bytes()});
}

void HostSession::load_module(Reader& fields, Answer& answer) {
  const auto bytes = fields.data();
  if (!fields.good() || modules_ >= kMostModules) {
    answer.status = Status::kInvalidValue;
    return;
  }
  try {
    std::optional<std::string> ptx = ptx_of_fat_binary(bytes);
    if (!ptx) {
      answer.status = Status::kNoKernelImage;
      answer.sentence =
          "the program contains only machine code; build it with PTX (nvcc -arch=compute_75, or -arch=sm_75)";
      return;
    }
    code_hash_ = hash64(fmt::format("{}{:016x}", *ptx, code_hash_));
    ptx::Module module = ptx::parse_module(fmt::format("module {}", modules_), std::move(*ptx),
                                           ptx::warp_size_of(machine_.warp_width()));
    u64 bytes_of_variables = 0;
    for (const ptx::Variable& variable : module.variables) {
      if (variable.bytes > setup_.device.memory_bytes) input_error("variable {} is too large", variable.name);
      bytes_of_variables += variable.bytes + variable.align + 16;
    }
    const u64 whole = whole_pages(bytes_of_variables) * 2;
    if (whole > setup_.device.memory_bytes - std::min(setup_.device.memory_bytes, used_bytes_)) {
      answer.status = Status::kMemoryAllocation;
      return;
    }
    const u32 number = machine_.add(std::move(module));
    used_bytes_ += whole;
    ++modules_;
    answer.fields.u32(number);
  } catch (const InputError& error) {
    answer.status = Status::kInvalidPtx;
    answer.sentence = error.what();
  }
}

void HostSession::find_kernel(Reader& fields, Answer& answer) {
  const u32 module = fields.u32();
  const std::string name = fields.text();
  if (!fields.good() || module >= modules_ || kernels_.size() >= kMostHandles) {
    answer.status = Status::kInvalidDeviceFunction;
    return;
  }
  const ptx::Function* declaration = machine_.declaration(module, name);
  if (declaration == nullptr) {
    answer.status = Status::kInvalidDeviceFunction;
    return;
  }
  try {
    kernels_.push_back({module, name, declaration, &machine_.code(module, name)});
  } catch (const InputError& error) {
    answer.status = Status::kNotSupported;
    answer.sentence = fmt::format("kernel {} cannot be executed: {}", name, error.what());
    return;
  }
  const ptx::Code& code = *kernels_.back().code;
  answer.fields.u32(static_cast<u32>(kernels_.size() - 1))
      .u32(code.registers_per_thread)
      .u32(code.static_shared_bytes)
      .u32(code.local_bytes)
      .u32(declaration->max_threads)
      .u32(static_cast<u32>(declaration->params.size()));
  for (const u32 param : declaration->params) answer.fields.u32(static_cast<u32>(declaration->variables[param].bytes));
}

void HostSession::find_symbol(Reader& fields, Answer& answer, bool managed) {
  const u32 module = fields.u32();
  const std::string name = fields.text();
  if (!fields.good() || module >= modules_) {
    answer.status = Status::kInvalidSymbol;
    return;
  }
  const auto found = machine_.variable(module, name);
  if (!found) {
    answer.status = Status::kInvalidSymbol;
    return;
  }
  answer.fields.u64(found->first.raw).u64(found->bytes);
  if (!managed) return;
  const u8* now = memory_.read(found->first, found->bytes).data();
  managed_[found->first.raw] = {found->bytes, std::vector<u8>(now, now + found->bytes)};
}

void HostSession::allocate(Reader& fields, Answer& answer, bool managed) {
  const u64 address = managed ? fields.u64() : 0, bytes = fields.u64();
  if (!fields.good() || bytes == 0) {
    answer.status = Status::kInvalidValue;
    return;
  }
  const u64 left = setup_.device.memory_bytes - std::min(setup_.device.memory_bytes, used_bytes_);
  if (bytes > left || whole_pages(bytes) > left) {
    answer.status = Status::kMemoryAllocation;
    return;
  }
  try {
    const std::string name = fmt::format("{} {}", managed ? "cudaMallocManaged" : "cudaMalloc", buffers_.size());
    const VirtAddr first = managed ? memory_.allocate_at(name, {address}, bytes) : memory_.allocate(name, bytes);
    buffers_[first.raw] = bytes;
    used_bytes_ += whole_pages(bytes);
    if (managed) managed_[first.raw] = {bytes, std::vector<u8>(bytes)};
    answer.fields.u64(first.raw);
  } catch (const InputError& error) {
    answer.status = managed ? Status::kInvalidValue : Status::kMemoryAllocation;
    answer.sentence = error.what();
  }
}

void HostSession::free(Reader& fields, Answer& answer) {
  const auto found = buffers_.find(fields.u64());
  if (!fields.good() || found == buffers_.end()) {
    answer.status = Status::kInvalidValue;
    return;
  }
  memory_.free({found->first});
  used_bytes_ -= whole_pages(found->second);
  managed_.erase(found->first);
  buffers_.erase(found);
}

/// Whether all its bytes lie in one allocation of the process.
bool HostSession::contains(const Area& area) const {
  if (area.width == 0 || area.rows == 0) return true;
  if (area.rows > 1 && area.pitch < area.width) return false;
  constexpr u64 kMost = GuestMemory::kEnd;
  if (area.first >= kMost || area.width > kMost || area.rows > kMost || area.pitch > kMost) return false;
  const GuestMemory::Allocation* holder = memory_.nearest({area.first});
  if (holder == nullptr || area.first - holder->first.raw > holder->bytes) return false;
  const u64 left = holder->bytes - (area.first - holder->first.raw);
  if (area.width > left) return false;
  return area.rows == 1 || area.rows - 1 <= (left - area.width) / area.pitch;
}

void HostSession::in_turn(u64 stream, bool writes, std::function<void(GuestMemory&, Cycle)> action, bool always_queue) {
  if (issued_.empty() && !always_queue) return action(memory_, 0);
  Launch launch;
  launch.action = std::move(action);
  launch.action_writes = writes;
  issue(std::move(launch), stream);
}

/// The default stream goes behind all streams that do not opt out, and they behind it.
void HostSession::issue(Launch launch, u64 stream) {
  launch.ticket = ++tickets_;
  launch.stream = static_cast<u32>(stream);
  launch.host_cycles = calls_ * setup_.call_cycles;
  const auto behind = [&](u64 ticket) {
    if (ticket >= first_of_batch_) launch.after.push_back(ticket);
  };
  Stream& its = streams_.at(stream);
  if (stream == 0) {
    for (const auto& [id, other] : streams_)
      if (id != 0 && other.blocking) behind(other.last);
  } else if (its.blocking) {
    behind(streams_.at(0).last);
  }
  its.last = launch.ticket;
  issued_.push_back(std::move(launch));
}

std::vector<Launch> HostSession::take_issued() {
  first_of_batch_ = tickets_ + 1;
  calls_ = 0;
  issued_bytes_ = 0;
  ran_ = true;
  return std::exchange(issued_, {});
}

void HostSession::note_managed(const Area& area) {
  for (auto& [first, managed] : managed_) {
    for (u64 row = 0; row < area.rows; ++row) {
      const u64 at = area.first + row * area.pitch;
      if (at < first || at >= first + managed.bytes) continue;
      const u64 count = std::min(area.width, first + managed.bytes - at);
      std::memcpy(managed.known.data() + (at - first), memory_.read({at}, count).data(), count);
    }
  }
}

void HostSession::write(Reader& fields, Answer& answer) {
  const Area area = fields.area();
  const u64 stream = fields.u64();
  const auto bytes = fields.data();
  if (!fields.complete() || !streams_.contains(stream) || !contains(area) || bytes.size() != area.bytes()) {
    answer.status = Status::kInvalidValue;
    return;
  }
  if (bytes.empty()) return;
  const auto put = [this, area](GuestMemory& memory, const u8* from) {
    for (u64 row = 0; row < area.rows; ++row) {
      std::memcpy(memory.write({area.first + row * area.pitch}, area.width).data(), from + row * area.width,
                  area.width);
    }
    if (!managed_.empty()) note_managed(area);
  };
  if (issued_.empty()) return put(memory_, bytes.data());
  issued_bytes_ += bytes.size();
  in_turn(stream, true, [put, kept = std::vector<u8>(bytes.begin(), bytes.end())](GuestMemory& memory, Cycle) {
    put(memory, kept.data());
  });
}

void HostSession::read(Reader& fields, Answer& answer) {
  const Area area = fields.area();
  const u64 stream = fields.u64();
  const bool waits = fields.u32() != 0;
  const u64 number = fields.u64();
  if (!fields.complete() || !streams_.contains(stream) || !contains(area) || area.bytes() > kMostCopyBytes) {
    answer.status = Status::kInvalidValue;
    return;
  }
  if (area.bytes() == 0 && waits) return void(answer.fields.room(0));
  const auto take = [area](const GuestMemory& memory, u8* to) {
    for (u64 row = 0; row < area.rows && area.width > 0; ++row) {
      std::memcpy(to + row * area.width, memory.read({area.first + row * area.pitch}, area.width).data(), area.width);
    }
  };
  if (waits) return take(memory_, answer.fields.room(area.bytes()));
  issued_bytes_ += area.bytes();
  in_turn(stream, false, [this, take, area, number](GuestMemory& memory, Cycle) {
    Writer bytes;
    bytes.u64(number);
    take(memory, bytes.room(area.bytes()));
    deliveries_.push_back({Call::kReadDone, bytes.bytes()});
  });
}

void HostSession::copy(Reader& fields, Answer& answer) {
  const Area to = fields.area(), from = fields.area();
  const u64 stream = fields.u64();
  fields.u32();
  if (!fields.complete() || !streams_.contains(stream) || !contains(to) || !contains(from) || to.width != from.width ||
      to.rows != from.rows) {
    answer.status = Status::kInvalidValue;
    return;
  }
  if (to.bytes() == 0) return;
  in_turn(stream, true, [to, from](GuestMemory& memory, Cycle) {
    for (u64 row = 0; row < to.rows; ++row) {
      const auto source = memory.read({from.first + row * from.pitch}, from.width);
      std::memmove(memory.write({to.first + row * to.pitch}, to.width).data(), source.data(), to.width);
    }
  });
}

void HostSession::set(Reader& fields, Answer& answer) {
  const Area area = fields.area();
  const u64 stream = fields.u64();
  const u32 element = fields.u32(), value = fields.u32();
  const bool possible = element == 1 || element == 2 || element == 4;
  if (!fields.complete() || !streams_.contains(stream) || !contains(area) || !possible || area.width % element != 0) {
    answer.status = Status::kInvalidValue;
    return;
  }
  if (area.bytes() == 0) return;
  in_turn(stream, true, [area, element, value](GuestMemory& memory, Cycle) {
    for (u64 row = 0; row < area.rows; ++row) {
      u8* to = memory.write({area.first + row * area.pitch}, area.width).data();
      if (element == 1) {
        std::memset(to, static_cast<int>(value & 0xff), area.width);
      } else {
        for (u64 at = 0; at < area.width; at += element) std::memcpy(to + at, &value, element);
      }
    }
  });
}

void HostSession::stream(Call call, Reader& fields, Answer& answer) {
  if (call == Call::kStreamCreate) {
    const u32 flags = fields.u32();
    if (streams_.size() >= kMostHandles) {
      answer.status = Status::kMemoryAllocation;
      return;
    }
    streams_[next_handle_] = {.blocking = flags == 0};
    answer.fields.u64(next_handle_++);
    return;
  }
  const u64 id = fields.u64();
  if (!fields.good() || !streams_.contains(id)) {
    answer.status = Status::kInvalidHandle;
    return;
  }
  if (call == Call::kStreamDestroy) {
    if (id == 0)
      answer.status = Status::kInvalidHandle;
    else
      streams_.erase(id);
  }
  if (call == Call::kStreamAfterEvent) {
    const auto found = events_.find(fields.u64());
    if (!fields.good() || found == events_.end()) {
      answer.status = Status::kInvalidHandle;
      return;
    }
    if (issued_.empty() || found->second->ticket < first_of_batch_) return;
    Launch nothing;
    nothing.action = [](GuestMemory&, Cycle) {};
    nothing.after.push_back(found->second->ticket);
    issue(std::move(nothing), id);
  }
}

void HostSession::event(Call call, Reader& fields, Answer& answer) {
  if (call == Call::kEventCreate) {
    if (events_.size() >= kMostHandles) {
      answer.status = Status::kMemoryAllocation;
      return;
    }
    events_[next_handle_] = std::make_shared<Event>();
    answer.fields.u64(next_handle_++);
    return;
  }
  const auto found = events_.find(fields.u64());
  if (!fields.good() || found == events_.end()) {
    answer.status = Status::kInvalidHandle;
    return;
  }
  if (call == Call::kEventDestroy) events_.erase(found);
  if (call == Call::kEventRecord) {
    const u64 stream = fields.u64();
    if (!fields.good() || !streams_.contains(stream)) {
      answer.status = Status::kInvalidHandle;
      return;
    }
    const std::shared_ptr<Event> event = found->second;
    event->recorded = true;
    in_turn(stream, false, [event](GuestMemory&, Cycle now) { event->at = now; }, true);
    event->ticket = tickets_;
  }
  if (call == Call::kEventElapsed) {
    const auto end = events_.find(fields.u64());
    if (!fields.good() || end == events_.end() || !found->second->recorded || !end->second->recorded) {
      answer.status = Status::kInvalidHandle;
      return;
    }
    answer.fields.u64(found->second->at).u64(end->second->at);
  }
}

u64 HostSession::blocks_of_sm(const ptx::Code& code, u64 threads, u64 dynamic_shared_bytes) const {
  const DeviceFacts& device = setup_.device;
  const u64 warps = (threads + device.warp_width - 1) / device.warp_width;
  const u64 registers = u64{code.registers_per_thread} * device.warp_width * warps;
  const u64 shared = code.static_shared_bytes + dynamic_shared_bytes;
  u64 blocks = std::min<u64>(device.sm_blocks, device.sm_warps / std::max<u64>(warps, 1));
  if (registers > 0) blocks = std::min(blocks, device.sm_registers / registers);
  if (shared > 0) blocks = std::min(blocks, device.sm_shared_bytes / shared);
  return blocks;
}

void HostSession::occupancy(Reader& fields, Answer& answer) {
  const u32 kernel = fields.u32();
  const u64 threads = fields.u64(), shared = fields.u64();
  if (!fields.complete() || kernel >= kernels_.size() || threads == 0 || threads > kMostThreadsOfBlock ||
      shared > GuestMemory::kWindowBytes) {
    answer.status = Status::kInvalidValue;
    return;
  }
  answer.fields.u32(static_cast<u32>(blocks_of_sm(*kernels_[kernel].code, threads, shared)));
}

void HostSession::launch(Reader& fields, Answer& answer) {
  const u32 number = fields.u32();
  Launch launch;
  launch.grid = {fields.u32(), fields.u32(), fields.u32()};
  launch.block = {fields.u32(), fields.u32(), fields.u32()};
  const u64 shared = fields.u64(), stream = fields.u64();
  const u32 arguments = fields.u32();
  if (!fields.good() || number >= kernels_.size() || arguments > kMostArguments) {
    answer.status = Status::kInvalidDeviceFunction;
    return;
  }
  if (!streams_.contains(stream)) {
    answer.status = Status::kInvalidHandle;
    return;
  }
  const Kernel& kernel = kernels_[number];
  if (arguments != kernel.declaration->params.size()) {
    answer.status = Status::kInvalidValue;
    return;
  }
  for (u32 i = 0; i < arguments; ++i) {
    const auto bytes = fields.data();
    if (bytes.size() != kernel.declaration->variables[kernel.declaration->params[i]].bytes) {
      answer.status = Status::kInvalidValue;
      return;
    }
    launch.arguments.push_back({std::vector<u8>(bytes.begin(), bytes.end())});
  }
  const u64 threads = launch.block.count();
  constexpr u64 kMostThreadsOfGrid = u64{1} << 48;  // more would take years
  const bool possible = fields.complete() && launch.grid.count() > 0 &&
                        launch.grid.count() <= kMostThreadsOfGrid / std::max<u64>(threads, 1) && threads > 0 &&
                        fits(launch.grid, kMostBlocks) && fits(launch.block, kMostThreads) &&
                        threads <= kMostThreadsOfBlock &&
                        shared <= GuestMemory::kWindowBytes - kernel.code->static_shared_bytes;
  if (!possible || (kernel.declaration->required_threads != 0 && threads != kernel.declaration->required_threads)) {
    answer.status = Status::kInvalidConfiguration;
    return;
  }
  if (kernel.code->static_shared_bytes + shared > setup_.device.sm_shared_bytes) {
    answer.status = Status::kInvalidConfiguration;
    return;
  }
  if (blocks_of_sm(*kernel.code, threads, shared) == 0 ||
      (kernel.declaration->max_threads != 0 && threads > kernel.declaration->max_threads)) {
    answer.status = Status::kLaunchOutOfResources;
    return;
  }
  // Local memory is that of all threads of the launch. Twice as much is set aside as the largest launch needs, for others in
  // flight.
  const u64 local = kernel.code->local_bytes;
  const u64 left = setup_.device.memory_bytes - std::min(setup_.device.memory_bytes, used_bytes_);
  if (local > 0) {
    const u64 all_threads = launch.grid.count() * threads;
    if (all_threads > left / 2 / local) {
      answer.status = Status::kLaunchOutOfResources;
      answer.sentence =
          fmt::format("kernel {} needs {} bytes of local memory for each thread of the grid, more than is free",
                      kernel.name, local);
      return;
    }
    const u64 bytes = whole_pages(all_threads * local);
    if (bytes > local_bytes_) {
      used_bytes_ += 2 * bytes;
      local_bytes_ = bytes;
    }
  }
  if (kernel.code->uses_heap && !counts_heap_) {
    const u64 bytes = whole_pages(machine_.heap_bytes());
    if (bytes > setup_.device.memory_bytes - std::min(setup_.device.memory_bytes, used_bytes_)) {
      answer.status = Status::kLaunchOutOfResources;
      answer.sentence = fmt::format("kernel {} needs a device heap of {} bytes, more than is free", kernel.name, bytes);
      return;
    }
    used_bytes_ += bytes;
    counts_heap_ = true;
  }
  launch.module = kernel.module;
  launch.kernel = kernel.name;
  launch.dynamic_shared_bytes = static_cast<u32>(shared);
  ++launches_;
  issue(std::move(launch), stream);
}

void HostSession::deliver_managed(std::vector<Message>& answers) {
  ran_ = false;
  for (auto& [first, managed] : managed_) {
    const u8* now = memory_.read({first}, managed.bytes).data();
    for (u64 at = 0; at < managed.bytes; at += kManagedPage) {
      const u64 count = std::min(kManagedPage, managed.bytes - at);
      if (std::memcmp(now + at, managed.known.data() + at, count) == 0) continue;
      std::memcpy(managed.known.data() + at, now + at, count);
      Writer bytes;
      bytes.u64(first + at).data(now + at, count);
      answers.push_back({Call::kManagedBytes, bytes.bytes()});
    }
  }
}

void HostSession::clear() {
  issued_.clear();
  deliveries_.clear();
  for (const auto& [first, bytes] : buffers_) memory_.free({first});
  buffers_.clear();
  managed_.clear();
  machine_.clear();
  kernels_.clear();
  events_.clear();
  streams_.clear();
  streams_[0];
  modules_ = 0;
  used_bytes_ = 0;
  local_bytes_ = 0;
  counts_heap_ = false;
  machine_.set_heap_bytes(ptx::DeviceHeap::kBytes);
  machine_.take_printed();  // nobody is there to read it
  ran_ = false;
}

}  // namespace terrace::cuda
