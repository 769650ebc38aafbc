// How an L2 slice reaches memory: over a link to each channel that holds lines of it, or over one to a stage in between
// that translates first. Which channel is a question of the address, not of the slice.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <vector>

#include "blame/waiting.h"
#include "engine/link.h"
#include "wire/dram.h"
#include "wire/line_map.h"

namespace terrace {

class MemoryPort {
 public:
  struct Wiring {
    std::vector<Link<DramRequest>*> requests;  // one, or one for each channel
    std::vector<Link<DramReply>*> replies;
  };
  MemoryPort(const Wiring& wiring, const LineMap& map) : map_(map), replies_(wiring.replies) {
    for (Link<DramRequest>* link : wiring.requests) ways_.emplace_back(*link);
  }

  bool can_send(PhysAddr line, Cycle now) { return way_of(line)->can_push(now); }
  void send(const DramRequest& request, Cycle now) { way_of(request.line).push(now, request); }
  /// The link that this line would take, held by the tenants whose requests are on it.
  Resource& link(PhysAddr line) { return way_of(line).places(); }
  bool several() const { return ways_.size() > 1; }

  /// The reply whose turn it is, or null. Only `pop` moves the turn: how often a slice looks must not matter.
  const DramReply* front(Cycle now) { return now < look_at_ ? nullptr : look(now); }
  /// Takes what `front` found in this cycle.
  DramReply pop(Cycle now) {
    const DramReply reply = replies_.pop(found_, now);
    turn_ = found_ + 1 == replies_.count() ? 0 : found_ + 1;
    return reply;
  }
  void keep_replies(Blame& blame, const char* name, const char* doc) { replies_.keep(blame, name, doc); }
  void count_links(Blame& blame, const char* name, const char* doc) {
    for (Way& way : ways_) way.count(blame, name, doc);
  }
  u32 unread() const {
    u32 all = 0;
    for (u32 i = 0; i < replies_.count(); ++i) all += replies_[i].size();
    return all;
  }
  /// Requests on links that take no more.
  u32 stuck() const {
    u32 all = 0;
    for (const Way& way : ways_) all += way->size() == way->capacity() ? way->size() : 0;
    return all;
  }
  /// But for the links, which are the machine's.
  void archive(Archive& a) {
    for (Way& way : ways_) a(way);
    a(replies_, turn_, look_at_);
  }

 private:
  using Way = HeldLink<DramRequest>;
  const DramReply* look(Cycle now) {
    const DramReply* found = nullptr;
    if (replies_.count() == 1) {
      found = replies_.front(0, now);
      if (found == nullptr) look_at_ = replies_.look_at(0);
      return found;
    }
    Cycle next = now + replies_.soonest();
    replies_.visit_filled(turn_, [&](u32 link) {
      found = replies_.front(link, now);
      next = std::min(next, replies_.look_at(link));
      found_ = link;
      return found != nullptr;
    });
    if (found == nullptr) look_at_ = next;
    return found;
  }
  Way& way_of(PhysAddr line) { return ways_.size() == 1 ? ways_[0] : ways_[map_.channel_of(line)]; }

  const LineMap& map_;
  std::vector<Way> ways_;
  InletLinks<DramReply> replies_;
  u32 turn_ = 0;
  u32 found_ = 0;      // where `front` found something
  Cycle look_at_ = 0;  // no reply arrives before
};

}  // namespace terrace
