// SPDX-License-Identifier: MIT
#include "frontend/ptx/execute/device_runtime.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <utility>

#include "frontend/ptx/execute/access.h"
#include "frontend/ptx/execute/print_format.h"
#include "frontend/ptx/execute/simt_stack.h"

namespace terrace::ptx {
namespace {

/// Where argument or result number `place` of the call begins in the warp's parameters.
u32 param_offset(const Execution& x, const Inst& i, u32 place) {
  return x.warp.frame().param_base + x.launch.code->lists[i.list + place];
}

/// A lane's argument, of 4 or 8 bytes.
u64 argument(const Execution& x, const Inst& i, u32 place, u32 bytes, u32 lane) {
  const u8* area = reinterpret_cast<const u8*>(x.warp.params.data());
  const u32 offset = param_offset(x, i, place);
  u64 value = 0;
  for (u32 done = 0; done < bytes; done += 4) {
    u32 word;
    std::memcpy(&word, area + param_index(x.stride, offset + done, lane), sizeof word);
    value |= u64{word} << (8 * done);
  }
  return value;
}

void set_result(Warp& warp, u32 stride, u32 offset, u32 bytes, u32 lane, u64 value) {
  u8* area = reinterpret_cast<u8*>(warp.params.data());
  for (u32 done = 0; done < bytes; done += 4) {
    const u32 word = static_cast<u32>(value >> (8 * done));
    std::memcpy(area + param_index(stride, offset + done, lane), &word, sizeof word);
  }
}

/// The text that ends with a zero at an address; a pointer to nowhere gives what could be read.
std::string text_at(const Execution& x, u64 address, u32 lane) {
  constexpr u32 kMost = 500;  // longer than any assertion one would read
  std::string text;
  while (text.size() < kMost) {
    const u8* byte = generic_byte(x, address++, lane);
    if (byte == nullptr || *byte == 0) break;
    const char c = static_cast<char>(*byte);
    text.push_back(c >= ' ' || c < 0 ? c : ' ');  // a sentence has one line
  }
  return text;
}

/// __assertfail(message, file, line, function, size of a character)
void run_assertion(Execution& x, const Inst& i) {
  if (x.active == 0) {
    ++x.warp.pc;
    return settle(x.warp, *x.launch.code, x.stride);
  }
  const u32 lane = static_cast<u32>(std::countr_zero(x.active));
  const auto text = [&](u32 place) { return text_at(x, argument(x, i, place, 8, lane), lane); };
  x.machine.raise_fault(x, lane,
                        fmt::format("fails the assertion \"{}\" at {}:{} in function {}", text(0), text(1),
                                    argument(x, i, 2, 4, lane), text(3)));
}

/// int vprintf(format, buffer of arguments): how many arguments were printed, or -1 when there is no format
void run_print(Execution& x, const Inst& i) {
  std::vector<std::string> texts;
  u64 faulted = 0;
  x.each([&](u32 lane) {
    const u64 format = argument(x, i, 0, 8, lane);
    u32 result = static_cast<u32>(-1);
    if (format != 0 && faulted == 0) {
      const ByteSource bytes = [&](u64 address) -> std::optional<u8> {
        const u8* found = generic_byte(x, address, lane);
        return found == nullptr ? std::nullopt : std::optional(*found);
      };
      PrintedText printed = format_text(bytes, format, argument(x, i, 1, 8, lane), DeviceRuntime::kPrintBytes);
      if (printed.unreadable) {
        faulted = u64{1} << lane;
        return fault_generic(x, lane, *printed.unreadable);
      }
      result = printed.arguments;
      texts.push_back(std::move(printed.text));
    }
    set_result(x.warp, x.stride, param_offset(x, i, 2), 4, lane, result);
  });
  if (faulted == 0) {
    x.stores.defer([&runtime = x.machine.runtime(), texts = std::move(texts)] {
      for (const std::string& text : texts) runtime.print(text);
    });
  }
}

/// void* malloc(bytes)
void run_malloc(Execution& x, const Inst& i) {
  x.machine.disturb();
  std::vector<std::pair<u32, u64>> asked;  // lane, bytes
  x.each([&](u32 lane) { asked.emplace_back(lane, argument(x, i, 0, 8, lane)); });
  // The warp goes on in a later cycle: until then nobody looks at the result.
  x.stores.defer([&heap = x.machine.runtime().heap, &warp = x.warp, stride = x.stride, offset = param_offset(x, i, 1),
                  asked = std::move(asked)] {
    for (const auto& [lane, bytes] : asked) set_result(warp, stride, offset, 8, lane, heap.take(bytes));
  });
}

/// void free(address). Whether it may be freed was settled when the cycle began. So two SMs that free the same in one cycle both
/// may; the second changes nothing.
void run_free(Execution& x, const Inst& i) {
  x.machine.disturb();
  DeviceHeap& heap = x.machine.runtime().heap;
  std::vector<u64> freed;
  bool good = true;
  x.each([&](u32 lane) {
    const u64 address = argument(x, i, 0, 8, lane);
    if (address == 0 || !good) return;
    const bool twice = std::find(freed.begin(), freed.end(), address) != freed.end();
    good = heap.holds(address) && !twice;
    freed.push_back(address);
    if (good) return;
    x.machine.raise_fault(x, lane,
                          fmt::format("frees {:#x}, {}", address,
                                      twice ? "as another lane does: memory is freed once"
                                            : "where nothing begins that malloc gave and that is not freed yet"));
  });
  if (!good || freed.empty()) return;
  x.stores.defer([&heap, freed = std::move(freed)] {
    for (const u64 address : freed) heap.give_back(address);
  });
}

/// By name.
const std::array<DeviceFunction, 4>& device_functions() {
  static const std::array<DeviceFunction, 4> kFunctions{{
      {"__assertfail",
       "a message, a file, a line, a function and the size of a character; declare it as assert.h does",
       {8, 8, 4, 8, 8},
       {},
       false,
       false,
       run_assertion},
      {"free", "an address, and gives nothing; declare it as stdlib.h does", {8}, {}, true, true, run_free},
      {"malloc",
       "a number of bytes of 64 bits, and gives an address; declare it as stdlib.h does",
       {8},
       {8},
       true,
       true,
       run_malloc},
      {"vprintf",
       "a format and a buffer of arguments, and gives a number of 32 bits; declare it as CUDA does",
       {8, 8},
       {4},
       true,
       false,
       run_print},
  }};
  return kFunctions;
}

}  // namespace

const DeviceFunction* find_device_function(const Function& function) {
  if (function.defined) return nullptr;
  for (const DeviceFunction& provided : device_functions())
    if (provided.name == function.name) return &provided;
  return nullptr;
}

bool is_provided(const Function& function) {
  return find_device_function(function) != nullptr;
}

void DeviceRuntime::print(std::string_view text) {
  // Once something was dropped all is, so that no text has holes.
  if (dropped_ != 0 || text.size() > kPrintBytes - printed_.size())
    ++dropped_;
  else
    printed_ += text;
}

std::string DeviceRuntime::take_printed() {
  std::string taken = std::exchange(printed_, {});
  const u64 dropped = std::exchange(dropped_, 0);
  if (dropped == 0) return taken;
  if (!taken.empty() && taken.back() != '\n') taken.push_back('\n');
  return taken +
         fmt::format("(The text of {} more call{} of printf is lost: {} bytes are kept until they are shown.)\n",
                     dropped, dropped == 1 ? "" : "s", kPrintBytes);
}

}  // namespace terrace::ptx
