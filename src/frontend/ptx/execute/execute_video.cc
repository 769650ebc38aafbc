// Video instructions. GPUs since Maxwell have no circuits for most of them and execute several others instead; here each is one
// integer instruction.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <bit>

#include "frontend/ptx/arith/video.h"
#include "frontend/ptx/decode/decode.h"
#include "frontend/ptx/execute/execution.h"

namespace terrace::ptx {
namespace {

template <u32 (*kCompute)(const VideoForm&, u32, u32, u32)>
void run_video(Execution& x, const Inst& i) {
  const auto form = std::bit_cast<VideoForm>(i.imm);
  const auto* a = x.src<u32>(i.a);
  const auto* b = x.src<u32>(i.b);
  const auto* c = x.src<u32>(i.c);
  x.write_each<u32>(i.d, [=](u32 lane) { return kCompute(form, a[lane], b[lane], c[lane]); });
}

struct VideoName {
  std::string_view name;  // without the number of elements
  VideoOp op;
};
constexpr VideoName kNames[] = {{"vadd", VideoOp::kAdd},      {"vsub", VideoOp::kSub}, {"vabsdiff", VideoOp::kAbsDiff},
                                {"vmin", VideoOp::kMin},      {"vmax", VideoOp::kMax}, {"vshl", VideoOp::kShl},
                                {"vavrg", VideoOp::kAverage}, {"vshr", VideoOp::kShr}, {"vmad", VideoOp::kMad},
                                {"vset", VideoOp::kEq}};

/// One element, two halves or four bytes; the name loses its number.
u32 take_elements(std::string_view& name) {
  if (name.back() != '2' && name.back() != '4') return 1;
  const u32 count = static_cast<u32>(name.back() - '0');
  name.remove_suffix(1);
  return count;
}

void set(VideoForm& form, u8 flag, bool on) {
  if (on) form.flags = static_cast<u8>(form.flags | flag);
}

void take_operation(Decoding& d, VideoForm& form) {
  if (form.op == VideoOp::kEq) {
    const int comparison = d.take_any({"eq", "ne", "lt", "le", "gt", "ge"});
    if (comparison < 0) d.refuse("needs a comparison: .eq, .ne, .lt, .le, .gt or .ge");
    form.op = static_cast<VideoOp>(static_cast<int>(VideoOp::kEq) + comparison);
  }
  if (form.op == VideoOp::kShl || form.op == VideoOp::kShr) {
    const int amount = d.take_any({"wrap", "clamp"});
    if (amount < 0) d.refuse("needs .wrap or .clamp");
    set(form, VideoForm::kWrap, amount == 0);
  }
  set(form, VideoForm::kSaturate, form.op < VideoOp::kEq && d.take("sat"));
  if (form.op == VideoOp::kMad) {
    set(form, VideoForm::kPlusOne, d.take("po"));
    constexpr u8 kScales[] = {0, 7, 15};
    form.d = kScales[d.take_any({"shr7", "shr15"}) + 1];
    return;
  }
  form.second = static_cast<VideoSecond>(d.take_any({"add", "min", "max"}) + 1);
}

/// Of the result, if it has one, and of both operands.
void take_types(Decoding& d, VideoForm& form) {
  const auto is_signed = [&] {
    const Type type = d.expect_type();
    if (type != Type::kU32 && type != Type::kS32) d.refuse("needs .u32 or .s32 operands");
    return type == Type::kS32;
  };
  if (form.op < VideoOp::kEq) set(form, VideoForm::kSignedD, is_signed());
  set(form, VideoForm::kSignedA, is_signed());
  // vset has no type of its own for a second operation: a GPU takes the first operand's.
  if (form.op >= VideoOp::kEq) set(form, VideoForm::kSignedD, form.has(VideoForm::kSignedA));
  set(form, VideoForm::kSignedB, is_signed());
}

/// .b0 to .b3, .h0, .h1.
u16 part_of(const Decoding& d, const Operand& operand) {
  const std::string_view part = operand.part;
  if (part.empty()) return kWholeWord;
  const bool byte = part[0] == 'b';
  if (part.size() != 2 || (!byte && part[0] != 'h') || part[1] < '0' || part[1] > (byte ? '3' : '1'))
    d.refuse(".{} is no part of a register; use .b0 to .b3, .h0 or .h1", part);
  return static_cast<u16>((byte ? kFirstByte : kFirstHalf) + part[1] - '0');
}

/// .h10, .b3210 and so on: a digit for each element, below `limit`.
std::string_view digits_of(const Decoding& d, const Operand& operand, u32 count, u32 limit) {
  const std::string_view part = operand.part;
  const auto wrong = [&](char digit) { return digit < '0' || digit >= static_cast<char>('0' + limit); };
  if (part.size() < 2 || part[0] != (count == 2 ? 'h' : 'b') || std::any_of(part.begin() + 1, part.end(), wrong))
    d.refuse(".{} does not choose among {} elements", part, limit);
  return part.substr(1);
}
u16 elements_of(const Decoding& d, const Operand& operand, u32 count, u32 otherwise) {
  if (operand.part.empty()) return static_cast<u16>(otherwise);
  const std::string_view digits = digits_of(d, operand, count, 2 * count);
  if (digits.size() != count) d.refuse(".{} does not choose {} elements", operand.part, count);
  u32 chosen = 0;
  for (const char digit : digits) chosen = chosen << 4 | static_cast<u32>(digit - '0');
  return static_cast<u16>(chosen);
}
u8 mask_of(const Decoding& d, const Operand& operand, u32 count) {
  if (operand.part.empty()) return static_cast<u8>((1u << count) - 1);
  u32 mask = 0;
  for (const char digit : digits_of(d, operand, count, count)) mask |= 1u << (digit - '0');
  return static_cast<u8>(mask);
}

void take_parts(Decoding& d, VideoForm& form, u32 count) {
  if (count > 1) {
    form.d = mask_of(d, d.operand(0), count);
    form.a = elements_of(d, d.operand(1), count, count == 2 ? 0x10 : 0x3210);
    form.b = elements_of(d, d.operand(2), count, count == 2 ? 0x32 : 0x7654);
    return;
  }
  form.a = part_of(d, d.operand(1));
  form.b = part_of(d, d.operand(2));
  if (form.op != VideoOp::kMad)
    form.d = static_cast<u8>(part_of(d, d.operand(0)));
  else if (!d.operand(0).part.empty())
    d.refuse("the result has no parts");
}

void take_negations(Decoding& d, VideoForm& form) {
  const bool product = d.operand(1).minus != d.operand(2).minus, c = d.operands() == 4 && d.operand(3).minus;
  const bool any = d.operand(1).minus || d.operand(2).minus || c;
  if (d.operand(0).minus || (any && (form.op != VideoOp::kMad || form.has(VideoForm::kPlusOne))) || (product && c))
    d.refuse("operands cannot be negated like this");
  set(form, VideoForm::kNegateProduct, product);
  set(form, VideoForm::kNegateC, c);
}

}  // namespace

void decode_video(Decoding& d) {
  std::string_view name = d.statement.opcode;
  const u32 count = take_elements(name);
  const auto* entry =
      std::find_if(std::begin(kNames), std::end(kNames), [&](const VideoName& n) { return n.name == name; });
  SIM_CHECK(entry != std::end(kNames), "{} is no video instruction", name);
  VideoForm form;
  form.op = entry->op;
  take_types(d, form);
  take_operation(d, form);
  d.expect_operands(3, 4);
  take_parts(d, form, count);
  take_negations(d, form);
  const bool merges = count == 1 && form.op != VideoOp::kMad && form.d != kWholeWord;
  const bool seconds = form.second != VideoSecond::kNone;
  if (merges && seconds) d.refuse("a second operation cannot write a part of a register");
  if (count > 1 && (form.second > VideoSecond::kAdd || (seconds && form.has(VideoForm::kSaturate))))
    d.refuse("the second operation can only be .add, without .sat");
  const bool third = count > 1 || form.op == VideoOp::kMad || merges || seconds;
  d.expect_operands(third ? 4 : 3, third ? 4 : 3);
  for (u32 i = 3; i < d.operands(); ++i)
    if (!d.operand(i).part.empty()) d.refuse("the third operand has no parts");
  d.destination(kFieldD, 0, Type::kB32);
  d.source(kFieldA, 1, Type::kB32);
  d.source(kFieldB, 2, Type::kB32);
  if (third)
    d.source(kFieldC, 3, Type::kB32);
  else
    d.place_constant(kFieldC, 0, false);
  d.inst.imm = std::bit_cast<u64>(form);
  d.inst.run = count == 2                 ? run_video<video_elements<2>>
               : count == 4               ? run_video<video_elements<4>>
               : form.op == VideoOp::kMad ? run_video<video_mad>
                                          : run_video<video_scalar>;
}

}  // namespace terrace::ptx
