// Modules of a process, and the kernels and variables in them.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <utility>

#include "cuda/fat_binary.h"
#include "cuda/host_session.h"
#include "engine/check.h"
#include "engine/hash.h"
#include "frontend/ptx/decode/inst.h"

namespace terrace::cuda {
namespace {

constexpr u64 kMostModules = 4096;

/// The PTX of all of them, one behind the other, as the reader links it. None if one has only machine code.
std::optional<std::string> linked_ptx(const std::vector<std::span<const u8>>& binaries) {
  std::string linked;
  for (const std::span<const u8> binary : binaries) {
    const std::optional<std::string> ptx = ptx_of_fat_binary(binary);
    if (!ptx) return std::nullopt;
    linked.append(linked.empty() ? "" : "\n").append(*ptx);
  }
  return linked;
}

}  // namespace

void HostSession::load_module(Reader& fields, Answer& answer) {
  std::vector<std::span<const u8>> binaries;
  do binaries.push_back(fields.data());
  while (fields.good() && !fields.complete());
  if (!fields.good() || modules_ >= kMostModules) {
    answer.status = Status::kInvalidValue;
    return;
  }
  try {
    std::optional<std::string> ptx = linked_ptx(binaries);
    if (!ptx) {
      answer.status = Status::kNoKernelImage;
      answer.sentence =
          "the program contains only machine code; build it with PTX (nvcc -arch=compute_75, or -arch=sm_75)";
      return;
    }
    const u64 left = setup_.device.memory_bytes - std::min(setup_.device.memory_bytes, used_bytes_);
    const u64 bytes_of_code = whole_pages(ptx->size());
    if (bytes_of_code > left) {
      answer.status = Status::kMemoryAllocation;
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
    const u64 whole = bytes_of_code + whole_pages(bytes_of_variables) * 2;
    if (whole > left) {
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

}  // namespace terrace::cuda
