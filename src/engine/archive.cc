// SPDX-License-Identifier: MIT
#include "engine/archive.h"

namespace terrace {

void Archive::part(std::string_view name) {
  std::string read(name);
  item(read);
  if (read != name) damaged(fmt::format("where {} should begin there is something else", name));
}

void Archive::expect(u64 value, std::string_view what) {
  u64 saved = value;
  item(saved);
  if (saved != value) damaged(fmt::format("{} is {} there and {} here", what, saved, value));
}

void Archive::flush() {
  if (restores_ || at_ == 0) return;
  write(buffer_.get(), at_);
  at_ = 0;
}

void Archive::raw_large(void* data, std::size_t count) {
  auto* bytes = static_cast<std::byte*>(data);
  if (!restores_) {
    flush();
    return write(bytes, count);
  }
  const std::size_t have = std::min(count, filled_ - at_);
  std::memcpy(bytes, buffer_.get() + at_, have);
  at_ += have;
  for (std::size_t got = have; got < count;) {
    const std::size_t more = read(bytes + got, count - got);
    if (more == 0) damaged("it ends too early");
    got += more;
  }
}

/// So many bytes are in the buffer afterwards.
void Archive::refill(std::size_t count) {
  std::memmove(buffer_.get(), buffer_.get() + at_, filled_ - at_);
  filled_ -= at_;
  at_ = 0;
  while (filled_ < count) {
    const std::size_t more = read(buffer_.get() + filled_, kBuffer - filled_);
    if (more == 0) damaged("it ends too early");
    filled_ += more;
  }
}

}  // namespace terrace
