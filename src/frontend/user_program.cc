// SPDX-License-Identifier: MIT
#include "frontend/user_program.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "frontend/stream_kind.h"
#include "frontend/user/checks.h"
#include "frontend/user/npy.h"
#include "frontend/user/program_file.h"

namespace terrace {
namespace {

using namespace user;

/// Whether contents are zeros throughout, all bits: there is a zero with a sign, too.
bool all_zeros(const ContentsSpec& contents, Element type, const Place& place) {
  if (contents.contents != Contents::kConstant) return contents.contents == Contents::kZero;
  return with_type(type, [&](auto zero) {
    const auto value = number<decltype(zero)>(contents.value, place);
    return std::memcmp(&value, &zero, sizeof zero) == 0;
  });
}

/// A buffer that begins there holds zeros. Pages of its own go back to the host, which gives zeros in their place: they cost
/// nothing until they are touched.
void clear(GuestMemory& memory, VirtAddr first) {
  const GuestMemory::Allocation& buffer = *memory.nearest(first);
  const std::span<u8> all = memory.write(first, buffer.bytes);
  const u64 page = static_cast<u64>(memory.page_size()), pages = (buffer.bytes + page - 1) / page * page;
  const bool shared = buffer.shared != 0;  // bytes that are mapped several times lie in a file
  if (shared || madvise(all.data(), pages, MADV_DONTNEED) != 0) std::ranges::fill(all, u8{0});
}

class UserProgram final : public Program {
 public:
  explicit UserProgram(std::unique_ptr<const ProgramFile> file) : spec_(std::move(file)), launches_(spec_->launches) {}

  void allocate(GuestMemory& memory) override {
    buffers_.resize(spec_->buffers.size());
    mapped_.assign(spec_->buffers.size(), false);
    map_all(memory);
  }

  /// Maps what is not mapped, as the file has it: again when launches have unmapped buffers.
  void map_all(GuestMemory& memory) {
    for (u64 i = 0; i < buffers_.size(); ++i) {
      const BufferSpec& buffer = spec_->buffers[i];
      const Permission permission = buffer.read_only ? Permission::kReadOnly : Permission::kReadWrite;
      if (mapped_[i])
        buffers_[i].protect(memory, permission);
      else if (buffer.is_mapping())
        buffers_[i] = buffers_[buffer.same_as_index].map_again(memory, buffer.name, permission);
      else
        buffers_[i] = Buffer<u8>(memory, buffer.name, buffer.count * bytes_of(buffer.type), permission);
      mapped_[i] = true;
    }
    put_all_addresses();
  }
  void put_all_addresses() {
    for (LaunchSpec& launch : launches_)
      for (LaunchOnce& once : launch.times) put_addresses(once);
  }
  void put_addresses(LaunchOnce& once) const {
    for (u64 i = 0; i < once.addresses.size(); ++i) {
      for (const Address& each : once.addresses[i]) {
        const u64 address = buffers_[each.buffer].address().raw + each.offset;
        std::memcpy(once.launch.arguments[i].bytes.data() + each.at, &address, sizeof address);
      }
    }
  }

  void initialise(GuestMemory& memory) override {
    // Memory of which a mapping was left behind by an earlier execution is not that of a buffer which is mapped anew.
    for (u64 i = 0; i < buffers_.size(); ++i) {
      const BufferSpec& buffer = spec_->buffers[i];
      if (buffer.is_mapping() && mapped_[i] && !mapped_[buffer.same_as_index]) unmap(memory, i);
    }
    map_all(memory);
    for (u64 i = 0; i < buffers_.size(); ++i) {
      const BufferSpec& buffer = spec_->buffers[i];
      if (buffer.is_mapping()) continue;
      if (all_zeros(buffer, buffer.type, buffer.place)) {
        clear(memory, buffers_[i].address());
        continue;
      }
      put(buffer, buffer.type, buffer.count, buffer.place, buffers_[i].write(memory));
    }
    launch_ = round_ = repeat_ = 0;
  }

  std::optional<Launch> next(GuestMemory& memory) override {
    if (launch_ == 0 && round_ == 0 && repeat_ == 0) write_variables(memory);
    if (launch_ < launches_.size() && repeat_ == launches_[launch_].repeat) advance();
    if (launch_ == launches_.size()) return std::nullopt;
    const LaunchSpec& launch = launches_[launch_];
    if (repeat_ == 0 && round_ == 0) {
      for (const u64 buffer : launch.unmap) unmap(memory, buffer);
      for (const u64 buffer : launch.read_only) buffers_[buffer].protect(memory, Permission::kReadOnly);
      for (const u64 buffer : launch.read_write) buffers_[buffer].protect(memory, Permission::kReadWrite);
    }
    const LaunchOnce& once = launch.at(round_, repeat_++);
    for (const FillSpec& one : once.fills) perform(one, memory);
    for (const CopySpec& one : once.copies) perform(one, memory);
    return once.launch;
  }

  void archive(Archive& a) override {
    a(buffers_, mapped_, launch_, round_, repeat_);
    if (a.restores()) put_all_addresses();
  }

  /// Of a buffer; what else is in its memory, such as variables of the module, is bytes.
  Element type_of(std::string_view buffer) const {
    for (const BufferSpec& spec : spec_->buffers)
      if (spec.name == buffer) return spec.type;
    return Element::kU8;
  }

  CheckResult check(const GuestMemory& memory) const override {
    std::vector<std::span<const u8>> held;
    for (u64 i = 0; i < buffers_.size(); ++i)
      held.push_back(mapped_[i] ? buffers_[i].read(memory) : std::span<const u8>{});
    return user::check_expectations(*spec_, held);
  }

 private:
  void unmap(GuestMemory& memory, u64 buffer) {
    buffers_[buffer].free(memory);
    mapped_[buffer] = false;
  }

  /// To the launch after this one: that behind it, or the first of its group again.
  void advance() {
    repeat_ = 0;
    ++launch_;
    for (const GroupSpec& group : spec_->groups) {
      if (group.end != launch_) continue;
      const bool again = ++round_ < group.repeat;
      if (again)
        launch_ = group.first;
      else
        round_ = 0;
      return;  // another group may end where this one begins
    }
  }

  static const GuestMemory::Allocation& find_variable(const VariableSpec& spec, const GuestMemory& memory) {
    try {
      return memory.symbol(spec.name);
    } catch (const InputError&) {  // it knows neither file nor line
      spec.place.refuse(
          "names no __constant__ or __device__ variable of the device code: \"{}\"; terrace list kernels shows them",
          spec.name);
    }
  }

  void write_variables(GuestMemory& memory) const {
    for (const VariableSpec& spec : spec_->variables) {
      const GuestMemory::Allocation& variable = find_variable(spec, memory);
      const u64 bytes = spec.count * bytes_of(spec.type);
      if (bytes > variable.bytes)
        spec.place.refuse("has {} bytes and the variable {} only {}", bytes, spec.name, variable.bytes);
      put(spec, spec.type, spec.count, spec.place, memory.write(variable.first, bytes));
    }
  }

  void perform(const FillSpec& one, GuestMemory& memory) const {
    const BufferSpec& buffer = spec_->buffers[one.index];
    ContentsSpec contents;
    contents.contents = Contents::kConstant;
    contents.value = one.value;
    if (all_zeros(contents, buffer.type, one.place)) {
      const u64 size = bytes_of(buffer.type);
      return memory.write_zeros({buffers_[one.index].address().raw + one.offset * size}, one.count * size);
    }
    put(contents, buffer.type, one.count, one.place, elements(one.index, one.offset, one.count, memory));
  }
  void perform(const CopySpec& one, GuestMemory& memory) const {
    const u64 size = bytes_of(spec_->buffers[one.from_index].type);
    const std::span<const u8> from =
        buffers_[one.from_index].read(memory).subspan(one.from_offset * size, one.count * size);
    // They may overlap.
    std::memmove(elements(one.to_index, one.to_offset, one.count, memory).data(), from.data(), from.size());
  }
  std::span<u8> elements(u64 buffer, u64 first, u64 count, GuestMemory& memory) const {
    const u64 size = bytes_of(spec_->buffers[buffer].type);
    return memory.write({buffers_[buffer].address().raw + first * size}, count * size);
  }

  void put(const ContentsSpec& contents, Element type, u64 count, const Place& place, std::span<u8> into) const {
    with_type(type, [&](auto zero) {
      using T = decltype(zero);
      T* const all = reinterpret_cast<T*>(into.data());
      visit_contents<T>(contents, count, spec_->folder, place,
                        [=](std::span<const T> some, u64 first) { std::ranges::copy(some, all + first); });
    });
  }

  std::unique_ptr<const ProgramFile> spec_;
  std::vector<LaunchSpec> launches_;  // with the addresses of buffers
  std::vector<Buffer<u8>> buffers_;
  std::vector<bool> mapped_;  // by buffer
  u64 launch_ = 0;
  u32 round_ = 0;   // of its group
  u32 repeat_ = 0;  // of it
};

}  // namespace

ProgramInstance load_user_program(const std::string& toml_path, u64 seed) {
  auto file = user::read_program_file(toml_path, seed);
  DeviceCode code = read_linked_code(file->sources);
  code.heap_bytes = file->heap_bytes.value_or(code.heap_bytes);
  code.stack_bytes = file->stack_bytes.value_or(code.stack_bytes);
  return {std::make_unique<UserProgram>(std::move(file)), std::move(code)};
}

std::string npy_header_of(const Program& program, std::string_view buffer, u64 bytes) {
  const auto* of_user = dynamic_cast<const UserProgram*>(&program);
  const Element type = of_user == nullptr ? Element::kU8 : of_user->type_of(buffer);
  return npy_header(type, bytes / bytes_of(type));
}

ProgramInstance load_program(const std::string& text, InputSize size, std::string_view option,
                             std::optional<u64> seed) {
  if (const StreamKind* kind = kind_that_reads(text)) return kind->load(text, seed.value_or(1));
  if (text.ends_with(".toml")) return load_user_program(text, seed.value_or(1));
  WorkloadRequest request = parse_workload(text, size, option);
  request.seed = seed;
  return make_workload(request);
}

bool names_file(std::string_view text) {
  return text.ends_with(".toml") || kind_that_reads(text) != nullptr;
}

}  // namespace terrace
