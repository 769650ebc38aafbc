// Video instructions: what the PTX ISA's pseudo-code gives, in 128-bit arithmetic, with selectors that take turns.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "tests/unit/ptx_opcode_rows.h"

namespace terrace::opcodes {
namespace {

const std::string kParts[] = {"", ".b0", ".b1", ".b2", ".b3", ".h0", ".h1"};

Kind kind_of(const std::string& part, const Kind& word) {
  return {word.cls, part.empty() ? 32 : part[1] == 'b' ? 8 : 16, word.name};
}
u64 shift_of(const std::string& part) {
  return part.empty() ? 0 : static_cast<u64>(part[2] - '0') * (part[1] == 'b' ? 8 : 16);
}
i128 selected(const std::string& part, const Kind& word, u64 value) {
  return kind_of(part, word).value(value >> shift_of(part));
}

i128 primary(const std::string& op, i128 a, i128 b) {
  if (op.starts_with("vadd")) return a + b;
  if (op.starts_with("vsub")) return a - b;
  if (op.starts_with("vabsdiff")) return a < b ? b - a : a - b;
  if (op.starts_with("vmin")) return std::min(a, b);
  if (op.starts_with("vmax")) return std::max(a, b);
  if (op.starts_with("vavrg")) return a + b >= 0 ? (a + b + 1) >> 1 : (a + b) >> 1;
  return op.starts_with("eq")   ? a == b
         : op.starts_with("ne") ? a != b
         : op.starts_with("lt") ? a < b
         : op.starts_with("le") ? a <= b
         : op.starts_with("gt") ? a > b
                                : a >= b;
}

/// What happens to an exact result: saturation, then a second operation or a merge.
struct Ending {
  std::string second, into;  // at most one of them
  bool saturate = false;

  std::string modifiers() const { return (saturate ? ".sat" : "") + (second.empty() ? "" : "." + second); }
  bool takes_c() const { return !second.empty() || !into.empty(); }
  u64 apply(const Kind& d, i128 exact, u64 c) const {
    const Kind part = kind_of(into, d);
    const u64 first = saturate ? part.clamp(exact) : part.wrap(exact);
    // A saturated part is compared and added as a word.
    const u64 word = into.empty() ? kB32.wrap(d.value(first)) : first;
    if (second == "add") return kB32.wrap(static_cast<i128>(word + c));
    // What is not saturated is compared before it is cut; below zero it is larger than any unsigned c.
    const i128 compared = saturate ? d.value(word) : d.is_signed() || exact >= 0 ? exact : exact + (i128{1} << 64);
    if (second == "min") return compared < d.value(c) ? word : c;
    if (second == "max") return compared < d.value(c) ? c : word;
    if (into.empty()) return word;
    const u64 mask = ((u64{1} << part.bits) - 1) << shift_of(into);
    return (first << shift_of(into)) | (c & ~mask);
  }
};

/// Selectors and endings take turns over the rows, so that each meets each operation with some types.
class Turns {
 public:
  const std::string& part() { return kParts[next() % 7]; }
  Ending ending(bool saturate, u32 number) {
    Ending ending;
    ending.saturate = saturate;
    const std::string seconds[] = {"add", "min", "max"};
    if (number == 1) ending.second = seconds[next() % 3];
    if (number == 2) ending.into = kParts[1 + next() % 6];
    return ending;
  }
  u32 next() { return at_ += 5; }

 private:
  u32 at_ = 0;
};

std::string statement(const std::string& opcode, const Ending& ending, const std::string& a, const std::string& b) {
  return fmt::format("{} D{}, A{}, B{}{};", opcode, ending.into, a, b, ending.takes_c() ? ", C" : "");
}

void scalar_rows(Rows& rows, Turns& turns) {
  for (const std::string op : {"vadd", "vsub", "vabsdiff", "vmin", "vmax"}) {
    for (const Kind& d : {kU32, kS32})
      for (const Kind& x : {kU32, kS32})
        for (const Kind& y : {kU32, kS32})
          for (u32 number = 0; number < 6; ++number) {
            const Ending ending = turns.ending(number >= 3, number % 3);
            const std::string a = turns.part(), b = turns.part();
            const std::string opcode = fmt::format("{}.{}.{}.{}{}", op, d.name, x.name, y.name, ending.modifiers());
            const std::string body = statement(opcode, ending, a, b);
            rows.push_back({body,
                            kB32,
                            {kB32, kB32, kB32},
                            [=](const u64* o) {
                              return ending.apply(d, primary(op, selected(a, x, o[0]), selected(b, y, o[1])), o[2]);
                            },
                            body});
          }
  }
  for (const std::string cmp : {"eq", "ne", "lt", "le", "gt", "ge"})
    for (const Kind& x : {kU32, kS32})
      for (const Kind& y : {kU32, kS32})
        for (u32 number = 0; number < 3; ++number) {
          const Ending ending = turns.ending(false, number);
          const std::string a = turns.part(), b = turns.part();
          const std::string opcode = fmt::format("vset.{}.{}.{}{}", x.name, y.name, cmp, ending.modifiers());
          const std::string body = statement(opcode, ending, a, b);
          rows.push_back({body,
                          kB32,
                          {kB32, kB32, kB32},
                          [=](const u64* o) {
                            return ending.apply(x, primary(cmp, selected(a, x, o[0]), selected(b, y, o[1])), o[2]);
                          },
                          body});
        }
}

void shift_rows(Rows& rows, Turns& turns) {
  for (const bool left : {true, false})
    for (const bool wrap : {true, false})
      for (const Kind& d : {kU32, kS32})
        for (const Kind& x : {kU32, kS32})
          for (u32 number = 0; number < 6; ++number) {
            const Ending ending = turns.ending(number >= 3, number % 3);
            const std::string a = turns.part(), b = number % 2 == 0 ? "" : turns.part();
            const std::string opcode = fmt::format("{}.{}.{}.u32{}.{}{}", left ? "vshl" : "vshr", d.name, x.name,
                                                   ending.saturate ? ".sat" : "", wrap ? "wrap" : "clamp",
                                                   ending.second.empty() ? "" : "." + ending.second);
            const std::string body = statement(opcode, ending, a, b);
            rows.push_back({body,
                            kB32,
                            {kB32, kAmount, kB32},
                            [=](const u64* o) {
                              const i128 asked = selected(b, kU32, o[1]);
                              const int by = static_cast<int>(wrap ? asked % 32 : std::min<i128>(asked, 32));
                              const i128 from = selected(a, x, o[0]);
                              return ending.apply(d, left ? from * (i128{1} << by) : from >> by, o[2]);
                            },
                            body});
          }
}

void multiply_rows(Rows& rows, Turns& turns) {
  const std::string forms[] = {"A, B, C", "-A, B, C", "A, -B, C", "A, B, -C", "-A, -B, C"};
  for (const Kind& x : {kU32, kS32})
    for (const Kind& y : {kU32, kS32})
      for (u32 form = 0; form < 6; ++form)
        for (const bool saturate : {false, true})
          for (const int scale : {0, 7, 15}) {
            const bool plus_one = form == 5, minus = form == 1 || form == 2, minus_c = form == 3;
            const bool is_signed = x.is_signed() || y.is_signed() || minus || minus_c;
            const Kind t = is_signed ? kS32 : kU32;
            const std::string a = turns.part(), b = turns.part();
            std::string body = fmt::format("vmad.{}.{}.{}{}{}{} D, {};", t.name, x.name, y.name, plus_one ? ".po" : "",
                                           saturate ? ".sat" : "", scale == 0 ? "" : fmt::format(".shr{}", scale),
                                           forms[plus_one ? 0 : form]);
            body.insert(body.find("B") + 1, b);
            body.insert(body.find("A") + 1, a);
            rows.push_back({body,
                            kB32,
                            {kB32, kB32, kB32},
                            [=](const u64* o) {
                              const i128 product = selected(a, x, o[0]) * selected(b, y, o[1]);
                              const i128 c = t.value(minus_c ? ~o[2] : o[2]) + (minus_c || plus_one ? 1 : 0);
                              const i128 result = ((minus ? -product : product) + c) >> scale;
                              return saturate ? t.clamp(result) : t.wrap(result);
                            },
                            body});
          }
}

/// A digit for each element, the last one for element 0.
struct Elements {
  std::string a, b, mask;
};
const Elements kHalves[] = {
    {"", "", ""}, {".h10", ".h32", ".h10"}, {".h21", ".h03", ".h0"}, {".h33", ".h12", ".h1"}, {".h00", ".h31", ""}};
const Elements kBytes[] = {{"", "", ""},
                           {".b7531", ".b0246", ".b210"},
                           {".b0123", ".b4567", ".b31"},
                           {".b3333", ".b6021", ".b3"},
                           {".b5104", "", ".b320"}};

u64 digit(const std::string& selector, u64 element, u64 otherwise) {
  return selector.empty() ? element + otherwise : static_cast<u64>(selector[selector.size() - 1 - element] - '0');
}
bool chosen(const std::string& mask, u64 element) {
  return mask.empty() || mask.find(static_cast<char>('0' + element)) != mask.npos;
}

void element_row(Rows& rows, const std::string& opcode, const std::string& op, u64 count, const Kind (&types)[3],
                 const Elements& elements, bool saturate, bool add) {
  const Kind d = types[0], x = types[1], y = types[2];
  const std::string body = fmt::format("{} D{}, A{}, B{}, C;", opcode, elements.mask, elements.a, elements.b);
  rows.push_back({body,
                  kB32,
                  {kB32, kB32, kB32},
                  [=](const u64* o) {
                    const int bits = static_cast<int>(32 / count);
                    const auto element = [&](const Kind& t, u64 number) {
                      const u64 word = number < count ? o[0] : o[1];
                      return Kind{t.cls, bits, ""}.value(word >> (number % count * static_cast<u64>(bits)));
                    };
                    i128 sum = static_cast<i128>(o[2]);
                    u64 merged = 0;
                    for (u64 i = 0; i < count; ++i) {
                      const u64 at = i * static_cast<u64>(bits), all = (u64{1} << bits) - 1;
                      const i128 exact =
                          primary(op, element(x, digit(elements.a, i, 0)), element(y, digit(elements.b, i, count)));
                      const Kind narrow{d.cls, bits, ""};
                      const u64 result = saturate ? narrow.clamp(exact) : narrow.wrap(exact);
                      if (chosen(elements.mask, i)) sum += exact;
                      merged |= chosen(elements.mask, i) ? result << at : o[2] & (all << at);
                    }
                    return add ? kB32.wrap(sum) : merged;
                  },
                  body});
}

void element_rows(Rows& rows, Turns& turns) {
  for (const u64 count : {2, 4}) {
    const auto& choices = count == 2 ? kHalves : kBytes;
    for (const std::string op : {"vadd", "vsub", "vavrg", "vabsdiff", "vmin", "vmax"})
      for (const Kind& d : {kU32, kS32})
        for (const Kind& x : {kU32, kS32})
          for (const Kind& y : {kU32, kS32})
            for (const char* ending : {"", ".sat", ".add"})
              element_row(rows, fmt::format("{}{}.{}.{}.{}{}", op, count, d.name, x.name, y.name, ending), op, count,
                          {d, x, y}, choices[turns.next() / 5 % 5], ending[0] != 0 && ending[1] == 's',
                          ending[0] != 0 && ending[1] == 'a');
    for (const std::string cmp : {"eq", "ne", "lt", "le", "gt", "ge"})
      for (const Kind& x : {kU32, kS32})
        for (const Kind& y : {kU32, kS32})
          for (const char* ending : {"", ".add"})
            element_row(rows, fmt::format("vset{}.{}.{}.{}{}", count, x.name, y.name, cmp, ending), cmp, count,
                        {kU32, x, y}, choices[turns.next() / 5 % 5], false, ending[0] != 0);
  }
}

}  // namespace

Rows video_rows() {
  Rows rows;
  Turns turns;
  scalar_rows(rows, turns);
  shift_rows(rows, turns);
  multiply_rows(rows, turns);
  element_rows(rows, turns);
  return rows;
}

}  // namespace terrace::opcodes
