// SPDX-License-Identifier: MIT
#include "translation/walk_memory.h"

namespace terrace {

bool WalkThroughL2::send(const WalkRead& read, Cycle now) {
  const LineKey line = LineKey::physical(read.line.raw >> line_shift_);
  const u32 slice = map_.slice_of(line);
  if (!requests_.can_send(port_, slice, now)) return false;
  const AccessRef ref = accesses_.make();
  Access& access = accesses_[ref];
  access.in_l2 = line;
  access.port = static_cast<u16>(port_);
  access.tenant = read.tenant;
  access.kind = AccessKind::kWalk;
  access.walk_level = read.level;
  access.bytes = 8;  // one entry comes back
  access.sectors = read.sectors;
  access.owner = read.walker;
  truth_.sends(ref, truth_.asks(line));
  requests_.send(port_, slice, now, ref, noc_.flits(0), read.tenant);
  return true;
}

std::optional<u32> WalkThroughL2::receive(Cycle now) {
  if (!replies_.front(port_, now)) return std::nullopt;
  const AccessRef ref = replies_.receive(port_, now);
  const u32 walker = accesses_[ref].owner;
  truth_.completes(ref, accesses_[ref]);
  accesses_.free(ref);
  return walker;
}

bool WalkToDram::send(const WalkRead& read, Cycle now) {
  Link<DramRequest>& link = *channels_[map_.channel_of(read.line)].requests;
  if (!link.can_push(now)) return false;
  link.push(now, {.line = read.line,
                  .tag = read.walker,
                  .tenant = read.tenant,
                  .walk_level = read.level,
                  .words = lines_.fetched(read.sectors)});
  return true;
}

std::optional<u32> WalkToDram::receive(Cycle now) {
  for (const Channel& channel : channels_) {
    if (!channel.replies->front(now)) continue;
    const DramReply reply = channel.replies->pop(now);
    truth_.fills(reply.copy);  // nobody writes to page tables but the host: memory's copy is the last
    return reply.tag;
  }
  return std::nullopt;
}

}  // namespace terrace
