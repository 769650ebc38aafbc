// The kinds of device code, and who turns each into an instruction stream. Whoever builds a run asks for a stream by
// the kind of the program (`make_stream`) and sees nothing of what is behind it: PTX is one kind (ptx/ptx_kind.cc),
// recorded traces are another (traces/traces_kind.cc).
//
// A new kind is one file: a class of StreamKind, its stream, and a static RegisterStreamKind of it. The contract suite
// (tests/contract/stream_kind_contract_test.cc) holds every kind to inst_stream.h and asks for an example of each.
// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/inst_stream.h"
#include "frontend/workload.h"

namespace terrace {

class StreamKind {
 public:
  virtual ~StreamKind() = default;

  /// What DeviceCode::kind calls it.
  virtual std::string_view name() const = 0;
  /// A stream for one tenant. It may allocate in the tenant's memory (module variables), and refers to it. Code that is
  /// wrong, or asks for what the stream cannot do, is an InputError.
  virtual std::unique_ptr<InstStream> make(const DeviceCode& code, GuestMemory& memory, u32 warp_width) const = 0;
  /// Tells mistakes in the code without making a stream: before a sweep begins, say.
  virtual void check(const DeviceCode& code) const = 0;

  /// Kinds that bring their own programs (a folder of traces is code, buffers and launches in one): whether what a user
  /// names as a tenant is such a program, and the program. The hash of its code must cover all that was read for it.
  virtual bool reads(std::string_view program) const;
  virtual ProgramInstance load(const std::string& program, u64 seed) const;

  /// Whether its kernels compute values, so that results can be checked.
  virtual bool has_values() const { return true; }
  /// Opcodes in the code that the stream does not know and does nothing for, with the instructions that one execution of
  /// the program has of each: results name them.
  virtual std::map<std::string, u64> unknown_opcodes(const DeviceCode&) const { return {}; }
};

void register_stream_kind(std::unique_ptr<StreamKind> kind);

/// One static object of this per kind, in the kind's file.
template <class Kind>
struct RegisterStreamKind {
  RegisterStreamKind() { register_stream_kind(std::make_unique<Kind>()); }
};

/// All kinds, in the order of their names.
std::vector<const StreamKind*> stream_kinds();
/// By name; an unknown one is an InputError that lists those there are.
const StreamKind& stream_kind(std::string_view name);
/// The kind that reads what a user names as a tenant by itself; null for .toml files and workloads.
const StreamKind* kind_that_reads(std::string_view program);

/// An InputError when results of the code cannot be checked; `option` is what asked for it.
void require_values(const DeviceCode& code, std::string_view option);

inline std::unique_ptr<InstStream> make_stream(const DeviceCode& code, GuestMemory& memory, u32 warp_width = 32) {
  return stream_kind(code.kind).make(code, memory, warp_width);
}

}  // namespace terrace
