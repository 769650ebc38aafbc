// Textures: memory that is read by coordinates, and surfaces, which can be written too. A texture object is a description of where texels lie and how they are read;
// kernels name it by a number.
//
// Simplified: the texels of an array lie row by row, as in pitched memory. A filtered read counts as an access to the texels at its
// lower index in both rows; those beside them are mostly in the same lines.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <map>

#include "engine/archive.h"
#include "engine/types.h"
#include "frontend/guest_memory.h"

namespace terrace::ptx {

struct Texture {
  // Numbered as CUDA does.
  enum class Element : u8 { kSigned, kUnsigned, kFloat };
  enum class Outside : u8 { kWrap, kClamp, kMirror, kBorder };

  VirtAddr first;
  u64 pitch = 0;              // bytes between rows
  u32 width = 0, height = 1;  // in texels
  u8 channels = 1;            // 1, 2 or 4
  u8 channel_bytes = 4;       // 1, 2 or 4
  Element element = Element::kFloat;
  std::array<Outside, 2> outside{Outside::kClamp, Outside::kClamp};
  bool linear_filter = false;
  bool normalized_coordinates = false;  // 0 to 1 instead of 0 to the size
  bool normalized_values = false;       // integers are read as fractions of the largest
  bool plain_memory = false;            // fetched by index; outside is zero
  std::array<float, 4> border{};

  bool gives_floats() const { return element == Element::kFloat || normalized_values; }
  u32 texel_bytes() const { return u32{channels} * channel_bytes; }
};

/// What a read gives: floats or integers, as bits.
using Texel = std::array<u32, 4>;

/// The texel at (x, y), with the address mode applied: outside may be the border's. Its memory must be there.
Texel texel_at(const Texture& texture, const GuestMemory& memory, i64 x, i64 y, bool as_float);

/// What a read touches first: indices inside the texture, for the access that the timing model sees.
struct Footprint {
  u32 x = 0, y = 0;
};

/// Reads at coordinates as tex.1d and tex.2d do; `y` is 0 for one dimension.
Texel sample(const Texture& texture, const GuestMemory& memory, float x, float y, bool as_float, Footprint& footprint);
/// Reads at indices; what lies outside is 0 in every address mode.
Texel fetch(const Texture& texture, const GuestMemory& memory, i64 x, i64 y, bool as_float, Footprint& footprint);

/// Memory that kernels read and write by byte and row (suld, sust).
struct Surface {
  VirtAddr first;
  u64 pitch = 0;  // bytes between rows
  u32 row_bytes = 0, height = 1;
};

/// Objects of one tenant that kernels name by a number. Nothing of the tenant runs when it changes.
template <class T>
class ObjectTable {
 public:
  explicit ObjectTable(u64 first_number) : next_(first_number) {}
  u64 add(const T& object) {
    objects_[next_] = object;
    return next_++;
  }
  bool remove(u64 number) { return objects_.erase(number) > 0; }
  const T* find(u64 number) const {
    const auto found = objects_.find(number);
    return found == objects_.end() ? nullptr : &found->second;
  }
  u64 size() const { return objects_.size(); }
  void clear() { objects_.clear(); }
  void archive(Archive& a) { a(objects_, next_); }

 private:
  std::map<u64, T> objects_;
  u64 next_;
};

/// Whether rows of memory lie in one allocation, as when their object was made: it may have been freed since, in parts too.
inline bool still_there(const GuestMemory& memory, VirtAddr first, u64 pitch, u64 row_bytes, u64 rows) {
  const GuestMemory::Allocation* holder = memory.nearest(first);
  const u64 bytes = (rows - 1) * pitch + row_bytes;
  return holder != nullptr && first.raw - holder->first.raw < holder->bytes &&
         bytes <= holder->bytes - (first.raw - holder->first.raw);
}

}  // namespace terrace::ptx
