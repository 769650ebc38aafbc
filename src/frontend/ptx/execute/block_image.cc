// A block as bytes and back.
// SPDX-License-Identifier: MIT
#include <cstring>
#include <type_traits>

#include "engine/check.h"
#include "frontend/ptx/execute/machine.h"

namespace terrace::ptx {
namespace {

class Writer {
 public:
  explicit Writer(std::vector<u8>& bytes) : bytes_(bytes) {}
  template <class T>
    requires std::is_trivially_copyable_v<T>
  void operator()(T& value) {
    append(&value, sizeof(T));
  }
  template <class T, class A>
  void operator()(std::vector<T, A>& values) {
    u64 count = values.size();
    (*this)(count);
    append(values.data(), count * sizeof(T));
  }

 private:
  void append(const void* from, u64 count) {
    const u64 at = bytes_.size();
    bytes_.resize(at + count);
    if (count != 0) std::memcpy(bytes_.data() + at, from, count);
  }
  std::vector<u8>& bytes_;
};

class Reader {
 public:
  explicit Reader(const std::vector<u8>& bytes) : bytes_(bytes) {}
  template <class T>
    requires std::is_trivially_copyable_v<T>
  void operator()(T& value) {
    take(&value, sizeof(T));
  }
  template <class T, class A>
  void operator()(std::vector<T, A>& values) {
    u64 count = 0;
    (*this)(count);
    SIM_CHECK(count <= bytes_.size() / sizeof(T), "a block image is damaged");
    values.resize(count);
    take(values.data(), count * sizeof(T));
  }

  bool at_end() const { return at_ == bytes_.size(); }

 private:
  void take(void* to, u64 count) {
    SIM_CHECK(at_ + count <= bytes_.size(), "a block image is damaged");
    if (count != 0) std::memcpy(to, bytes_.data() + at_, count);
    at_ += count;
  }
  const std::vector<u8>& bytes_;
  u64 at_ = 0;
};

/// Every field of a warp but its links.
template <class Visitor>
void visit(Visitor& v, Warp& warp) {
  v(warp.pc);
  v(warp.reconverge);
  v(warp.active);
  v(warp.full);
  v(warp.alive);
  v(warp.carry);
  v(warp.status);
  v(warp.barrier);
  v(warp.barrier_pc);
  v(warp.reduction);
  v(warp.reduction_place);
  v(warp.stack);
  v(warp.frames);
  v(warp.registers);
  v(warp.params);
  v(warp.predicates);
}

template <class Visitor>
void visit(Visitor& v, Strand& strand) {
  v(strand.pc);
  v(strand.reconverge);
  v(strand.active);
  v(strand.lanes);
  v(strand.wait);
  v(strand.stack);
  v(strand.frames);
}

/// What a parted warp has besides. It stands behind all warps, so that a block without one is no larger for it.
template <class Visitor>
void visit_parts(Visitor& v, Warp& warp, u64 strands) {
  v(warp.lanes);
  v(warp.gathered);
  warp.strands.resize(strands);
  for (Strand& strand : warp.strands) visit(v, strand);
}

}  // namespace

BlockImage Machine::save(BlockRef ref) const {
  const Block& block = *blocks_[index(ref)];
  SIM_CHECK(block.live, "a block that has ended is saved");
  BlockImage image;
  Writer write(image.bytes);
  Block copy = block;  // visiting takes plain references
  write(copy.number);
  write(copy.running);
  write(copy.barriers);
  write(copy.shared);
  for (Warp& warp : copy.warps) {
    SIM_CHECK(warp.pending_atomics == 0, "a block with pending atomics is saved");
    visit(write, warp);
  }
  for (Warp& warp : copy.warps) {
    if (warp.strands.empty()) continue;
    u64 strands = warp.strands.size();
    write(warp.index);
    write(strands);
    visit_parts(write, warp, strands);
  }
  return image;
}

BlockRef Machine::restore(LaunchId launch, const BlockImage& image, SmId sm) {
  Reader read(image.bytes);
  u64 number = 0;
  read(number);
  const BlockRef ref = begin_block(launch, number, sm);
  Block& block = *blocks_[index(ref)];
  read(block.running);
  read(block.barriers);
  read(block.shared);
  for (Warp& warp : block.warps) visit(read, warp);
  while (!read.at_end()) {
    u32 parted = 0;
    u64 strands = 0;
    read(parted);
    read(strands);
    SIM_CHECK(parted < block.warps.size() && strands <= 64, "a block image is damaged");
    visit_parts(read, block.warps[parted], strands);
  }
  return ref;
}

}  // namespace terrace::ptx
