// Loads and stores. Loads read memory as it is; stores to global memory go to the SM's log, stores to shared and local
// memory, which no other SM can see, take effect at once.
// SPDX-License-Identifier: MIT
#include <cstring>

#include "frontend/ptx/execute/access.h"
#include "frontend/ptx/execute/select_type.h"
#include "frontend/ptx/execute/simt_stack.h"

namespace terrace::ptx {
namespace {

/// The elements of an access: one place, or a list of them for vectors.
struct Elements {
  const u32* places;
  u32 count;
};
Elements elements(const Execution& x, const Inst& i) {
  return {i.count == 1 ? &i.d : x.launch.code->lists.data() + i.list, i.count};
}

/// T is the type in memory, R the register's, which is unsigned: values are extended as T says.
template <class T, class R>
R extended(T value) {
  using Wide = std::conditional_t<std::is_signed_v<T>, std::make_signed_t<R>, R>;
  return static_cast<R>(static_cast<Wide>(value));
}

template <class T, class R>
void load_run(Execution& x, const Inst& i) {
  const u8* from = x.memory.at({x.effect.address[0]});
  alignas(64) T values[64];
  std::memcpy(values, from, sizeof(T) * x.stride);
  auto* row = x.dst<R>(i.d);
  for (u32 lane = 0; lane < x.stride; ++lane) row[lane] = extended<T, R>(values[lane]);
  x.effect.space = static_cast<Space>(i.mode) == Space::kConst ? MemorySpace::kConstant : MemorySpace::kGlobal;
  x.effect.bytes = sizeof(T);
  x.effect.words = 1;
}

bool in_global_memory(const Inst& i) {
  const Space space = static_cast<Space>(i.mode);
  return space == Space::kGlobal || space == Space::kGeneric || space == Space::kConst;
}

template <class T, class R>
void run_load(Execution& x, const Inst& i) {
  find_addresses(x, i);
  x.effect.action = MemoryAction::kLoad;
  if (i.count == 1 && in_global_memory(i) && is_run(x, sizeof(T)) &&
      x.memory.contains({x.effect.address[0]}, sizeof(T) * x.stride))
    return load_run<T, R>(x, i);
  Access access;
  const u32 bytes = static_cast<u32>(sizeof(T)) * i.count;
  if (!resolve(x, i, bytes, false, access)) return;
  if (access.local_lanes != 0) fill_staging(x, bytes, access);
  const Elements all = elements(x, i);
  for (u32 e = 0; e < all.count; ++e) {
    if (all.places[e] == kNoOperand) continue;
    x.write_each<R>(all.places[e], [&](u32 lane) {
      T value;
      std::memcpy(&value, access.pointer[lane] + e * sizeof(T), sizeof(T));
      return extended<T, R>(value);
    });
  }
}

/// A kernel's parameter at a known place: the same for all lanes.
template <class T, class R>
void run_load_param(Execution& x, const Inst& i) {
  const Elements all = elements(x, i);
  for (u32 e = 0; e < all.count; ++e) {
    if (all.places[e] == kNoOperand) continue;
    T value;
    std::memcpy(&value, x.launch.params.data() + i.imm + e * sizeof(T), sizeof(T));
    const R same = extended<T, R>(value);
    x.write<R>(all.places[e], [=](Lane) { return same; });
  }
  x.effect.action = MemoryAction::kLoad;
  x.effect.space = MemorySpace::kParameter;
  x.effect.bytes = static_cast<u8>(sizeof(T) * i.count);
  x.effect.words = 1;
  for (u32 lane = 0; lane < x.stride; ++lane) x.effect.address[lane] = i.imm;
}

template <class T, class R>
void run_store(Execution& x, const Inst& i) {
  find_addresses(x, i);
  x.effect.action = MemoryAction::kStore;
  x.warp.stop_polling();
  const Elements all = elements(x, i);
  if (i.count == 1 && in_global_memory(i) && is_run(x, sizeof(T)) &&
      x.memory.writable({x.effect.address[0]}, sizeof(T) * x.stride)) {
    alignas(64) T values[64];
    const auto* row = x.src<R>(i.d);
    for (u32 lane = 0; lane < x.stride; ++lane) values[lane] = static_cast<T>(row[lane]);
    x.machine.disturb(x.memory.at({x.effect.address[0]}), values, sizeof(T) * x.stride);
    x.stores.push(x.memory, {x.effect.address[0]}, values, static_cast<u32>(sizeof(T)) * x.stride);
    x.effect.space = MemorySpace::kGlobal;
    x.effect.bytes = sizeof(T);
    x.effect.words = 1;
    return;
  }
  Access access;
  const u32 bytes = static_cast<u32>(sizeof(T)) * i.count;
  if (!resolve(x, i, bytes, true, access)) return;
  if (access.local_lanes != 0 && x.machine.watches()) fill_staging(x, bytes, access);
  x.each([&](u32 lane) {
    u8 image[kMaxLaneBytes];
    for (u32 e = 0; e < all.count; ++e) {
      const T value = static_cast<T>(x.src<R>(all.places[e])[lane]);
      std::memcpy(image + e * sizeof(T), &value, sizeof(T));
    }
    const bool global = (access.global_lanes >> lane & 1) != 0;
    x.machine.disturb(global ? x.memory.at({x.effect.address[lane]}) : access.pointer[lane], image, bytes);
    if (global)
      x.stores.push(x.memory, {x.effect.address[lane]}, image, bytes);
    else
      std::memcpy(access.pointer[lane], image, bytes);
  });
  if (access.local_lanes != 0) spill_staging(x, bytes, access);
}

/// A called function's parameters and a caller's argument areas: on a GPU these are registers or the stack, as the
/// compiler decides; here they are a part of the warp's state that no SM needs to know of.
bool check_param_area(Execution& x, u32 bytes, bool writes) {
  const u64 size = x.warp.params.size() / x.stride * 4;
  bool good = true;
  x.each([&](u32 lane) {
    const u64 a = x.effect.address[lane];
    if (good && ((a & (bytes - 1)) != 0 || a >= size || a + bytes > size)) {
      good = false;
      x.machine.raise_fault(x, lane,
                            fmt::format("{} {} bytes at {:#x} of the parameters, which have {} bytes",
                                        writes ? "writes" : "reads", bytes, a, size));
    }
  });
  return good;
}

template <class T>
void copy_param(Execution& x, u32 lane, u64 offset, T* value, bool writes) {
  u8* area = reinterpret_cast<u8*>(x.warp.params.data());
  u8* image = reinterpret_cast<u8*>(value);
  for (u32 done = 0; done < sizeof(T); done += 4) {
    u8* word = area + param_index(x.stride, static_cast<u32>(offset) + done, lane);
    constexpr u32 kStep = sizeof(T) < 4 ? sizeof(T) : 4;
    if (writes)
      std::memcpy(word, image + done, kStep);
    else
      std::memcpy(image + done, word, kStep);
  }
}

template <class T, class R>
void run_load_argument(Execution& x, const Inst& i) {
  find_addresses(x, i);
  if (!check_param_area(x, static_cast<u32>(sizeof(T)) * i.count, false)) return;
  const Elements all = elements(x, i);
  for (u32 e = 0; e < all.count; ++e) {
    if (all.places[e] == kNoOperand) continue;
    x.write_each<R>(all.places[e], [&](u32 lane) {
      T value;
      copy_param(x, lane, x.effect.address[lane] + e * sizeof(T), &value, false);
      return extended<T, R>(value);
    });
  }
}

template <class T, class R>
void run_store_argument(Execution& x, const Inst& i) {
  find_addresses(x, i);
  if (!check_param_area(x, static_cast<u32>(sizeof(T)) * i.count, true)) return;
  const Elements all = elements(x, i);
  for (u32 e = 0; e < all.count; ++e) {
    const auto* row = x.src<R>(all.places[e]);
    x.each([&](u32 lane) {
      T value = static_cast<T>(row[lane]);
      copy_param(x, lane, x.effect.address[lane] + e * sizeof(T), &value, true);
    });
  }
}

template <class T, class R>
struct Load {
  static constexpr Handler kMemory = run_load<T, R>, kParam = run_load_param<T, R>, kArgument = run_load_argument<T, R>;
};
template <class T, class R>
struct Store {
  static constexpr Handler kMemory = run_store<T, R>, kParam = nullptr, kArgument = run_store_argument<T, R>;
};

enum class Where : u8 { kMemory, kParam, kArgument };

template <class Form>
Handler pick(Where where) {
  return where == Where::kMemory ? Form::kMemory : where == Where::kParam ? Form::kParam : Form::kArgument;
}

template <template <class, class> class Form, class R>
Handler by_memory_type(Type type, Where where) {
  switch (bytes_of(type)) {
    case 1:
      return is_signed(type) ? pick<Form<i8, R>>(where) : pick<Form<u8, R>>(where);
    case 2:
      return is_signed(type) ? pick<Form<i16, R>>(where) : pick<Form<u16, R>>(where);
    case 4:
      return is_signed(type) ? pick<Form<i32, R>>(where) : pick<Form<u32, R>>(where);
    case 8:
      return pick<Form<u64, R>>(where);
    default:
      return nullptr;
  }
}

/// Qualifiers that change timing or ordering only. Strong accesses (volatile and the memory model's own) bypass the L1; so do
/// loads with .cg or .cv, if the machine says so.
void take_qualifiers(Decoding& d) {
  d.facts.asks_l2 = d.take_any({"cg", "cv"}) >= 0;
  bool strong = d.take("volatile");
  for (const auto word : {"relaxed", "acquire", "release", "mmio"}) strong |= d.take(word);
  for (const auto word : {"weak",
                          "cta",
                          "cluster",
                          "gpu",
                          "sys",
                          "ca",
                          "cs",
                          "lu",
                          "wb",
                          "wt",
                          "nc",
                          "unified",
                          "L1::evict_normal",
                          "L1::evict_unchanged",
                          "L1::evict_first",
                          "L1::evict_last",
                          "L1::no_allocate",
                          "L2::evict_normal",
                          "L2::evict_first",
                          "L2::evict_last",
                          "L2::64B",
                          "L2::128B",
                          "L2::256B"})
    d.take(word);
  if (d.take("L2::cache_hint")) d.refuse("cache hints from registers are not supported; drop the .L2::cache_hint");
  d.facts.volatile_access = strong;
}

MemorySpace reported(Space space) {
  switch (space) {
    case Space::kGlobal:
      return MemorySpace::kGlobal;
    case Space::kShared:
      return MemorySpace::kShared;
    case Space::kLocal:
      return MemorySpace::kLocal;
    case Space::kConst:
      return MemorySpace::kConstant;
    case Space::kParam:
      return MemorySpace::kParameter;
    default:
      return MemorySpace::kGeneric;
  }
}

/// The registers of the data: all of one width, at least that of the type in memory.
bool data_is_wide(Decoding& d, const Operand& data, Type type) {
  const Operand* first = &data;
  if (data.kind == OperandKind::kVector) {
    first = nullptr;
    for (const Operand& part : data.parts)
      if (part.kind == OperandKind::kRegister) first = first == nullptr ? &part : first;
  }
  if (first == nullptr || first->kind != OperandKind::kRegister) return bytes_of(type) == 8;
  const bool wide = d.rows(*first) == 2;
  if (!wide && bytes_of(type) == 8) d.refuse("register {} is too narrow for type .{}", first->name, type_name(type));
  return wide;
}

u32 vector_count(Decoding& d, const Operand& data) {
  const int vector = d.take_any({"v2", "v4", "v8"});
  const u32 count = vector < 0 ? 1 : 2u << vector;
  const u32 given = data.kind == OperandKind::kVector ? static_cast<u32>(data.parts.size()) : 1;
  if (given != count) d.refuse("{} registers are given for {} elements", given, count);
  return count;
}

void decode_access(Decoding& d, const Operand& data, const Operand& where, bool loads) {
  take_qualifiers(d);
  const Space space = d.take_space().value_or(Space::kGeneric);
  const u32 count = vector_count(d, data);
  const Type type = d.expect_type();
  const bool wide = data_is_wide(d, data, type);
  if (type == Type::kB128 || bytes_of(type) * count > kMaxLaneBytes) choose(d, nullptr, type);
  const Type held = wide ? Type::kB64 : Type::kB32;
  d.elementwise = false;
  d.inst.count = static_cast<u8>(count);
  if (count > 1) d.start_list();
  for (u32 e = 0; e < count; ++e) {
    const Operand& element = count == 1 ? data : data.parts[e];
    if (count == 1)
      loads ? d.destination(kFieldD, element, held) : d.source(kFieldD, element, held);
    else
      loads ? d.list_destination(element, held) : d.list_source(element, held);
  }
  const auto named = d.address(where);
  d.inst.mode = static_cast<u8>(space == Space::kGeneric && named ? *named : space);
  const Space resolved = static_cast<Space>(d.inst.mode);
  Where kind = Where::kMemory;
  if (resolved == Space::kParam) {
    // A kernel's own parameters are launch constants; everything else in .param space is an argument.
    const bool of_kernel = d.function().entry && !(d.inst.flags & kFrameRelative);
    kind = !of_kernel ? Where::kArgument : named ? Where::kParam : Where::kMemory;
    if (of_kernel && !loads) d.refuse("a kernel's parameters cannot be written");
    const u64 bytes = bytes_of(type) * count, size = d.function().param_bytes;
    if (kind == Where::kParam && (bytes > size || d.inst.imm > size - bytes))  // before the first one, too
      d.refuse("reads beyond the kernel's parameters");
  }
  d.inst.bytes = static_cast<u8>(bytes_of(type));
  if (kind == Where::kArgument) {
    d.facts.cls = InstClass::kInteger;
  } else {
    d.facts.action = loads ? MemoryAction::kLoad : MemoryAction::kStore;
    d.facts.space = reported(resolved);
    d.facts.lane_bytes = static_cast<u8>(bytes_of(type) * count);
  }
  if (resolved == Space::kConst && !loads) d.refuse("constant memory cannot be written");
  choose(d,
         loads ? (wide ? by_memory_type<Load, u64>(type, kind) : by_memory_type<Load, u32>(type, kind))
               : (wide ? by_memory_type<Store, u64>(type, kind) : by_memory_type<Store, u32>(type, kind)),
         type);
}

void run_prefetch(Execution&, const Inst&) {}

}  // namespace

void decode_ld(Decoding& d) {
  d.expect_operands(2, 2);
  decode_access(d, d.operand(0), d.operand(1), true);
}

void decode_st(Decoding& d) {
  d.expect_operands(2, 2);
  decode_access(d, d.operand(1), d.operand(0), false);
}

/// Prefetches and cache hints change no value; the machine lets them pass without an access.
void decode_prefetch(Decoding& d) {
  d.take_space();
  for (const auto word : {"L1", "L2", "L2::evict_last", "L2::evict_normal", "tensormap"}) d.take(word);
  if (d.operands() > 0) d.address(d.operand(0));
  d.inst.run = run_prefetch;
}

}  // namespace terrace::ptx
