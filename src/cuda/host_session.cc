// SPDX-License-Identifier: MIT
#include "cuda/host_session.h"

#include <algorithm>
#include <utility>

#include "engine/check.h"

namespace terrace::cuda {

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
    case Call::kStackBytes:
    case Call::kTextureDestroy:
    case Call::kSurfaceDestroy:
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
    case Call::kStackBytes:
      stack(fields, answer);
      break;
    case Call::kTextureCreate:
      create_texture(fields, answer);
      break;
    case Call::kTextureDestroy:
      destroy_texture(fields, answer);
      break;
    case Call::kSurfaceCreate:
      create_surface(fields, answer);
      break;
    case Call::kSurfaceDestroy:
      destroy_surface(fields, answer);
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

/// cudaLimitStackSize
void HostSession::stack(Reader& fields, Answer& answer) {
  const bool change = fields.u32() != 0;
  const u64 bytes = fields.u64();
  if (change && (!fields.good() || bytes > DeviceCode::kMostStackBytes))
    answer.status = Status::kInvalidValue;
  else if (change)
    machine_.set_stack_bytes(bytes);
  answer.fields.u64(machine_.stack_bytes());
}

void HostSession::deliver_printed(std::vector<Message>& answers) {
  const std::string text = machine_.take_printed();
  if (text.empty()) return;
  Writer fields;
  fields.text(text);
  answers.push_back({Call::kPrinted, fields.bytes()});
}

void HostSession::begin() {
  clear();
  failed_.reset();
  next_handle_ = kFirstHandle;
  calls_ = 0;
  issued_bytes_ = 0;
  first_of_batch_ = tickets_ + 1;
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
  machine_.set_stack_bytes(DeviceCode::kStackBytes);
  machine_.take_printed();  // nobody is there to read it
  ran_ = false;
}

}  // namespace terrace::cuda
