// SPDX-License-Identifier: MIT
#include "random_kernels/generator.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <vector>

#include "engine/rng.h"
#include "random_kernels/instructions.h"

namespace terrace::random_kernels {
namespace {

enum Type : u32 { kU32, kI32, kU64, kI64, kF32, kF64, kTypes };
constexpr std::array<const char*, kTypes> kNames{"u32", "i32", "u64", "i64", "float", "double"};
constexpr std::array<u32, kTypes> kVariables{3, 2, 2, 2, 3, 2};  // of a kernel

struct Sum {
  const char* operation;
  char letter;  // r, l, f, d: of the operand
};
constexpr Sum kSums[] = {{"add.u32", 'r'}, {"add.u64", 'l'}, {"min.s32", 'r'}, {"max.s32", 'r'}, {"min.u32", 'r'},
                         {"max.u32", 'r'}, {"min.s64", 'l'}, {"max.s64", 'l'}, {"min.u64", 'l'}, {"max.u64", 'l'},
                         {"and.b32", 'r'}, {"or.b32", 'r'},  {"xor.b32", 'r'}, {"and.b64", 'l'}, {"or.b64", 'l'},
                         {"xor.b64", 'l'}, {"add.f32", 'f'}, {"add.f64", 'd'}};
constexpr u32 kSumCount = sizeof kSums / sizeof kSums[0];

// Ahead of every kernel. Bits of floats pass through `mov`, so that no compiler folds an operation on floats into one on
// their bits, which treats NaNs otherwise.
constexpr const char* kPrelude = R"(#include "terrace_device.h"
#ifdef __clang__
#define NOINLINE __attribute__((noinline))
#define SQRT32 __builtin_sqrtf
#define SQRT64 __builtin_sqrt
#else
#define NOINLINE __noinline__
#define SQRT32 sqrtf
#define SQRT64 sqrt
#endif
using i8 = signed char;
using i16 = short;
using u16 = unsigned short;
using i32 = int;
using i64 = long long;
struct __attribute__((aligned(16))) Quad {
  u32 x, y, z, w;
};
struct Pair {
  u64 first;
  float second;
};
#define INLINE static __device__ __forceinline__
INLINE u32 raw(float x) { u32 b; asm("mov.b32 %0, %1;" : "=r"(b) : "f"(x)); return b; }
INLINE u64 raw(double x) { u64 b; asm("mov.b64 %0, %1;" : "=l"(b) : "d"(x)); return b; }
INLINE float as_float(u32 b) { float x; asm("mov.b32 %0, %1;" : "=f"(x) : "r"(b)); return x; }
INLINE double as_double(u64 b) { double x; asm("mov.b64 %0, %1;" : "=d"(x) : "l"(b)); return x; }
INLINE u32 bits(float x) { return x != x ? 0x7fffffffu : raw(x); }
INLINE u64 bits(double x) { return x != x ? 0x7ff8000000000000ull : raw(x); }
INLINE float clean(float x) { return as_float(bits(x)); }
INLINE double clean(double x) { return as_double(bits(x)); }
INLINE i32 quotient(i32 a, i32 b) { return b == 0 || b == -1 ? a : a / b; }
INLINE i64 quotient(i64 a, i64 b) { return b == 0 || b == -1 ? a : a / b; }
INLINE i32 remainder_of(i32 a, i32 b) { return b == 0 || b == -1 ? b : a % b; }
INLINE i64 remainder_of(i64 a, i64 b) { return b == 0 || b == -1 ? b : a % b; }
INLINE void fence() { asm volatile("membar.gl;" ::: "memory"); }
INLINE u32 lane_index() { u32 l; asm("mov.u32 %0, %%laneid;" : "=r"(l)); return l; }
INLINE u32 lower_lanes() { u32 l; asm("mov.u32 %0, %%lanemask_lt;" : "=r"(l)); return l; }
INLINE u32 count_true(bool b) {
  u32 r; asm volatile("{ .reg .pred p; setp.ne.u32 p, %1, 0; bar.red.popc.u32 %0, 0, p; }" : "=r"(r) : "r"((u32)b) : "memory"); return r;
}
INLINE void half_barrier() { asm volatile("bar.sync 1, 64;" ::: "memory"); }
INLINE u32 ballot(u32 lanes, bool b) {
  u32 r; asm volatile("{ .reg .pred p; setp.ne.u32 p, %1, 0; vote.sync.ballot.b32 %0, p, %2; }" : "=r"(r) : "r"((u32)b), "r"(lanes)); return r;
}
#define VOTE(mode) INLINE u32 vote_##mode(u32 lanes, bool b) { \
  u32 r; asm volatile("{ .reg .pred p, q; setp.ne.u32 p, %1, 0; vote.sync." #mode ".pred q, p, %2; selp.u32 %0, 1, 0, q; }" \
  : "=r"(r) : "r"((u32)b), "r"(lanes)); return r; }
VOTE(any) VOTE(all) VOTE(uni)
#define SHUFFLE(mode) INLINE u32 shuffle_##mode(u32 lanes, u32 x, u32 b, u32 c) { \
  u32 r, v; asm volatile("{ .reg .pred p; shfl.sync." #mode ".b32 %0|p, %2, %3, %4, %5; selp.u32 %1, 0x10000, 0, p; }" \
  : "=r"(r), "=r"(v) : "r"(x), "r"(b), "r"(c), "r"(lanes)); return r ^ v; }
SHUFFLE(up) SHUFFLE(down) SHUFFLE(bfly) SHUFFLE(idx)
INLINE u32 match_any(u32 lanes, u32 x) { u32 r; asm volatile("match.any.sync.b32 %0, %1, %2;" : "=r"(r) : "r"(x), "r"(lanes)); return r; }
INLINE u32 match_any(u32 lanes, u64 x) { u32 r; asm volatile("match.any.sync.b64 %0, %1, %2;" : "=r"(r) : "l"(x), "r"(lanes)); return r; }
INLINE u32 match_all(u32 lanes, u32 x) {
  u32 r, v; asm volatile("{ .reg .pred p; match.all.sync.b32 %0|p, %2, %3; selp.u32 %1, 0x10000, 0, p; }"
  : "=r"(r), "=r"(v) : "r"(x), "r"(lanes)); return r ^ v;
}
INLINE u32 exchange(u32* at, u32 x) { u32 r; asm volatile("atom.exch.b32 %0, [%1], %2;" : "=r"(r) : "l"(at), "r"(x) : "memory"); return r; }
INLINE u32 compare_swap(u32* at, u32 expected, u32 x) {
  u32 r; asm volatile("atom.cas.b32 %0, [%1], %2, %3;" : "=r"(r) : "l"(at), "r"(expected), "r"(x) : "memory"); return r;
}
#define COUNT(mode) INLINE u32 count_##mode(u32* at, u32 bound) { \
  u32 r; asm volatile("atom." #mode ".u32 %0, [%1], %2;" : "=r"(r) : "l"(at), "r"(bound) : "memory"); return r; }
COUNT(inc) COUNT(dec)
)";

std::string sum_function(const Sum& sum) {
  std::string name = sum.operation;
  std::replace(name.begin(), name.end(), '.', '_');
  return "sum_" + name;
}

/// Device functions around red, on a generic address: SUM(at, value).
std::string sum_functions() {
  std::string text;
  for (const Sum& sum : kSums) {
    const char* type = sum.letter == 'r' ? "u32" : sum.letter == 'l' ? "u64" : sum.letter == 'f' ? "float" : "double";
    text += fmt::format(
        "INLINE void {}(void* at, {} x) {{ asm volatile(\"red.{} [%0], %1;\" :: \"l\"(at), \"{}\"(x) : \"memory\"); "
        "}}\n",
        sum_function(sum), type, sum.operation, sum.letter);
  }
  return text;
}

/// The instructions by the type of their result, as an expression of that type shows it.
Type result_type(char letter) {
  return letter == 'l' ? kU64 : letter == 'f' ? kF32 : letter == 'd' ? kF64 : kU32;
}
const std::vector<const Instruction*>& instructions_giving(Type type) {
  static const auto by_type = [] {
    std::array<std::vector<const Instruction*>, kTypes> lists;
    for (const Instruction& one : instructions()) lists[result_type(one.types[0])].push_back(&one);
    return lists;
  }();
  return by_type[type];
}

class Writer {
 public:
  explicit Writer(u64 seed) : seed_(seed), rng_(seed, "random kernel") {}

  RandomKernel write();

 private:
  // Expressions.
  std::string expression(Type type, u32 depth);
  std::string leaf(Type type);
  std::string literal(Type type);
  std::string memory_read(Type type, u32 depth);
  std::string integer_operation(Type type, u32 depth);
  std::string float_operation(Type type, u32 depth);
  std::string conversion(Type type, u32 depth);
  std::string instruction(Type type, u32 depth);
  std::string condition(u32 depth);
  std::string operand(char letter, u32 depth);

  // Statements.
  void statements(u32 count, u32 depth, bool together);
  void statement(u32 depth, bool together);
  void assign(u32 depth);
  void branch(u32 depth, bool together);
  void loop(u32 depth, bool together);
  void choose(u32 depth);
  void store(u32 depth);
  void call(u32 depth);
  void atomic(u32 depth);
  void warp_operation(u32 depth);
  void lanes_operation(u32 depth);
  void exchange(u32 depth);
  void shared_sum(u32 depth);
  void pointer(u32 depth);

  void function(u32 number);
  void declare_variables(std::span<const u32> counts);
  void store_row();

  template <class... Args>
  void line(fmt::format_string<Args...> format, Args&&... args) {
    text_ += std::string(indent_ * 2, ' ') + fmt::format(format, std::forward<Args>(args)...) + "\n";
  }
  void open(const std::string& head) {
    line("{} {{", head);
    ++indent_;
  }
  void close(const char* tail = "") {
    --indent_;
    line("}}{}", tail);
  }
  u32 below(u32 bound) { return static_cast<u32>(rng_.below(bound)); }
  bool one_in(u32 chances) { return below(chances) == 0; }
  template <class Range>
  const auto& pick(const Range& range) {
    return range[below(static_cast<u32>(std::size(range)))];
  }
  Type any_type() { return static_cast<Type>(below(kTypes)); }
  std::string fresh(const char* what) { return fmt::format("{}{}", what, next_name_++); }
  std::string variable(Type type) { return pick(assignable_[type]); }

  u64 seed_;
  Rng rng_;
  std::string text_;
  u32 indent_ = 0, next_name_ = 0;
  u32 threads_ = 32;
  bool partial_warp_ = false, in_kernel_ = false;
  std::array<std::vector<std::string>, kTypes> readable_, assignable_;
  u32 functions_ = 0;
  std::vector<Type> returns_;  // of the functions
};

std::string Writer::literal(Type type) {
  static constexpr const char* kFloats[] = {
      "0.0",        "1.0",     "-1.0",           "0.5", "3.0",    "-2.5",  "1e-3", "1e10", "0.1", "-0.3",
      "16777216.0", "65504.0", "1.17549435e-38", "7.0", "-1e-40", "3.4e38"};
  static constexpr u64 kIntegers[] = {0,  1,   2,      3,      5,           7,           31,         32,
                                      63, 255, 0x8000, 0xffff, 0x7fff'ffff, 0x8000'0000, 0xffff'ffff};
  if (type == kF32) return fmt::format("{}f", pick(kFloats));
  if (type == kF64) return pick(kFloats);
  u64 value = rng_.next();
  value = one_in(2) ? pick(kIntegers) : value >> below(60);
  if (type == kU64) return fmt::format("{:#x}ull", value);
  if (type == kI64) return fmt::format("((i64){:#x}ull)", value);
  const std::string word = fmt::format("{:#x}u", value & 0xffff'ffff);
  return type == kU32 ? word : fmt::format("((i32){})", word);
}

std::string Writer::leaf(Type type) {
  if (one_in(4)) return literal(type);
  return pick(readable_[type]);
}

std::string Writer::memory_read(Type type, u32 depth) {
  const std::string at = expression(kU32, depth);
  if (!in_kernel_) return type == kU32 ? fmt::format("array[{} & 3]", at) : leaf(type);
  switch (type) {
    case kU32:
      switch (below(6)) {
        case 0:
          return fmt::format("local[{} & 15]", at);
        case 1:
          return fmt::format("constants{}[{} & 63]", seed_, at);
        case 2:
          return fmt::format("(u32)((const u8*)in)[{} & {}]", at, kInputWords * 8 - 1);
        case 3:
          return fmt::format("(u32)((const u16*)in)[{} & {}]", at, kInputWords * 4 - 1);
        case 4:
          return fmt::format("((const volatile u32*)in)[{} & {}]", at, kInputWords * 2 - 1);
        default:
          return fmt::format("mine[{} & 3]", at);
      }
    case kI32:
      return fmt::format("(i32)((const {}*)in)[{} & {}]", one_in(2) ? "i8" : "i16", at, kInputWords * 4 - 1);
    case kU64:
    case kI64:
      return fmt::format("({})in[{} & {}]", kNames[type], at, kInputWords - 1);
    case kF32:
      return fmt::format("((const float*)in)[{} & {}]", at, kInputWords * 2 - 1);
    default:
      return fmt::format("((const double*)in)[{} & {}]", at, kInputWords - 1);
  }
}

std::string Writer::integer_operation(Type type, u32 depth) {
  const bool wide = type == kU64 || type == kI64, is_signed = type == kI32 || type == kI64;
  const char* name = kNames[type];
  const char* wraps = wide ? "u64" : "u32";
  const std::string a = expression(type, depth), b = expression(type, depth);
  switch (below(8)) {
    case 0:
    case 1: {
      static constexpr const char* kOperators[] = {"+", "-", "*"};
      return fmt::format("(({0})(({1})({2}) {3} ({1})({4})))", name, wraps, a, pick(kOperators), b);
    }
    case 2: {
      static constexpr const char* kOperators[] = {"&", "|", "^"};
      return fmt::format("({} {} {})", a, pick(kOperators), b);
    }
    case 3:
      return fmt::format("(({})(({})({}) << ({} & {})))", name, wraps, a, expression(kU32, depth), wide ? 63 : 31);
    case 4:
      return fmt::format("({} >> ({} & {}))", a, expression(kU32, depth), wide ? 63 : 31);
    case 5:
      if (is_signed) return fmt::format("{}({}, {})", one_in(2) ? "quotient" : "remainder_of", a, b);
      return fmt::format("({} {} ({} | 1))", a, one_in(2) ? "/" : "%", b);
    case 6: {
      static constexpr const char* kNarrow[] = {"u8", "i8", "u16", "i16"};
      return fmt::format("(({})({})({}))", name, pick(kNarrow), a);
    }
    default:
      return fmt::format("({} ? {} : {})", condition(depth), a, b);
  }
}

std::string Writer::float_operation(Type type, u32 depth) {
  const std::string a = expression(type, depth), b = expression(type, depth);
  switch (below(8)) {
    case 0:
    case 1:
      return fmt::format("({} + {})", a, b);
    case 2:
      return fmt::format("({} - {})", a, b);
    case 3:
      return fmt::format("({} * {})", a, b);
    case 4:
      return fmt::format("({} / {})", a, b);
    case 5:
      return fmt::format("{}({})", type == kF32 ? "SQRT32" : "SQRT64", a);
    case 6:
      return fmt::format("(-({}))", a);
    default:
      return fmt::format("({} ? {} : {})", condition(depth), a, b);
  }
}

std::string Writer::conversion(Type type, u32 depth) {
  const Type from = any_type();
  const std::string value = expression(from, depth);
  const bool from_float = from == kF32 || from == kF64;
  if (type == kF32 && from == kU32 && one_in(2)) return fmt::format("as_float({})", value);
  if (type == kF64 && from == kU64 && one_in(2)) return fmt::format("as_double({})", value);
  if (from_float && type != kF32 && type != kF64) return fmt::format("(({})bits({}))", kNames[type], value);
  return fmt::format("(({})({}))", kNames[type], value);
}

std::string Writer::operand(char letter, u32 depth) {
  switch (letter) {
    case 'a': {
      const u32 mask = one_in(3) ? 255 : 63;
      return fmt::format("({} & {})", expression(kU32, depth), mask);
    }
    case 'h':
      return fmt::format("(u16)({})", expression(kU32, depth));
    case 'F':
      return expression(kF32, depth);
    case 'D':
      return expression(kF64, depth);
    default:
      return expression(result_type(letter), depth);
  }
}

std::string Writer::instruction(Type type, u32 depth) {
  const Type shown = type == kI32 ? kU32 : type == kI64 ? kU64 : type;
  const Instruction& chosen = *pick(instructions_giving(shown));
  std::string arguments;
  for (u32 i = 1; i < chosen.types.size(); ++i) {
    if (i > 1) arguments += ", ";
    arguments += operand(chosen.types[i], depth);
  }
  return fmt::format("(({}){}({}))", kNames[type], chosen.name, arguments);
}

std::string Writer::expression(Type type, u32 depth) {
  if (depth == 0 || one_in(5)) return leaf(type);
  const u32 choice = below(10);
  if (choice < 4) return instruction(type, depth - 1);
  if (choice < 7)
    return type == kF32 || type == kF64 ? float_operation(type, depth - 1) : integer_operation(type, depth - 1);
  if (choice < 8) return conversion(type, depth - 1);
  return memory_read(type, depth - 1);
}

std::string Writer::condition(u32 depth) {
  static constexpr const char* kComparisons[] = {"<", "<=", ">", ">=", "==", "!="};
  if (one_in(3)) {
    const u32 bit = 1u << below(6);
    return fmt::format("({} & {})", expression(kU32, depth), bit);
  }
  const Type type = any_type();
  const std::string a = expression(type, depth), b = expression(type, depth);
  const char* compare = pick(kComparisons);
  const std::string first = fmt::format("{} {} {}", a, compare, b);
  if (!one_in(4)) return "(" + first + ")";
  const char* both = one_in(2) ? "&&" : "||";
  return fmt::format("({} {} {})", first, both, condition(0));
}

void Writer::assign(u32 depth) {
  const Type type = any_type();
  const std::string to = variable(type), value = expression(type, depth);
  line("{} = {};", to, value);
}

/// `together`: all threads of the block come here, so barriers and shuffles may stand inside.
void Writer::branch(u32 depth, bool together) {
  const bool uniform = together && one_in(2);
  open(fmt::format("if ({})", uniform ? fmt::format("(blockIdx.x + number) & {}", 1 + below(2)) : condition(2)));
  statements(1 + below(3), depth - 1, uniform);
  if (one_in(2)) {
    --indent_;
    line("}} else {{");
    ++indent_;
    statements(1 + below(3), depth - 1, uniform);
  }
  close();
}

void Writer::loop(u32 depth, bool together) {
  const std::string i = fresh("turn");
  const bool uniform = together && one_in(2);
  const std::string bound = fresh("bound");
  const u32 longest = one_in(2) ? 3 : 7;
  if (uniform)
    line("const u32 {} = {};", bound, 1 + below(3));
  else
    line("const u32 {} = {} & {};", bound, expression(kU32, 1), longest);
  if (one_in(2)) line("#pragma unroll 1");
  open(fmt::format("for (u32 {0} = 0; {0} < {1}; ++{0})", i, bound));
  readable_[kU32].push_back(i);
  statements(1 + below(3), depth - 1, uniform);
  if (!uniform && one_in(3)) {
    const char* leave = one_in(2) ? "break" : "continue";
    line("if ({}) {};", condition(1), leave);
  }
  if (!uniform && one_in(2)) assign(1);
  readable_[kU32].pop_back();
  close();
}

void Writer::choose(u32 depth) {
  const u32 cases = 3 + below(5);
  open(fmt::format("switch ({} % {})", expression(kU32, 1), cases + 1));
  for (u32 i = 0; i < cases; ++i) {
    line("case {}:", i);
    ++indent_;
    open("");
    statements(1 + below(2), depth - 1, false);
    close();
    if (!one_in(4)) line("break;");
    --indent_;
  }
  line("default:");
  ++indent_;
  assign(1);
  --indent_;
  close();
}

void Writer::store(u32 depth) {
  const std::string at = expression(kU32, 1), value = expression(kU32, depth);
  if (!in_kernel_) return line("array[{} & 3] = {};", at, value);
  switch (below(4)) {
    case 0:
      return line("((u8*)row)[{} & 7] = (u8)({});", at, value);
    case 1:
      return line("((u16*)(row + 1))[{} & 3] = (u16)({});", at, value);
    case 2:
      return line("mine[{} & 3] = {};", at, value);
    default:
      return line("local[{} & 15] = {};", at, value);
  }
}

/// A pointer of which nobody knows beforehand whether it leads to local, shared or global memory.
void Writer::pointer(u32 depth) {
  const std::string p = fresh("p"), to = variable(kU32);
  static constexpr const char* kPlaces[] = {"local + ({} & 15)", "mine + ({} & 3)", "(u32*)(row + 17) + ({} & 3)"};
  const auto place = [&] {
    const char* format = pick(kPlaces);
    return fmt::format(fmt::runtime(format), expression(kU32, 1));
  };
  const std::string test = condition(1), first = place(), second = place(), value = expression(kU32, depth);
  line("u32* {} = {} ? {} : {};", p, test, first, second);
  line("*{0} = *{0} ^ {1};", p, value);
  line("{} = {} + *{};", to, to, p);
}

void Writer::call(u32 depth) {
  if (functions_ == 0) return assign(depth);
  const u32 number = below(functions_);
  const std::string a = expression(kU32, depth), b = expression(kI64, 1), c = expression(kF32, depth),
                    d = expression(kF64, 1);
  const std::string array = in_kernel_ ? (one_in(2) ? "local" : "mine") : "array";
  if (number == 0) {
    const std::string pair = fresh("pair"), to = variable(kU64), other = variable(kF32);
    line("const Pair {} = f{}_0({}, {}, {}, {}, {});", pair, seed_, a, b, c, d, array);
    line("{} = {}.first;", to, pair);
    return line("{} = {}.second;", other, pair);
  }
  line("{} = f{}_{}({}, {}, {}, {}, {});", variable(returns_[number]), seed_, number, a, b, c, d, array);
}

void Writer::atomic(u32 depth) {
  if (one_in(4)) {  // on the thread's own word: what comes back is known
    const std::string to = variable(kU32), value = expression(kU32, depth), other = expression(kU32, 1);
    const char* at = one_in(2) ? "(u32*)(row + 17)" : "mine";
    const u32 word = below(4);
    switch (below(4)) {
      case 0:
        return line("{} = exchange({} + {}, {});", to, at, word, value);
      case 1:
        return line("{} = compare_swap({} + {}, {}, {});", to, at, word, one_in(2) ? variable(kU32) : "0u", value);
      case 2:
        return line("{} = count_inc({} + {}, {});", to, at, word, other);
      default:
        return line("{} = count_dec({} + {}, {});", to, at, word, other);
    }
  }
  const u32 number = below(kSumCount);
  const Sum& sum = kSums[number];
  const std::string where = expression(kU32, 1);
  const std::string value = sum.letter == 'f'   ? fmt::format("(float)({} & 15)", expression(kU32, depth))
                            : sum.letter == 'd' ? fmt::format("(double)({} & 15)", expression(kU32, depth))
                                                : expression(sum.letter == 'r' ? kU32 : kU64, depth);
  line("{}(sums + {} + ({} & {}), {});", sum_function(sum), number * kWordsPerSum, where, kWordsPerSum - 1, value);
}

/// Shuffles, votes and matches by all lanes of the warp.
void Writer::warp_operation(u32 depth) {
  const std::string to = variable(kU32), value = expression(kU32, depth);
  const u32 choice = below(partial_warp_ ? 3 : 6);
  switch (choice) {
    case 0:
      return line("{} = ballot(warp, {});", to, condition(1));
    case 1: {
      static constexpr const char* kModes[] = {"any", "all", "uni"};
      const char* mode = pick(kModes);
      return line("{0} = {0} * 2 + vote_{1}(warp, {2});", to, mode, condition(1));
    }
    case 2:
      if (one_in(3)) return line("{} = match_any(warp, (u64)({}) & 3);", to, value);
      return line("{} = match_{}(warp, {} & 3);", to, one_in(2) ? "any" : "all", value);
    default: {
      static constexpr const char* kModes[] = {"up", "down", "bfly", "idx"};
      static constexpr u32 kClamps[] = {0x1f, 0x101f, 0x181f, 0x1c1f};
      const char* mode = pick(kModes);
      const std::string by = one_in(2) ? std::to_string(below(32)) : fmt::format("({} & 31)", expression(kU32, 1));
      // Bits 8 to 12 of the last operand cut the warp into segments; `up` clamps at a segment's start.
      const u32 clamp = pick(kClamps) & (mode[0] == 'u' ? 0x1f00u : 0xffffu);
      return line("{} = shuffle_{}(warp, {}, {}, {:#x});", to, mode, value, by, clamp);
    }
  }
}

/// The same by those lanes for which a condition holds; they know each other by a ballot.
void Writer::lanes_operation(u32 depth) {
  const std::string mask = fresh("mask"), test = fresh("test"), to = variable(kU32);
  line("const bool {} = {};", test, condition(2));
  line("const u32 {} = ballot(warp, {});", mask, test);
  open(fmt::format("if ({})", test));
  const std::string value = expression(kU32, depth);
  switch (below(3)) {
    case 0:
      line("{0} = shuffle_idx({1}, {2}, op_bfind_u32({1}), 31);", to, mask, value);
      break;
    case 1:
      line("{0} = ballot({1}, {2} & 2);", to, mask, value);
      break;
    default:
      line("{0} = match_any({1}, {2} & 1);", to, mask, value);
      break;
  }
  if (one_in(2)) assign(depth);
  close();
}

/// Each thread writes a word, all meet, each reads another's.
void Writer::exchange(u32 depth) {
  static constexpr u32 kSteps[] = {1, 5, 7, 11, 13};  // the reader's number times one of these, modulo the block
  if (threads_ >= 64 && one_in(4)) {
    open("if (thread < 64)");
    line("cells[thread] = {};", expression(kU32, depth));
    line("half_barrier();");
    line("{} = cells[63 - thread];", variable(kU32));
    close();
    return line("__syncthreads();");
  }
  const std::string to = variable(kU32), value = expression(kU32, depth);
  line("cells[thread] = {};", value);
  line("__syncthreads();");
  const u32 step = pick(kSteps), from = below(threads_);
  line("{} = cells[(thread * {} + {}) % {}];", to, step, from, threads_);
  if (!one_in(3)) return line("__syncthreads();");
  const std::string count = variable(kU32);
  line("{} = count_true({});", count, condition(1));
}

void Writer::shared_sum(u32 depth) {
  const u32 number = below(kSumCount - 2);  // not the floats
  const Sum& sum = kSums[number];
  const std::string to = variable(kU64);
  const std::string where = expression(kU32, 1), value = expression(sum.letter == 'r' ? kU32 : kU64, depth);
  line("if (thread < 4) totals[thread] = {};", literal(kU64));
  line("__syncthreads();");
  line("{}(totals + ({} & 3), {});", sum_function(sum), where, value);
  line("__syncthreads();");
  line("{} = totals[{} & 3];", to, expression(kU32, 1));
  line("__syncthreads();");
}

void Writer::statement(u32 depth, bool together) {
  const u32 choice = below(100);
  if (choice < 30) return assign(3);
  if (choice < 38) return store(2);
  if (!in_kernel_) return choice < 55 && depth > 0 ? branch(depth, false) : assign(3);
  if (choice < 46) return call(2);
  if (choice < 52) return atomic(2);
  if (choice < 56) return pointer(2);
  if (together && choice < 64) return warp_operation(2);
  if (together && choice < 68) return lanes_operation(2);
  if (together && choice < 74) return exchange(2);
  if (together && choice < 77) return shared_sum(2);
  if (choice == 77) return line("fence();");
  if (depth == 0) return assign(3);
  if (choice < 87) return branch(depth, together);
  if (choice < 96) return loop(depth, together);
  return choose(depth);
}

void Writer::statements(u32 count, u32 depth, bool together) {
  for (u32 i = 0; i < count; ++i) statement(depth, together);
}

/// v0, v1 ... of each type, from the function's parameters or from the input.
void Writer::declare_variables(std::span<const u32> counts) {
  for (u32 t = 0; t < kTypes; ++t) {
    const Type type = static_cast<Type>(t);
    for (u32 i = 0; i < counts[t]; ++i) {
      const std::string name = fmt::format("{}{}", "abcdef"[t], i), value = memory_read(type, 1);
      line("{} {} = {};", kNames[t], name, value);
      readable_[t].push_back(name);
      assignable_[t].push_back(name);
    }
  }
}

void Writer::function(u32 number) {
  in_kernel_ = false;
  for (u32 t = 0; t < kTypes; ++t) {
    readable_[t] = assignable_[t] = {};
  }
  readable_ = {{{"x", "(u32)y"}, {"(i32)x"}, {"(u64)y", "(u64)x"}, {"y"}, {"z"}, {"w"}}};
  const Type type = number == 0 ? kU64 : any_type();
  returns_.push_back(type);
  const char* returned = number == 0 ? "Pair" : kNames[type];
  open(fmt::format("static __device__ NOINLINE {} f{}_{}(u32 x, i64 y, float z, double w, u32* array)", returned, seed_,
                   number));
  declare_variables(std::array<u32, kTypes>{1, 1, 1, 1, 1, 1});
  statements(2 + below(3), 1, false);
  if (number > 0 && one_in(3)) {  // a call from within a call
    functions_ = number;
    call(1);
  }
  const std::string first = expression(type, 2);
  if (number == 0) {
    const std::string second = expression(kF32, 1);
    line("return {{{}, {}}};", first, second);
  } else {
    line("return {};", first);
  }
  close();
}

void Writer::store_row() {
  u32 word = 2;  // the first two, and the last ones, are the thread's scratch: each of one type, as C++ demands
  for (u32 t = 0; t < kTypes; ++t) {
    for (const std::string& name : assignable_[t]) {
      const bool real = t == kF32 || t == kF64;
      line("row[{}] = {};", word++, real ? fmt::format("bits({})", name) : fmt::format("(u64){}", name));
    }
    if (t == kU64 && one_in(4)) line("if ({}) return;", condition(1));
  }
  line("u64 digest = 0;");
  line("for (u32 i = 0; i < 16; ++i) digest = digest * 0x9e3779b97f4a7c15ull + local[i];");
  line("for (u32 i = 0; i < 4; ++i) digest = digest * 31 + mine[i];");
  line("row[{}] = digest;", word++);
}

RandomKernel Writer::write() {
  static constexpr u32 kThreads[] = {32, 64, 96, 128, 256, 48, 80};
  static constexpr u32 kBlocks[] = {1, 2, 3};
  RandomKernel kernel;
  kernel.name = fmt::format("k{}", seed_);
  threads_ = pick(kThreads);
  partial_warp_ = threads_ % 32 != 0;
  const u32 blocks = pick(kBlocks);
  const bool flat = one_in(2);
  kernel.block = flat ? Dim3{threads_} : Dim3{16, threads_ / 16};
  kernel.grid = {blocks, one_in(4) ? 2u : 1u};

  line("static __constant__ u32 constants{}[64] = {{", seed_);
  for (u32 i = 0; i < 64; ++i) text_ += fmt::format("{:#x}u, ", rng_.next() & 0xffff'ffff);
  line("}};");
  const u32 functions = below(4);
  for (u32 i = 0; i < functions; ++i) function(i);
  functions_ = functions;

  in_kernel_ = true;
  readable_ = {{{"thread", "global", "number", "lane_index()", "lower_lanes()", "blockIdx.x"},
                {"(i32)thread", "(i32)number"},
                {"(u64)global", "large"},
                {"(i64)large"},
                {"real"},
                {"precise"}}};
  assignable_ = {};
  open(fmt::format(
      "extern \"C\" __global__ void {}(const u64* in, u64* out, u64* sums, u32 number, u64 large, float real, "
      "double precise)",
      kernel.name));
  line("__shared__ u32 cells[{}];", threads_);
  line("__shared__ u32 owned[{}];", threads_ * 4);
  line("__shared__ u64 totals[4];");
  line("const u32 thread = threadIdx.y * blockDim.x + threadIdx.x;");
  line("const u32 global = (blockIdx.y * gridDim.x + blockIdx.x) * {} + thread;", threads_);
  line("const u32 rest = {} - (thread & ~31u);", threads_);
  line("const u32 warp = rest >= 32 ? ~0u : (1u << rest) - 1;");
  line("u64* row = out + (u64)global * {};", kRowWords);
  line("u32* mine = owned + thread * 4;");
  line("u32 local[16];");
  line("for (u32 i = 0; i < 16; ++i) local[i] = i * thread;");
  line("for (u32 i = 0; i < 4; ++i) mine[i] = i + global;");
  line("(void)cells, (void)totals, (void)warp;");
  declare_variables(kVariables);
  statements(8 + below(10), 3, true);
  store_row();
  close();
  kernel.source = std::move(text_);
  return kernel;
}

}  // namespace

u32 sum_words() {
  return kSumCount * kWordsPerSum;
}

bool sum_is_float(u32 word) {
  const char letter = kSums[word / kWordsPerSum].letter;
  return letter == 'f' || letter == 'd';
}

RandomKernel make_random_kernel(u64 seed) {
  return Writer(seed).write();
}

std::string translation_unit(std::span<const u64> seeds) {
  std::string kernels;
  for (const u64 seed : seeds) kernels += make_random_kernel(seed).source;
  std::string text = kPrelude + sum_functions();
  for (const Instruction& one : instructions())
    if (kernels.find(one.name + "(") != kernels.npos) text += device_function(one);
  return text + kernels;
}

}  // namespace terrace::random_kernels
