// Streams and events.
// SPDX-License-Identifier: MIT
#include <map>
#include <set>

#include "api.h"

using namespace terrace::cudart;

namespace {

constexpr unsigned kDisableTiming = 2;  // of an event

/// The flags of the program's own streams. Guarded by the link's lock.
std::map<std::uint64_t, unsigned>& streams() {
  static auto* all = new std::map<std::uint64_t, unsigned>;
  return *all;
}
std::set<std::uint64_t>& untimed_events() {
  static auto* all = new std::set<std::uint64_t>;
  return *all;
}

int make_stream(cudaStream_t* to, unsigned flags) {
  if (to == nullptr || flags > 1) return kInvalidValue;
  Link& link = Link::instance();
  const std::lock_guard guard(link.lock);
  Writer fields;
  fields.u32(flags);
  const Answer answer = link.ask(Call::kStreamCreate, fields);
  if (answer.status != kSuccess) return answer.status;
  const std::uint64_t made = answer.reader().u64();
  streams()[made] = flags;
  *to = reinterpret_cast<cudaStream_t>(made);
  return kSuccess;
}

int on_stream(Call call, cudaStream_t stream) {
  Writer fields;
  fields.u64(number(stream));
  return Link::instance().ask_status(call, fields);
}

int on_event(Call call, cudaEvent_t event) {
  Writer fields;
  fields.u64(number(event));
  return Link::instance().ask_status(call, fields);
}

/// What the library knows about a stream without asking the simulator. CUDA's own streams have no flags.
template <class T, class Answer>
int look_up(cudaStream_t stream, T* to, Answer answer) {
  const std::lock_guard guard(Link::instance().lock);
  if (to == nullptr) return kInvalidValue;
  unsigned flags = 0;
  if (reinterpret_cast<std::uintptr_t>(stream) > kPerThreadStream) {
    const auto found = streams().find(number(stream));
    if (found == streams().end()) return kInvalidHandle;
    flags = found->second;
  }
  *to = answer(flags);
  return kSuccess;
}

}  // namespace

namespace terrace::cudart {

/// The default stream of a thread is made when the thread first uses it.
std::uint64_t number(cudaStream_t stream) {
  thread_local cudaStream_t its = nullptr;
  thread_local unsigned resets = 0;
  const auto value = reinterpret_cast<std::uintptr_t>(stream);
  if (value <= kLegacyStream) return 0;
  if (value != kPerThreadStream) return value;
  const unsigned now = Link::instance().resets();
  if (its == nullptr || resets != now) {
    resets = now;
    // What follows fails with the same error.
    if (make_stream(&its, 0) != kSuccess) return 0;
  }
  return reinterpret_cast<std::uintptr_t>(its);
}

void forget_streams() {
  streams().clear();
  untimed_events().clear();
}

}  // namespace terrace::cudart

TERRACE_API int cudaStreamCreate(cudaStream_t* to) {
  return done(make_stream(to, 0));
}
TERRACE_API int cudaStreamCreateWithFlags(cudaStream_t* to, unsigned flags) {
  return done(make_stream(to, flags));
}
TERRACE_API int cudaStreamCreateWithPriority(cudaStream_t* to, unsigned flags, int) {
  return done(make_stream(to, flags));
}
TERRACE_API int cudaStreamDestroy(cudaStream_t stream) {
  const std::lock_guard guard(Link::instance().lock);
  if (reinterpret_cast<std::uintptr_t>(stream) <= kPerThreadStream) return done(kInvalidHandle);
  streams().erase(number(stream));
  return done(on_stream(Call::kStreamDestroy, stream));
}
TERRACE_API int cudaStreamSynchronize(cudaStream_t stream) {
  return done(on_stream(Call::kStreamWait, stream));
}
/// A program that polls would never see the simulated machine go on: the question waits for the answer.
TERRACE_API int cudaStreamQuery(cudaStream_t stream) {
  return done(on_stream(Call::kStreamWait, stream));
}
TERRACE_API int cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  Writer fields;
  fields.u64(number(stream)).u64(number(event));
  return done(Link::instance().ask_status(Call::kStreamAfterEvent, fields));
}
TERRACE_API int cudaStreamAddCallback(cudaStream_t stream, void (*call)(cudaStream_t, int, void*), void* data,
                                      unsigned) {
  const int status = on_stream(Call::kStreamWait, stream);
  call(stream, status, data);
  return done(status);
}
TERRACE_API int cudaLaunchHostFunc(cudaStream_t stream, void (*call)(void*), void* data) {
  const int status = on_stream(Call::kStreamWait, stream);
  if (status == kSuccess) call(data);
  return done(status);
}
TERRACE_API int cudaStreamGetPriority(cudaStream_t stream, int* priority) {
  return done(look_up(stream, priority, [](unsigned) { return 0; }));
}
TERRACE_API int cudaStreamGetFlags(cudaStream_t stream, unsigned* flags) {
  return done(look_up(stream, flags, [](unsigned its) { return its; }));
}
TERRACE_API int cudaStreamGetId(cudaStream_t stream, unsigned long long* id) {
  return done(look_up(stream, id, [&](unsigned) { return number(stream); }));
}
TERRACE_API int cudaStreamGetDevice(cudaStream_t stream, int* device) {
  return done(look_up(stream, device, [](unsigned) { return 0; }));
}
/// No stream ever captures.
TERRACE_API int cudaStreamIsCapturing(cudaStream_t stream, int* status) {
  return done(look_up(stream, status, [](unsigned) { return 0; }));
}
TERRACE_API int cudaStreamAttachMemAsync(cudaStream_t, void*, std::size_t, unsigned) {
  return kSuccess;
}

TERRACE_API int cudaEventCreateWithFlags(cudaEvent_t* to, unsigned flags) {
  Link& link = Link::instance();
  const std::lock_guard guard(link.lock);
  if (to == nullptr) return done(kInvalidValue);
  const Answer answer = link.ask(Call::kEventCreate, {});
  if (answer.status != kSuccess) return done(answer.status);
  const std::uint64_t made = answer.reader().u64();
  if ((flags & kDisableTiming) != 0) untimed_events().insert(made);
  *to = reinterpret_cast<cudaEvent_t>(made);
  return kSuccess;
}
TERRACE_API int cudaEventCreate(cudaEvent_t* to) {
  return cudaEventCreateWithFlags(to, 0);
}
TERRACE_API int cudaEventDestroy(cudaEvent_t event) {
  const std::lock_guard guard(Link::instance().lock);
  untimed_events().erase(number(event));
  return done(on_event(Call::kEventDestroy, event));
}
TERRACE_API int cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  Writer fields;
  fields.u64(number(event)).u64(number(stream));
  return done(Link::instance().ask_status(Call::kEventRecord, fields));
}
TERRACE_API int cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned) {
  return cudaEventRecord(event, stream);
}
TERRACE_API int cudaEventSynchronize(cudaEvent_t event) {
  return done(on_event(Call::kEventWait, event));
}
TERRACE_API int cudaEventQuery(cudaEvent_t event) {
  return done(on_event(Call::kEventWait, event));
}
TERRACE_API int cudaEventElapsedTime(float* milliseconds, cudaEvent_t from, cudaEvent_t to) {
  Link& link = Link::instance();
  const std::lock_guard guard(link.lock);
  if (milliseconds == nullptr) return done(kInvalidValue);
  if (untimed_events().contains(number(from)) || untimed_events().contains(number(to))) return done(kInvalidHandle);
  Writer fields;
  fields.u64(number(from)).u64(number(to));
  const Answer answer = link.ask(Call::kEventElapsed, fields);
  if (answer.status != kSuccess) return done(answer.status);
  Reader cycles = answer.reader();
  const auto began = static_cast<std::int64_t>(cycles.u64()), ended = static_cast<std::int64_t>(cycles.u64());
  *milliseconds = static_cast<float>(static_cast<double>(ended - began) / (link.device().core_mhz * 1000.0));
  return kSuccess;
}
TERRACE_API int cudaEventElapsedTime_v2(float* milliseconds, cudaEvent_t from, cudaEvent_t to) {
  return cudaEventElapsedTime(milliseconds, from, to);
}
