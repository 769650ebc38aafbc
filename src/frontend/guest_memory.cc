// SPDX-License-Identifier: MIT
#include "frontend/guest_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "engine/check.h"

namespace terrace {

namespace {

/// Reserved, not committed: pages become real when they are opened and touched.
u8* reserve(u64 bytes, int protection) {
  void* reserved = mmap(nullptr, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return reserved == MAP_FAILED ? nullptr : static_cast<u8*>(reserved);
}

bool overlap(const GuestMemory::Allocation& a, u64 first, u64 end) {
  return a.first.raw < end && first < a.first.raw + a.bytes;
}

/// A file in memory, of zeros; -1: there is none to be had.
int memory_file(u64 bytes) {
  const int file = memfd_create("terrace", MFD_CLOEXEC);
  if (file < 0 || ftruncate(file, static_cast<off_t>(bytes)) == 0) return file;
  close(file);
  return -1;
}

/// What is saved of memory is a multiple of this, a choice: a few host pages, and a bit for each costs next to nothing.
constexpr u64 kChunkBytes = u64{1} << 16;

bool all_zero(const u8* bytes, u64 count) {
  return bytes[0] == 0 && std::memcmp(bytes, bytes + 1, count - 1) == 0;
}

/// Tells which private pages this process never touched. To read them would be right too, but slow for a large buffer of which
/// little is used, and each would get an entry in a page table.
class TouchedPages {
 public:
  TouchedPages() : file_(open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC)) {
    // Where the file does not tell, every page counts as touched.
    const volatile u8 touched = 1;
    useful_ = any(const_cast<const u8*>(&touched), 1);
  }
  ~TouchedPages() {
    if (file_ >= 0) close(file_);
  }
  TouchedPages(const TouchedPages&) = delete;
  TouchedPages& operator=(const TouchedPages&) = delete;

  /// False only if they are zeros because nobody wrote there.
  bool any(const u8* bytes, u64 count) {
    if (!useful_) return true;
    const u64 first = reinterpret_cast<u64>(bytes) / page_, last = (reinterpret_cast<u64>(bytes) + count - 1) / page_;
    for (u64 page = first; page <= last; ++page)
      if (entry(page) >> 62 != 0) return true;  // in memory, or swapped out
    return false;
  }

 private:
  static constexpr u64 kAtOnce = 4096;  // entries
  u64 entry(u64 page) {
    if (page < read_ || page - read_ >= entries_.size()) {
      entries_.resize(kAtOnce);
      const ssize_t got = pread(file_, entries_.data(), kAtOnce * sizeof(u64), static_cast<off_t>(page * sizeof(u64)));
      entries_.resize(got < 0 ? 0 : static_cast<u64>(got) / sizeof(u64));
      read_ = page;
      if (entries_.empty()) return ~u64{0};
    }
    return entries_[page - read_];
  }

  int file_;
  bool useful_ = true;
  u64 page_ = static_cast<u64>(sysconf(_SC_PAGESIZE));
  u64 read_ = 0;  // page of the first of the entries
  std::vector<u64> entries_;
};

/// Of private memory.
bool is_zero(TouchedPages& touched, const u8* bytes, u64 count) {
  return !touched.any(bytes, count) || all_zero(bytes, count);
}

/// Of a file in memory, into a piece of as many bytes. To look at a file's page where it is mapped makes it a page of its own;
/// to read it does not.
bool is_zero(int file, u64 first, std::span<u8> piece) {
  const ssize_t got = pread(file, piece.data(), piece.size(), static_cast<off_t>(first));
  return got == static_cast<ssize_t>(piece.size()) && all_zero(piece.data(), piece.size());
}

}  // namespace

GuestMemory::GuestMemory(PageSize page_size, u64 near_bytes) : page_size_(page_size), near_bytes_(near_bytes) {
  SIM_CHECK(near_bytes <= kNearBytes, "{} bytes of near memory are more than {}", near_bytes, kNearBytes);
  near_ = reserve(near_bytes_, PROT_NONE);
  if (near_ == nullptr) {
    input_error("cannot reserve {} GiB of address space for a tenant: {}; raise the limit (ulimit -v)",
                near_bytes_ >> 30, std::strerror(errno));
  }
}

GuestMemory::~GuestMemory() {
  munmap(near_, near_bytes_);
  for (const Far& far : far_) munmap(far.data, whole_pages(far.bytes));
  for (const Shared& shared : shared_) {
    if (shared.mappings > 0) close(shared.file);
  }
}

u64 GuestMemory::whole_pages(u64 bytes) const {
  const u64 page = static_cast<u64>(page_size_);
  return (bytes + page - 1) / page * page;
}

/// The lowest free pages that have room.
VirtAddr GuestMemory::near_place(std::string_view name, u64 bytes) const {
  for (const auto& [first, free_bytes] : holes_) {
    if (bytes <= free_bytes) return {kBase + first};
  }
  if (bytes > near_bytes_ - end_) {
    input_error("buffer \"{}\" of {} bytes does not fit into the tenant's {} GiB; choose a smaller input", name, bytes,
                near_bytes_ >> 30);
  }
  return {kBase + end_};
}

VirtAddr GuestMemory::allocate(std::string_view name, u64 bytes, Permission permission) {
  const u64 size = std::max<u64>(bytes, 1);
  return take(name, near_place(name, size), size, permission);
}

VirtAddr GuestMemory::map_again(std::string_view name, VirtAddr of, Permission permission) {
  const auto found = beginning_at(of, "mapped a second time");
  make_shared(*found);
  const u64 bytes = found->bytes;
  const u32 shared = found->shared;  // taking a place moves what it was found in
  const VirtAddr first = take(name, near_place(name, bytes), bytes, permission, of, shared);
  ++shared_[shared - 1].mappings;
  show_shared(*nearest(first), at(first));
  return first;
}

/// Its bytes move to a file in memory, which several stretches of the host's addresses can show.
void GuestMemory::make_shared(Allocation& allocation) {
  if (allocation.shared != 0) return;
  const u64 bytes = whole_pages(allocation.bytes);
  const int file = memory_file(bytes);
  u64 written = 0;
  bool good = file >= 0;
  while (good && written < bytes) {
    const ssize_t count = pwrite(file, at(allocation.first) + written, bytes - written, static_cast<off_t>(written));
    good = count > 0;
    if (good) written += static_cast<u64>(count);
  }
  if (!good) {
    input_error("cannot map buffer \"{}\" of {} bytes a second time: {}; choose a smaller input", allocation.name,
                allocation.bytes, std::strerror(errno));
  }
  shared_.push_back({file, 1});
  allocation.shared = static_cast<u32>(shared_.size());
  show_shared(allocation, at(allocation.first));
}

void GuestMemory::show_shared(const Allocation& allocation, u8* where) const {
  const void* shown = mmap(where, whole_pages(allocation.bytes), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
                           shared_[allocation.shared - 1].file, 0);
  SIM_CHECK(shown == where, "cannot map the {} bytes of \"{}\": {}", allocation.bytes, allocation.name,
            std::strerror(errno));
}

void GuestMemory::protect(VirtAddr first, Permission permission) {
  const auto found = beginning_at(first, "protected");
  if (found->permission == permission) return;
  found->permission = permission;
  set_writable(*found);
  page_changes_.push_back({.first = first,
                           .bytes = whole_pages(found->bytes),
                           .kind = PageChange::Kind::kProtected,
                           .permission = permission});
}

VirtAddr GuestMemory::allocate_at(std::string_view name, VirtAddr first, u64 bytes, Permission permission) {
  const u64 page = static_cast<u64>(page_size_), size = std::max<u64>(bytes, 1);
  if (first.raw % page != 0) {
    input_error("buffer \"{}\" cannot be at {:#x}, which is not a multiple of the page size, {}", name, first.raw,
                page);
  }
  if (first.raw < kBase || first.raw >= kEnd || size > kEnd - first.raw) {
    input_error("buffer \"{}\" of {} bytes cannot be at {:#x}; addresses are {:#x} to {:#x}", name, bytes, first.raw,
                kBase, kEnd - 1);
  }
  const bool is_near = first.raw - kBase < kNearBytes;
  if (is_near && size > near_bytes_ - std::min(near_bytes_, first.raw - kBase)) {
    input_error("buffer \"{}\" of {} bytes at {:#x} crosses {:#x}; place it on one side", name, bytes, first.raw,
                kBase + near_bytes_);
  }
  const u64 end = first.raw + whole_pages(size);
  if (const Allocation* below = nearest({end - 1})) {
    if (below->first.raw + whole_pages(below->bytes) > first.raw)
      input_error("buffer \"{}\" of {} bytes at {:#x} overlaps \"{}\", {} bytes from {:#x}; place it elsewhere", name,
                  bytes, first.raw, below->name, below->bytes, below->first.raw);
  }
  return take(name, first, size, permission);
}

/// Its pages are known to be free.
VirtAddr GuestMemory::take(std::string_view name, VirtAddr first, u64 bytes, Permission permission, VirtAddr same_as,
                           u32 shared) {
  const Allocation allocation{std::string(name), first, bytes, permission, shared};
  first.raw - kBase < kNearBytes ? open_near(allocation) : open_far(allocation);
  const u64 end = first.raw + whole_pages(bytes);
  std::erase_if(freed_, [&](const Allocation& gone) { return overlap(gone, first.raw, end); });
  page_changes_.push_back({first, end - first.raw, PageChange::Kind::kTaken, permission, same_as});
  const auto above = std::upper_bound(allocations_.begin(), allocations_.end(), first.raw,
                                      [](u64 raw, const Allocation& a) { return raw < a.first.raw; });
  allocations_.insert(above, allocation);
  return first;
}

void GuestMemory::open_near(const Allocation& allocation) {
  const u64 first = allocation.first.raw - kBase, bytes = whole_pages(allocation.bytes);
  if (mprotect(near_ + first, bytes, PROT_READ | PROT_WRITE) != 0) {
    input_error("cannot allocate buffer \"{}\" of {} bytes: {}; choose a smaller input", allocation.name,
                allocation.bytes, std::strerror(errno));
  }
  take_hole(first, bytes);
  valid_bytes_.resize(end_ / kGranuleBytes, 0);
  writable_bytes_.resize(end_ / kGranuleBytes, 0);
  for (u64 at = 0; at < allocation.bytes; at += kGranuleBytes) {
    const u64 granule = (first + at) / kGranuleBytes;
    valid_bytes_[granule] = static_cast<u16>(std::min<u64>(kGranuleBytes, allocation.bytes - at));
  }
  set_writable(allocation);
}

void GuestMemory::set_writable(const Allocation& allocation) {
  const bool writable = allocation.permission == Permission::kReadWrite;
  const u64 first = allocation.first.raw - kBase;
  if (first >= kNearBytes) {
    const_cast<Far*>(far(allocation.first))->writable = writable;
    return;
  }
  for (u64 at = 0; at < allocation.bytes; at += kGranuleBytes) {
    const u64 granule = (first + at) / kGranuleBytes;
    writable_bytes_[granule] = writable ? valid_bytes_[granule] : u16{0};
  }
}

/// The rest of a hole stays one; beyond the end, what is skipped becomes one.
void GuestMemory::take_hole(u64 first, u64 bytes) {
  const u64 end = first + bytes;
  if (first >= end_) {
    if (first > end_) holes_[end_] = first - end_;
    end_ = end;
    return;
  }
  const auto hole = std::prev(holes_.upper_bound(first));
  const u64 hole_first = hole->first, hole_end = hole->first + hole->second;
  holes_.erase(hole);
  if (hole_first < first) holes_[hole_first] = first - hole_first;
  if (end < hole_end) holes_[end] = hole_end - end;
}

void GuestMemory::open_far(const Allocation& allocation) {
  u8* data = reserve(whole_pages(allocation.bytes), PROT_READ | PROT_WRITE);
  if (data == nullptr) {
    input_error("cannot allocate buffer \"{}\" of {} bytes: {}; choose a smaller input", allocation.name,
                allocation.bytes, std::strerror(errno));
  }
  const auto above = std::upper_bound(far_.begin(), far_.end(), allocation.first.raw,
                                      [](u64 raw, const Far& far) { return raw < far.first; });
  far_.insert(above, {allocation.first.raw, allocation.bytes, allocation.permission == Permission::kReadWrite, data});
}

/// Where none begins it is the user's error.
std::vector<GuestMemory::Allocation>::iterator GuestMemory::beginning_at(VirtAddr first, std::string_view doing) {
  const auto found = std::find_if(allocations_.begin(), allocations_.end(),
                                  [&](const Allocation& allocation) { return allocation.first == first; });
  if (found == allocations_.end()) {
    if (const Allocation* gone = freed(first))
      input_error("{:#x} is {}: it lies in \"{}\", which has been freed", first.raw, doing, gone->name);
    input_error("{:#x} is {}, where no buffer begins; use the address that the allocation gave", first.raw, doing);
  }
  return found;
}

void GuestMemory::free(VirtAddr first) {
  const auto found = beginning_at(first, freed(first) != nullptr ? "freed twice" : "freed");
  constexpr u64 kRemembered = 1024;  // more than a person asks about
  const u64 end = first.raw + found->bytes;
  first.raw - kBase < kNearBytes ? close_near(*found) : close_far(*found);
  std::erase_if(host_writes_,
                [&](const WrittenRange& range) { return range.first.raw >= first.raw && range.first.raw < end; });
  page_changes_.push_back({first, whole_pages(found->bytes), PageChange::Kind::kFreed});
  if (found->shared != 0 && --shared_[found->shared - 1].mappings == 0) close(shared_[found->shared - 1].file);
  freed_.push_back(std::move(*found));
  if (freed_.size() > kRemembered) freed_.pop_front();
  allocations_.erase(found);
}

void GuestMemory::close_near(const Allocation& allocation) {
  u64 first = allocation.first.raw - kBase, end = first + whole_pages(allocation.bytes);
  // The host takes the pages back: whoever gets them next finds zeros.
  u8* const data = near_ + first;
  const bool closed =
      allocation.shared == 0
          ? madvise(data, end - first, MADV_DONTNEED) == 0 && mprotect(data, end - first, PROT_NONE) == 0
          : mmap(data, end - first, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) == data;
  SIM_CHECK(closed, "cannot give back the {} bytes of \"{}\": {}", allocation.bytes, allocation.name,
            std::strerror(errno));
  for (u64 granule = first / kGranuleBytes; granule < end / kGranuleBytes; ++granule)
    valid_bytes_[granule] = writable_bytes_[granule] = 0;
  const auto above = holes_.upper_bound(first);
  if (above != holes_.end() && above->first == end) {
    end += above->second;
    holes_.erase(above);
  }
  const auto next = holes_.lower_bound(first);
  if (next != holes_.begin()) {
    const auto below = std::prev(next);
    if (below->first + below->second == first) {
      first = below->first;
      holes_.erase(below);
    }
  }
  if (end == end_)
    end_ = first;
  else
    holes_[first] = end - first;
}

void GuestMemory::close_far(const Allocation& allocation) {
  const Far* gone = far(allocation.first);
  munmap(gone->data, whole_pages(gone->bytes));
  far_.erase(far_.begin() + (gone - far_.data()));
}

const GuestMemory::Far* GuestMemory::far(VirtAddr va) const noexcept {
  const auto above =
      std::upper_bound(far_.begin(), far_.end(), va.raw, [](u64 raw, const Far& far) { return raw < far.first; });
  return above == far_.begin() ? nullptr : &*std::prev(above);
}

bool GuestMemory::far_inside(VirtAddr va, u32 bytes, bool to_write) const noexcept {
  const Far* its = far(va);
  if (its == nullptr || (to_write && !its->writable)) return false;
  const u64 offset = va.raw - its->first;
  return offset < its->bytes && bytes <= its->bytes - offset;
}

const u8* GuestMemory::far_at(VirtAddr va) const noexcept {
  const Far* its = far(va);
  return its->data + (va.raw - its->first);
}

void GuestMemory::check_range(VirtAddr va, u64 bytes) const {
  const Allocation* allocation = nearest(va);
  SIM_CHECK(allocation && va.raw + bytes <= allocation->first.raw + allocation->bytes,
            "the host touches {} bytes at {:#x}, outside any buffer", bytes, va.raw);
}

std::span<const u8> GuestMemory::read(VirtAddr va, u64 bytes) const {
  check_range(va, bytes);
  return {at(va), bytes};
}

std::span<u8> GuestMemory::write(VirtAddr va, u64 bytes) {
  check_range(va, bytes);
  ++host_write_count_;
  host_writes_.push_back({va, bytes});
  // Whoever holds the bytes under another name must forget them too.
  if (const Allocation& own = *nearest(va); own.shared != 0) {
    for (const Allocation& other : allocations_) {
      if (other.shared == own.shared && other.first != own.first)
        host_writes_.push_back({{other.first.raw + (va.raw - own.first.raw)}, bytes});
    }
  }
  return {at(va), bytes};
}

void GuestMemory::write_zeros(VirtAddr va, u64 bytes) {
  u8* const all = write(va, bytes).data();
  if (bytes < kChunkBytes) return void(std::memset(all, 0, bytes));
  TouchedPages touched;
  const u32 shared = nearest(va)->shared;
  const u64 offset = va.raw - nearest(va)->first.raw;
  std::vector<u8> piece(shared == 0 ? 0 : kGranuleBytes);
  u64 size = 0;
  for (u64 at = 0; at < bytes; at += size) {
    size = std::min(kGranuleBytes - (va.raw + at) % kGranuleBytes, bytes - at);  // within a page
    const bool zero = shared == 0 ? is_zero(touched, all + at, size)
                                  : is_zero(shared_[shared - 1].file, offset + at, std::span(piece).first(size));
    if (!zero) std::memset(all + at, 0, size);
  }
}

const GuestMemory::Allocation* GuestMemory::nearest(VirtAddr va) const {
  const auto above = std::upper_bound(allocations_.begin(), allocations_.end(), va.raw,
                                      [](u64 raw, const Allocation& a) { return raw < a.first.raw; });
  return above == allocations_.begin() ? nullptr : &*std::prev(above);
}

const GuestMemory::Allocation* GuestMemory::freed(VirtAddr va) const {
  const auto gone = std::find_if(freed_.rbegin(), freed_.rend(),
                                 [&](const Allocation& allocation) { return overlap(allocation, va.raw, va.raw + 1); });
  return gone == freed_.rend() ? nullptr : &*gone;
}

const GuestMemory::Allocation& GuestMemory::symbol(std::string_view name) const {
  for (const Allocation& symbol : symbols_)
    if (symbol.name == name) return symbol;
  input_error("no module defines a variable \"{}\"; check the name in the PTX text", name);
}

u64 GuestMemory::footprint_bytes() const {
  u64 total = 0;
  std::vector<bool> counted(shared_.size() + 1);
  for (const Allocation& allocation : allocations_) {
    if (allocation.shared != 0 && counted[allocation.shared]) continue;
    counted[allocation.shared] = true;
    total += allocation.bytes;
  }
  return total;
}

void GuestMemory::archive(Archive& a) {
  a.part("guest memory");
  a.expect(static_cast<u64>(page_size_), "the size of its pages");
  a.expect(near_bytes_, "the size of its near part");
  std::vector<Allocation> allocations = allocations_;
  std::vector<u32> mappings;
  for (const Shared& shared : shared_) mappings.push_back(shared.mappings);
  a(allocations, mappings);
  if (a.restores()) {
    forget_all();
    open_again(std::move(allocations), std::move(mappings));
  }
  a(freed_, page_changes_, symbols_, host_writes_, host_write_count_);
  archive_contents(a);
}

void GuestMemory::forget_all() {
  const void* empty =
      mmap(near_, near_bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  SIM_CHECK(empty == near_, "cannot give back a tenant's memory: {}", std::strerror(errno));
  for (const Far& far : far_) munmap(far.data, whole_pages(far.bytes));
  for (const Shared& shared : shared_) {
    if (shared.mappings > 0) close(shared.file);
  }
  end_ = 0;
  holes_.clear();
  far_.clear();
  valid_bytes_.clear();
  writable_bytes_.clear();
  allocations_.clear();
  shared_.clear();
}

/// Full of zeros. Holes lie between allocations, so these alone say where they are.
void GuestMemory::open_again(std::vector<Allocation> allocations, std::vector<u32> mappings) {
  for (const u32 count : mappings) shared_.push_back({-1, count});
  allocations_ = std::move(allocations);
  for (const Allocation& allocation : allocations_) {
    allocation.first.raw - kBase < kNearBytes ? open_near(allocation) : open_far(allocation);
    if (allocation.shared == 0) continue;
    int& file = shared_.at(allocation.shared - 1).file;
    if (file < 0) file = memory_file(whole_pages(allocation.bytes));
    if (file < 0) {
      input_error("cannot map buffer \"{}\" of {} bytes a second time: {}", allocation.name, allocation.bytes,
                  std::strerror(errno));
    }
    show_shared(allocation, at(allocation.first));
  }
}

/// A bit for each chunk that is not zero, then these. Before they are restored all is zero.
void GuestMemory::archive_contents(Archive& a) {
  TouchedPages touched;
  std::vector<bool> done(shared_.size() + 1);
  std::vector<u8> piece(kChunkBytes), filled;
  for (const Allocation& allocation : allocations_) {
    const u32 shared = allocation.shared;
    if (shared != 0 && done[shared]) continue;
    done[shared] = true;
    u8* const bytes = at(allocation.first);
    const u64 chunks = (allocation.bytes + kChunkBytes - 1) / kChunkBytes;
    const auto size = [&](u64 chunk) { return std::min(kChunkBytes, allocation.bytes - chunk * kChunkBytes); };
    const auto is_filled = [&](u64 chunk) {
      if (shared == 0) return !is_zero(touched, bytes + chunk * kChunkBytes, size(chunk));
      return !is_zero(shared_[shared - 1].file, chunk * kChunkBytes, std::span(piece).first(size(chunk)));
    };
    filled.assign((chunks + 7) / 8, 0);
    for (u64 chunk = 0; chunk < chunks && !a.restores(); ++chunk)
      filled[chunk / 8] |= static_cast<u8>(u32{is_filled(chunk)} << chunk % 8);
    a.raw(filled.data(), filled.size());
    for (u64 chunk = 0; chunk < chunks; ++chunk)
      if (filled[chunk / 8] >> chunk % 8 & 1) a.raw(bytes + chunk * kChunkBytes, size(chunk));
  }
}

u64 GuestMemory::digest() const {
  u64 hash = 0;
  for (const Allocation& allocation : allocations_)
    hash = XXH3_64bits_withSeed(at(allocation.first), allocation.bytes, hash);
  return hash;
}

}  // namespace terrace
