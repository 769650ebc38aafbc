// How an L2 slice reaches memory: over a link to each channel that holds lines of it, or over one to a stage in between
// that translates first. Which channel is a question of the address, not of the slice.
// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "engine/link.h"
#include "engine/ring.h"
#include "stats/blame.h"
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
    for (Link<DramRequest>* link : wiring.requests) ways_.push_back({link, Ring<TenantId>(link->capacity()), {}});
  }
  void enable_blame(const Blame& blame) {
    for (Way& way : ways_) way.holders = blame.holders();
  }

  bool can_send(PhysAddr line, Cycle now) { return way_of(line).link->can_push(now); }
  void send(const DramRequest& request, Cycle now, bool blamed) {
    Way& way = way_of(request.line);
    way.link->push(now, request);
    if (!blamed) return;
    if (way.last_sent.full()) way.holders.remove(way.last_sent.pop(), now);
    way.last_sent.push(request.tenant);
    way.holders.add(request.tenant, now);
  }
  /// Whose requests are on the link that this line would take.
  Holders& holders(PhysAddr line) { return way_of(line).holders; }
  bool several() const { return ways_.size() > 1; }

  /// The reply whose turn it is, or null.
  const DramReply* front(Cycle now) {
    for (u32 asked = 0; asked < replies_.size(); ++asked) {
      if (const DramReply* reply = replies_[turn_]->front(now)) return reply;
      pass_turn();
    }
    return nullptr;
  }
  /// When what `front` showed arrived.
  Cycle arrival() const { return replies_[turn_]->next_arrival(); }
  DramReply pop(Cycle now) {
    const DramReply reply = replies_[turn_]->pop(now);
    pass_turn();
    return reply;
  }
  template <class F>
  void visit_new(Cycle now, F&& visit) const {
    for (const Link<DramReply>* link : replies_) link->visit_new(now, visit);
  }
  template <class F>
  void visit_arrived(Cycle now, F&& visit) const {
    for (const Link<DramReply>* link : replies_) link->visit_arrived(now, visit);
  }
  u32 unread() const {
    u32 all = 0;
    for (const Link<DramReply>* link : replies_) all += link->size();
    return all;
  }
  /// Requests on links that take no more.
  u32 stuck() const {
    u32 all = 0;
    for (const Way& way : ways_) all += way.link->size() == way.link->capacity() ? way.link->size() : 0;
    return all;
  }

 private:
  struct Way {
    Link<DramRequest>* link;
    Ring<TenantId> last_sent;  // as many as the link holds
    Holders holders;           // who they are
  };
  Way& way_of(PhysAddr line) { return ways_.size() == 1 ? ways_[0] : ways_[map_.channel_of(line)]; }
  void pass_turn() { turn_ = turn_ + 1 == replies_.size() ? 0 : turn_ + 1; }

  const LineMap& map_;
  std::vector<Way> ways_;
  std::vector<Link<DramReply>*> replies_;
  u32 turn_ = 0;
};

}  // namespace terrace
