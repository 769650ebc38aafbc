// SPDX-License-Identifier: MIT
#include "frontend/ptx/execute/access.h"

#include <fmt/format.h>

#include <cstring>

namespace terrace::ptx {
namespace {

std::string_view verb(bool writes) {
  return writes ? "writes" : "reads";
}

std::string nearest_allocation(const GuestMemory& memory, u64 address) {
  const GuestMemory::Allocation* nearest = memory.nearest({address});
  if (nearest == nullptr && !memory.allocations().empty()) nearest = &memory.allocations().front();
  if (nearest == nullptr) return "there is none";
  return fmt::format("the nearest is \"{}\", {} bytes from {:#x}", nearest->name, nearest->bytes, nearest->first.raw);
}

/// The first word of a lane's local memory at `offset`.
u64 local_address(const Execution& x, u64 offset, u32 lane) {
  const u64 thread = x.block.number * x.launch.threads_per_block + u64{x.warp.index} * x.launch.width + lane;
  return x.launch.local_base.raw + ((offset / 4) * x.launch.threads + thread) * 4 + offset % 4;
}

class Resolver {
 public:
  Resolver(Execution& x, u32 bytes, bool writes, Access& access)
      : x_(x), address_(x.effect.address.data()), bytes_(bytes), writes_(writes), access_(access) {}

  bool global(u64 lanes) {
    access_.global_lanes |= lanes;
    return every(lanes, [&](u32 lane) {
      const u64 a = address_[lane];
      const bool allowed = writes_ ? x_.memory.writable({a}, bytes_) : x_.memory.contains({a}, bytes_);
      if ((a & (bytes_ - 1)) != 0 || !allowed) return fail(lane, Space::kGlobal);
      access_.pointer[lane] = x_.memory.at({a});
      return true;
    });
  }
  bool shared(u64 lanes) {
    const u64 size = x_.block.shared.size();
    u8* bytes = x_.block.shared.data();
    return every(lanes, [&](u32 lane) {
      const u64 a = address_[lane];
      if ((a & (bytes_ - 1)) != 0 || a >= size || a + bytes_ > size) return fail(lane, Space::kShared);
      access_.pointer[lane] = bytes + a;
      return true;
    });
  }
  bool local(u64 lanes) {
    const u64 size = x_.launch.local_bytes;
    access_.local_lanes |= lanes;
    return every(lanes, [&](u32 lane) {
      const u64 a = address_[lane];
      if ((a & (bytes_ - 1)) != 0 || a >= size || a + bytes_ > size) return fail(lane, Space::kLocal);
      address_[lane] = local_address(x_, a, lane);
      access_.pointer[lane] = access_.staging[lane].data();
      return true;
    });
  }
  bool kernel_param(u64 lanes) {
    const u64 size = x_.launch.params.size();
    u8* bytes = const_cast<u8*>(x_.launch.params.data());  // only loads come here
    return every(lanes, [&](u32 lane) {
      const u64 a = address_[lane];
      if ((a & (bytes_ - 1)) != 0 || a >= size || a + bytes_ > size) return fail(lane, Space::kParam);
      access_.pointer[lane] = bytes + a;
      return true;
    });
  }

  /// Each lane's address says which window it is in.
  bool generic() {
    u64 in_shared = 0, in_local = 0;
    x_.each([&](u32 lane) {
      const u64 a = address_[lane];
      in_shared |= u64{a - GuestMemory::kSharedWindow < GuestMemory::kWindowBytes} << lane;
      in_local |= u64{a - GuestMemory::kLocalWindow < GuestMemory::kWindowBytes} << lane;
    });
    for (u64 rest = in_shared; rest != 0; rest &= rest - 1)
      address_[std::countr_zero(rest)] -= GuestMemory::kSharedWindow;
    for (u64 rest = in_local; rest != 0; rest &= rest - 1)
      address_[std::countr_zero(rest)] -= GuestMemory::kLocalWindow;
    Effect& effect = x_.effect;
    effect.space = in_shared == x_.active  ? MemorySpace::kShared
                   : in_local == x_.active ? MemorySpace::kLocal
                                           : MemorySpace::kGlobal;
    if (effect.space == MemorySpace::kGlobal) effect.shared_lanes = in_shared;
    const u64 in_global = x_.active & ~in_shared & ~in_local;
    return global(in_global) && shared(in_shared) && local(in_local);
  }

 private:
  template <class F>
  bool every(u64 lanes, F&& f) {
    for (u64 rest = lanes; rest != 0; rest &= rest - 1)
      if (!f(static_cast<u32>(std::countr_zero(rest)))) return false;
    return true;
  }
  bool fail(u32 lane, Space space) {
    fault_outside(x_, lane, space, address_[lane], bytes_, writes_);
    return false;
  }

  Execution& x_;
  u64* address_;
  u32 bytes_;
  bool writes_;
  Access& access_;
};

template <class F>
void for_each_word(const Execution& x, u64 lanes, u32 bytes, F&& f) {
  const u64 stride = x.launch.threads * 4;
  for (u64 rest = lanes; rest != 0; rest &= rest - 1) {
    const u32 lane = static_cast<u32>(std::countr_zero(rest));
    for (u32 done = 0; done < bytes; done += 4)
      f(lane, done, x.effect.address[lane] + u64{done / 4} * stride, bytes < 4 ? bytes : 4);
  }
}

}  // namespace

void fault_outside(Execution& x, u32 lane, Space space, u64 address, u32 bytes, bool writes) {
  std::string where;
  if ((address & (bytes - 1)) != 0) {
    where = fmt::format("{:#x}, which is not a multiple of {}", address, bytes);
  } else if (space == Space::kShared) {
    where =
        fmt::format("offset {:#x} of shared memory, of which the block has {} bytes", address, x.block.shared.size());
  } else if (space == Space::kLocal) {
    where = fmt::format("offset {:#x} of local memory, of which a thread has {} bytes", address, x.launch.local_bytes);
  } else if (space == Space::kParam) {
    where = fmt::format("offset {:#x} of the parameters, which have {} bytes", address, x.launch.params.size());
  } else if (x.memory.contains({address}, bytes)) {
    where = fmt::format("{:#x}, which may only be read: it lies in \"{}\"", address, x.memory.nearest({address})->name);
  } else if (const GuestMemory::Allocation* freed = x.memory.freed({address})) {
    where = fmt::format("{:#x}, which lies in \"{}\", {} bytes from {:#x}; they have been freed", address, freed->name,
                        freed->bytes, freed->first.raw);
  } else {
    where = fmt::format("{:#x}, outside any allocation; {}", address, nearest_allocation(x.memory, address));
  }
  x.machine.raise_fault(x, lane, fmt::format("{} {} bytes at {}", verb(writes), bytes, where));
}

const u8* generic_byte(const Execution& x, u64 address, u32 lane) {
  if (const u64 offset = address - GuestMemory::kSharedWindow; offset < GuestMemory::kWindowBytes)
    return offset < x.block.shared.size() ? x.block.shared.data() + offset : nullptr;
  if (const u64 offset = address - GuestMemory::kLocalWindow; offset < GuestMemory::kWindowBytes)
    return offset < x.launch.local_bytes ? x.memory.at({local_address(x, offset, lane)}) : nullptr;
  return x.memory.contains({address}, 1) ? x.memory.at({address}) : nullptr;
}

void fault_generic(Execution& x, u32 lane, u64 address) {
  if (address - GuestMemory::kSharedWindow < GuestMemory::kWindowBytes)
    return fault_outside(x, lane, Space::kShared, address - GuestMemory::kSharedWindow, 1, false);
  if (address - GuestMemory::kLocalWindow < GuestMemory::kWindowBytes)
    return fault_outside(x, lane, Space::kLocal, address - GuestMemory::kLocalWindow, 1, false);
  fault_outside(x, lane, Space::kGlobal, address, 1, false);
}

void find_addresses(Execution& x, const Inst& i) {
  u64* address = x.effect.address.data();
  u64 offset = i.imm;
  if (i.flags & kFrameRelative) {
    const Frame& frame = x.warp.frame();
    offset += static_cast<Space>(i.mode) == Space::kParam ? frame.param_base : frame.local_base;
  }
  if (i.a == kNoOperand) {
    for (u32 lane = 0; lane < x.stride; ++lane) address[lane] = offset;
  } else if (i.flags & kAddress32) {
    const auto* base = x.src<u32>(i.a);
    for (u32 lane = 0; lane < x.stride; ++lane) address[lane] = base[lane] + offset;
  } else {
    const auto* base = x.src<u64>(i.a);
    for (u32 lane = 0; lane < x.stride; ++lane) address[lane] = base[lane] + offset;
  }
  const Space space = static_cast<Space>(i.mode);
  if (space == Space::kGlobal || space == Space::kGeneric) return;
  // All other spaces are 32 bits wide: sums wrap there, and what a wider register holds above is cut off. Constants lie
  // among the tenant's virtual addresses, so theirs wrap around where they begin.
  const u64 first = space == Space::kConst ? x.launch.constants.raw : 0;
  for (u32 lane = 0; lane < x.stride; ++lane) address[lane] = first + static_cast<u32>(address[lane] - first);
}

bool is_run(const Execution& x, u32 bytes) {
  if (x.active != (x.stride == 64 ? ~u64{0} : 0xffff'ffff)) return false;
  const u64* address = x.effect.address.data();
  const u64 first = address[0];
  if ((first & (bytes - 1)) != 0) return false;
  u64 difference = 0;
  for (u32 lane = 0; lane < x.stride; ++lane) difference |= address[lane] ^ (first + u64{lane} * bytes);
  return difference == 0;
}

bool resolve(Execution& x, const Inst& i, u32 bytes, bool writes, Access& access) {
  Resolver resolver(x, bytes, writes, access);
  Effect& effect = x.effect;
  effect.bytes = static_cast<u8>(bytes);
  effect.words = 1;
  effect.stride = 0;
  bool good = false;
  switch (static_cast<Space>(i.mode)) {
    case Space::kGlobal:
      effect.space = MemorySpace::kGlobal;
      good = resolver.global(x.active);
      break;
    case Space::kConst:
      effect.space = MemorySpace::kConstant;
      good = resolver.global(x.active);
      break;
    case Space::kShared:
      effect.space = MemorySpace::kShared;
      good = resolver.shared(x.active);
      break;
    case Space::kLocal:
      effect.space = MemorySpace::kLocal;
      good = resolver.local(x.active);
      break;
    case Space::kParam:
      effect.space = MemorySpace::kParameter;
      good = resolver.kernel_param(x.active);
      break;
    default:
      good = resolver.generic();
  }
  if (effect.space == MemorySpace::kLocal) {
    effect.words = static_cast<u8>(bytes < 4 ? 1 : bytes / 4);
    effect.bytes = static_cast<u8>(bytes < 4 ? bytes : 4);
    effect.stride = x.launch.threads * 4;
  }
  return good;
}

void fill_staging(Execution& x, u32 bytes, Access& access) {
  for_each_word(x, access.local_lanes, bytes, [&](u32 lane, u32 done, u64 va, u32 count) {
    std::memcpy(access.staging[lane].data() + done, x.memory.at({va}), count);
  });
}

void spill_staging(Execution& x, u32 bytes, const Access& access) {
  for_each_word(x, access.local_lanes, bytes, [&](u32 lane, u32 done, u64 va, u32 count) {
    std::memcpy(x.memory.at({va}), access.staging[lane].data() + done, count);
  });
}

}  // namespace terrace::ptx
