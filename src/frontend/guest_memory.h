// A tenant's memory: its allocations at virtual addresses, and the bytes behind them. This is the functional half;
// where a page lies physically and what it costs to find out belongs to translation/.
//
// Every allocation starts on a page of its own. Near ones, where `allocate` puts them, sit in one reserved stretch of
// the host's address space, so that an access needs one subtraction and one look at how many bytes of its 4 KB granule
// are valid: no hash, no search. Far ones, anywhere else in 48 bits, each have a stretch of their own that is searched
// for. Allocations can be freed, between launches; the host forgets their bytes, and their addresses can be used again.
// The bytes of an allocation can be mapped at other addresses as well (synonyms): they live as long as one mapping does.
// SPDX-License-Identifier: MIT
#pragma once

#include <deque>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/archive.h"
#include "engine/types.h"

namespace terrace {

enum class PageSize : u32 { k4K = 4096, k64K = 65536, k2M = 2097152 };
/// What kernels may do with an allocation; the host may always write.
enum class Permission : u8 { kReadWrite, kReadOnly };

class GuestMemory {
 public:
  /// Global addresses start here: zero and small offsets from it stay unmapped, and the windows through which generic
  /// addresses reach shared and local memory lie below.
  static constexpr u64 kBase = u64{1} << 32;
  static constexpr u64 kSharedWindow = 0x0100'0000;  // 16 MB each: far above any shared memory or local frame
  static constexpr u64 kLocalWindow = 0x0200'0000;
  static constexpr u64 kWindowBytes = 0x0100'0000;
  static constexpr u32 kGranuleBytes = 4096;
  /// Addresses have 48 bits. Those from kBase on, for so many bytes, are near.
  static constexpr u64 kEnd = u64{1} << 48;
  static constexpr u64 kNearBytes = u64{32} << 30;

  /// `near_bytes`, at most kNearBytes, are what `allocate` may use.
  explicit GuestMemory(PageSize page_size, u64 near_bytes = kNearBytes);
  ~GuestMemory();
  GuestMemory(const GuestMemory&) = delete;
  GuestMemory& operator=(const GuestMemory&) = delete;

  /// Zero-filled, on pages of its own: the lowest free ones that are near. What finds no place is the user's error.
  VirtAddr allocate(std::string_view name, u64 bytes, Permission permission = Permission::kReadWrite);
  /// The same at a given address, near or far, from kBase on. One that is no multiple of the page size, or whose pages
  /// another allocation has, is the user's error.
  VirtAddr allocate_at(std::string_view name, VirtAddr first, u64 bytes,
                       Permission permission = Permission::kReadWrite);
  /// Ends the allocation that begins there, between launches; where none does it is the user's error. Kernels that touch
  /// it afterwards fault, as long as its addresses are nobody else's.
  void free(VirtAddr first);
  /// Maps the bytes of the allocation that begins at `of` a second time, at the lowest free pages that are near: a synonym,
  /// an allocation of its own in all other respects. Where none begins it is the user's error. Between launches.
  VirtAddr map_again(std::string_view name, VirtAddr of, Permission permission);
  /// From now on kernels may do this with the allocation that begins there, under its own addresses; where none does it is
  /// the user's error. Between launches.
  void protect(VirtAddr first, Permission permission);

  /// Whether all the bytes lie inside one allocation. `bytes` is a power of two up to 16 and `va` a multiple of it.
  bool contains(VirtAddr va, u32 bytes) const noexcept { return inside(valid_bytes_, va, bytes); }
  /// The same for bytes that a kernel may write.
  bool writable(VirtAddr va, u32 bytes) const noexcept { return inside(writable_bytes_, va, bytes); }
  /// Where the byte at `va` lies on the host; `va` must be contained. The bytes of one allocation lie next to each
  /// other.
  u8* at(VirtAddr va) noexcept { return const_cast<u8*>(std::as_const(*this).at(va)); }
  const u8* at(VirtAddr va) const noexcept {
    const u64 offset = va.raw - kBase;
    if (offset < kNearBytes) [[likely]]
      return near_ + offset;
    return far_at(va);
  }

  /// What the host side of a program reads and writes. Ranges the host wrote are remembered until taken: caches that
  /// hold them must forget them.
  std::span<const u8> read(VirtAddr va, u64 bytes) const;
  std::span<u8> write(VirtAddr va, u64 bytes);
  /// Writes zeros. What is zero because nobody has touched it stays so, and costs the host nothing.
  void write_zeros(VirtAddr va, u64 bytes);

  struct WrittenRange {
    VirtAddr first;
    u64 bytes;
  };
  /// How often the host wrote so far.
  u64 host_write_count() const { return host_write_count_; }
  std::vector<WrittenRange> take_host_writes() { return std::exchange(host_writes_, {}); }

  struct Allocation {
    std::string name;
    VirtAddr first;
    u64 bytes;
    Permission permission = Permission::kReadWrite;
    u32 shared = 0;  // allocations with the same number, unless it is 0, are mappings of the same bytes
  };
  /// Those that are not freed, by address.
  const std::vector<Allocation>& allocations() const { return allocations_; }
  /// The allocation that holds `va`, or the nearest one below it, or null.
  const Allocation* nearest(VirtAddr va) const;
  /// What held `va` before it was freed, if nothing has been allocated there since, or null. It is remembered for the
  /// sake of messages, and not for ever.
  const Allocation* freed(VirtAddr va) const;
  /// Of all allocations; bytes that are mapped several times count once.
  u64 footprint_bytes() const;

  /// Pages that an allocation took or gave back, or that are protected from now on. They are remembered until whoever maps
  /// pages takes them.
  struct PageChange {
    enum class Kind : u8 { kTaken, kFreed, kProtected };
    VirtAddr first;
    u64 bytes;  // whole pages
    Kind kind = Kind::kTaken;
    Permission permission = Permission::kReadWrite;  // unless they are freed
    VirtAddr same_as = {};                           // of a second mapping: where the first page of another one lies
  };
  std::vector<PageChange> take_page_changes() { return std::exchange(page_changes_, {}); }
  /// Module variables of a program by name: what cudaGetSymbolAddress finds. Unknown names are the user's error.
  void define_symbol(std::string_view name, VirtAddr va, u64 bytes) {
    symbols_.push_back({std::string(name), va, bytes});
  }
  const Allocation& symbol(std::string_view name) const;
  PageSize page_size() const { return page_size_; }

  /// A hash over the contents of all allocations, the same on every machine.
  u64 digest() const;

  /// Everything. What is zero takes no room; what was there is forgotten. Host addresses that `at` gave mean nothing
  /// afterwards.
  void archive(Archive& a);

 private:
  bool inside(const std::vector<u16>& bytes_of_granule, VirtAddr va, u32 bytes) const noexcept {
    const u64 offset = va.raw - kBase;
    if (offset >= end_) [[unlikely]]
      return far_inside(va, bytes, &bytes_of_granule == &writable_bytes_);
    return (offset & (kGranuleBytes - 1)) + bytes <= bytes_of_granule[offset / kGranuleBytes];
  }
  /// A far allocation.
  struct Far {
    u64 first, bytes;
    bool writable;
    u8* data;
  };
  const Far* far(VirtAddr va) const noexcept;
  bool far_inside(VirtAddr va, u32 bytes, bool to_write) const noexcept;
  const u8* far_at(VirtAddr va) const noexcept;
  void check_range(VirtAddr va, u64 bytes) const;
  u64 whole_pages(u64 bytes) const;
  VirtAddr near_place(std::string_view name, u64 bytes) const;
  VirtAddr take(std::string_view name, VirtAddr first, u64 bytes, Permission permission, VirtAddr same_as = {},
                u32 shared = 0);
  std::vector<Allocation>::iterator beginning_at(VirtAddr first, std::string_view doing);
  void make_shared(Allocation& allocation);
  void show_shared(const Allocation& allocation, u8* at) const;
  void open_near(const Allocation& allocation);
  void open_far(const Allocation& allocation);
  void set_writable(const Allocation& allocation);
  void take_hole(u64 first, u64 bytes);
  void close_near(const Allocation& allocation);
  void close_far(const Allocation& allocation);
  void forget_all();
  void open_again(std::vector<Allocation> allocations, std::vector<u32> mappings);
  void archive_contents(Archive& a);

  PageSize page_size_;
  u64 near_bytes_;
  u64 end_ = 0;  // offset of the first byte behind all near allocations, a multiple of the page size
  u8* near_ = nullptr;
  std::map<u64, u64> holes_;         // free bytes below end_, by offset; none touches another or end_
  std::vector<Far> far_;             // by address
  std::vector<u16> valid_bytes_;     // per granule: how many of its first bytes are allocated,
  std::vector<u16> writable_bytes_;  // and may be written
  std::vector<Allocation> allocations_;
  std::deque<Allocation> freed_;  // the last ones
  std::vector<PageChange> page_changes_;
  std::vector<Allocation> symbols_;
  /// Bytes that are mapped several times: a file in memory.
  struct Shared {
    int file = -1;
    u32 mappings = 0;
  };
  std::vector<Shared> shared_;  // by number, from 1
  std::vector<WrittenRange> host_writes_;
  u64 host_write_count_ = 0;
};

/// A typed view of one allocation, for the host side of programs.
template <class T>
class Buffer {
 public:
  Buffer() = default;
  Buffer(GuestMemory& memory, std::string_view name, u64 count, Permission permission = Permission::kReadWrite)
      : first_(memory.allocate(name, count * sizeof(T), permission)), count_(count) {}
  Buffer(GuestMemory& memory, std::string_view name, VirtAddr first, u64 count,
         Permission permission = Permission::kReadWrite)
      : first_(memory.allocate_at(name, first, count * sizeof(T), permission)), count_(count) {}

  /// The same elements at other addresses.
  Buffer map_again(GuestMemory& memory, std::string_view name, Permission permission) const {
    Buffer other = *this;
    other.first_ = memory.map_again(name, first_, permission);
    return other;
  }
  void protect(GuestMemory& memory, Permission permission) const { memory.protect(first_, permission); }
  void free(GuestMemory& memory) const { memory.free(first_); }

  VirtAddr address() const { return first_; }
  u64 size() const { return count_; }
  std::span<const T> read(const GuestMemory& memory) const {
    return {reinterpret_cast<const T*>(memory.read(first_, count_ * sizeof(T)).data()), count_};
  }
  std::span<T> write(GuestMemory& memory) const {
    return {reinterpret_cast<T*>(memory.write(first_, count_ * sizeof(T)).data()), count_};
  }
  /// Writes one element: only its line is forgotten by caches.
  void set(GuestMemory& memory, u64 index, const T& value) const {
    *reinterpret_cast<T*>(memory.write({first_.raw + index * sizeof(T)}, sizeof(T)).data()) = value;
  }
  T get(const GuestMemory& memory, u64 index) const { return read(memory)[index]; }
  /// Of programs that come by buffers after `allocate`.
  void archive(Archive& a) { a(first_, count_); }

 private:
  VirtAddr first_;
  u64 count_ = 0;
};

}  // namespace terrace
