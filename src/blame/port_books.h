// The books of a port at the end of a funnel: what has arrived waits for the port, which is held by the tenant of what was
// received last, or for what the receiver lacks when it refuses.
// SPDX-License-Identifier: MIT
#pragma once

#include "blame/waiting.h"

namespace terrace {

template <class T>
class PortBooks {
 public:
  explicit PortBooks(Funnel<T>& funnel) : waiting_(funnel) {}

  /// First in each tick of the receiver.
  void absorb(Cycle now) {
    if (waiting_.counted()) books_.advance(now);
    waiting_.absorb(now);
  }
  T pop(u32 input, Cycle now) {
    T taken = waiting_.pop(input, now);
    port_.only(tenant_of(taken));
    waiting_.all_wait_for(port_);
    return taken;
  }
  /// The receiver could have had something in this cycle and refused it: until the next pop all wait for what it lacks.
  void refused(Resource& lack) { waiting_.all_wait_for(lack); }

  /// Books are kept from now on. Before the first cycle.
  Blame& keep(u32 tenants) {
    books_.enable(tenants);
    books_.count(port_, "port", "packets wait for the output port; holder: the packet received last", 1);
    waiting_.keep_together(books_, port_);
    return books_;
  }
  Blame& blame() { return books_; }
  /// The funnel is not its own.
  void archive(Archive& a) { a(waiting_, books_); }

 private:
  WaitingFunnel<T> waiting_;
  Resource port_;
  Blame books_;
};

}  // namespace terrace
