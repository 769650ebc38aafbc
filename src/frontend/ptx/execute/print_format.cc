// SPDX-License-Identifier: MIT
#include "frontend/ptx/execute/print_format.h"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <vector>

namespace terrace::ptx {
namespace {

bool one_of(std::string_view set, char c) {
  return c != 0 && set.find(c) != std::string_view::npos;
}

/// Bytes of an integer argument, and of those the ones that count.
struct IntegerSize {
  u32 taken, used;
};

class Formatter {
 public:
  Formatter(const ByteSource& bytes, u64 format, u64 arguments, u64 most)
      : bytes_(bytes), format_(format), arguments_(arguments), most_(most) {}

  PrintedText run() {
    while (good() && out_.text.size() <= most_) {
      const char c = look();
      if (c == 0) break;
      if (c == '%') {
        convert();
      } else {
        out_.text.push_back(c);
        ++format_;
      }
    }
    return std::move(out_);
  }

 private:
  /// A conversion as written, from its percent sign on.
  struct Conversion {
    std::string written, flags;
    int width = 0, precision = -1;  // -1: none
    std::string length;
    char kind = 0;
  };

  bool good() const { return !out_.unreadable; }
  u8 byte(u64 address) {
    if (const std::optional<u8> found = bytes_(address)) return *found;
    if (good()) out_.unreadable = address;
    return 0;
  }
  char look() { return static_cast<char>(byte(format_)); }
  char next(Conversion& conversion) {
    const char c = look();
    if (c == 0) return 0;
    ++format_;
    conversion.written.push_back(c);
    return c;
  }

  /// The next argument, at a multiple of its size.
  u64 argument(u32 bytes) {
    u64 value = 0;
    arguments_ = (arguments_ + bytes - 1) / bytes * bytes;
    for (u32 i = 0; i < bytes && good(); ++i) value |= u64{byte(arguments_ + i)} << (8 * i);
    arguments_ += bytes;
    ++out_.arguments;
    return value;
  }

  /// Digits, or an argument in place of a star. No text is longer than what may be printed.
  int number(Conversion& conversion) {
    const i64 limit = static_cast<i64>(most_);
    if (look() == '*') {
      next(conversion);
      return static_cast<int>(std::clamp<i64>(static_cast<i32>(argument(4)), -limit, limit));
    }
    i64 value = 0;
    while (good() && one_of("0123456789", look())) value = std::min(limit, 10 * value + (next(conversion) - '0'));
    return static_cast<int>(value);
  }

  void convert() {
    Conversion conversion;
    next(conversion);
    while (good() && one_of("-+ #0'", look())) conversion.flags.push_back(next(conversion));
    conversion.width = number(conversion);
    if (look() == '.') {
      next(conversion);
      conversion.precision = number(conversion);
    }
    while (good() && one_of("hljztqL", look())) conversion.length.push_back(next(conversion));
    conversion.kind = next(conversion);
    if (good()) print(conversion);
  }

  void print(const Conversion& conversion) {
    if (conversion.kind == '%') {
      out_.text.push_back('%');
    } else if (one_of("di", conversion.kind)) {
      const IntegerSize size = integer_size(conversion.length);
      const u32 unused = 64 - 8 * size.used;
      append(conversion, "ll", static_cast<long long>(argument(size.taken) << unused) >> unused);
    } else if (one_of("uoxX", conversion.kind)) {
      const IntegerSize size = integer_size(conversion.length);
      const u32 unused = 64 - 8 * size.used;
      append(conversion, "ll", static_cast<unsigned long long>(argument(size.taken) << unused >> unused));
    } else if (one_of("fFeEgGaA", conversion.kind)) {
      append(conversion, "", std::bit_cast<double>(argument(8)));
    } else if (conversion.kind == 'c') {
      append(conversion, "", static_cast<int>(argument(4)));
    } else if (conversion.kind == 'p') {
      append(conversion, "", reinterpret_cast<void*>(argument(8)));
    } else if (conversion.kind == 's') {
      append(conversion, "", string_at(argument(8), conversion.precision).c_str());
    } else {
      out_.text += conversion.written;
    }
  }

  /// Shorter integers were widened to int when they were passed.
  static IntegerSize integer_size(std::string_view length) {
    if (length == "hh") return {4, 1};
    if (length == "h") return {4, 2};
    return length.empty() ? IntegerSize{4, 4} : IntegerSize{8, 8};
  }

  std::string string_at(u64 address, int precision) {
    if (address == 0) return "(null)";
    const u64 longest = precision < 0 ? most_ : static_cast<u64>(precision);
    std::string text;
    while (good() && text.size() < longest) {
      const char c = static_cast<char>(byte(address++));
      if (c == 0) break;
      text.push_back(c);
    }
    return text;
  }

  /// The host's own printf does the rest.
  template <class T>
  void append(const Conversion& conversion, const char* length, T value) {
    if (!good()) return;
    const std::string format = "%" + conversion.flags + "*.*" + length + conversion.kind;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    const int count = std::snprintf(nullptr, 0, format.c_str(), conversion.width, conversion.precision, value);
    if (count <= 0) return;
    const u64 at = out_.text.size();
    out_.text.resize(at + static_cast<u64>(count) + 1);  // and the zero behind it
    std::snprintf(out_.text.data() + at, static_cast<u64>(count) + 1, format.c_str(), conversion.width,
                  conversion.precision, value);
#pragma GCC diagnostic pop
    out_.text.pop_back();
  }

  const ByteSource& bytes_;
  u64 format_, arguments_, most_;
  PrintedText out_;
};

}  // namespace

PrintedText format_text(const ByteSource& bytes, u64 format, u64 arguments, u64 most) {
  return Formatter(bytes, format, arguments, most).run();
}

}  // namespace terrace::ptx
