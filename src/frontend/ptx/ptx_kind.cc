// Device code that is PTX text, from a file or compiled from CUDA (device_code.h): the machine executes it.
// SPDX-License-Identifier: MIT
#include "frontend/ptx/execute/machine.h"
#include "frontend/ptx/read/parser.h"
#include "frontend/stream_kind.h"

namespace terrace::ptx {
namespace {

class PtxKind final : public StreamKind {
 public:
  std::string_view name() const override { return DeviceCode::kPtx; }
  std::unique_ptr<InstStream> make(const DeviceCode& code, GuestMemory& memory, u32 warp_width) const override {
    return std::make_unique<Machine>(parse_module(code.file, code.text, warp_size_of(warp_width)), memory,
                                     MachineConfig{warp_width, code.heap_bytes, code.loop_limit, code.stack_bytes});
  }
  void check(const DeviceCode& code) const override { parse_module(code.file, code.text); }
};

const RegisterStreamKind<PtxKind> kPtxKind;

}  // namespace
}  // namespace terrace::ptx
