// SPDX-License-Identifier: MIT
#include "translation/miss_translator.h"

#include <ostream>

namespace terrace {

MissTranslator::MissTranslator(const Wiring& wiring)
    : wiring_(wiring),
      misses_(wiring.lines, wiring.lines),
      unasked_(wiring.lines),
      // Every line that is fetched may come to know its address at once.
      known_(wiring.lines + wiring.write_backs) {}

Cycle MissTranslator::tick(Cycle now) {
  accept_answers(now);
  accept_requests(now);
  ask(now);
  send(now);
  // What is refused is woken for, as is what arrives.
  return wiring_.from_slice.front(now) != nullptr && known_.size() < wiring_.write_backs ? now + 1 : kNever;
}

void MissTranslator::accept_answers(Cycle now) {
  while (wiring_.answers.front(now)) {
    const Translation answer = wiring_.answers.pop(now);
    ++stats.answers[tenant_of_key(answer.key)];
    misses_.release(answer.key, [&](DramRequest request) {
      const u64 page_bytes = page_bytes_of_key(answer.key);
      request.line = {answer.frame.raw + (request.name.number() << wiring_.line_shift & (page_bytes - 1))};
      known_.push(request);
    });
  }
}

void MissTranslator::accept_requests(Cycle now) {
  while (const DramRequest* first = wiring_.from_slice.front(now)) {
    const bool known = first->name.is_physical() || first->write;
    // Places of lines that are fetched are kept for them.
    if (known && known_.size() >= wiring_.write_backs) return;
    DramRequest request = wiring_.from_slice.pop(now);
    if (!known) {
      set_aside(request);
      continue;
    }
    ++stats.passed[request.tenant];
    known_.push(request);
  }
}

void MissTranslator::set_aside(const DramRequest& request) {
  ++stats.waited[request.tenant];
  if (misses_.join(key_of(request), request) != Join::kFirst) return;
  ++stats.requests[request.tenant];
  unasked_.push({.key = key_of(request),
                 .page = page_of(request),
                 .inst = 0,
                 .port = static_cast<u16>(wiring_.port),
                 .sm = SmId(request.tag >> 8),
                 .warp = static_cast<u8>(request.tag),
                 .tenant = request.tenant});
}

void MissTranslator::ask(Cycle now) {
  while (!unasked_.empty() && wiring_.requests.can_push(wiring_.port, now)) {
    wiring_.requests.push(wiring_.port, now, unasked_.pop());
  }
}

void MissTranslator::send(Cycle now) {
  while (!known_.empty()) {
    Link<DramRequest>& channel = *wiring_.channels[wiring_.map.channel_of(known_.front().line)];
    if (!channel.can_push(now)) return;
    channel.push(now, known_.pop());
  }
}

void MissTranslator::explain(std::ostream& out) const {
  if (!misses_.empty()) out << misses_.size() << " pages are awaited from the L2 TLB\n";
  if (!known_.empty()) out << known_.size() << " requests wait to be sent to memory\n";
}

}  // namespace terrace
