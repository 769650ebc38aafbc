// SPDX-License-Identifier: MIT
#include "wire/line_truth.h"

#ifdef TERRACE_DCHECK

#include <algorithm>

#include "engine/check.h"

namespace terrace {

LineTruth::LineTruth(LineShape lines, Locate page_table)
    : lines_shape_(lines), line_bytes_(lines.line_bytes()), page_table_(std::move(page_table)) {}

void LineCopy::add(const LineCopy& more) {
  SIM_CHECK(line == more.line, "sectors of line {:#x} join line {:#x}", more.line, line);
  version = std::min(version, more.version);
  own = std::min(own, more.own);
  words |= more.words;
}

/// The words that an access must find in the line; of accesses to parts of words only the sectors are known.
u64 LineTruth::words_read(const Access& access) const {
  const bool knows_its_words = access.words != 0;
  if (access.kind == AccessKind::kStore && knows_its_words) return 0;
  const bool only_these = knows_its_words && (access.kind == AccessKind::kAtomic || access.past_l1);
  return only_these ? access.words : lines_shape_.words(access.sectors);
}

const LineTruth::Line& LineTruth::look(u64 line) const {
  static const Line kUntouched;
  const auto found = lines_.find(line);
  return found == lines_.end() ? kUntouched : found->second;
}

const LineTruth::Writes& LineTruth::writes(u64 line, SmId sm) const {
  static const Writes kNone;
  const auto found = writes_.find(writer(line, sm));
  return found == writes_.end() ? kNone : found->second;
}

LineTruth::InFlight& LineTruth::in_flight(AccessRef ref) {
  const u32 place = AccessPool::place(ref);
  if (place >= in_flight_.size()) in_flight_.resize(place + 1);
  return in_flight_[place];
}

void LineTruth::archive(Archive& a) {
  a(number_, launched_, asked_about_, l1_is_from_, lines_, writes_, line_named_, name_of_, in_flight_);
}

/// Lines that no cache has ever asked for have no copies: what memory holds is what the host left there.
void LineTruth::host_writes(u64 first, u64 end) {
  const Lock lock(reports_);
  if (lines_.empty()) return;
  for (u64 line = first / line_bytes_; line * line_bytes_ < end; ++line) {
    const auto found = lines_.find(line);
    if (found == lines_.end()) continue;
    found->second.latest = found->second.in_memory = found->second.host = ++number_;
  }
}

void LineTruth::launches(TenantId tenant, LaunchId launch) {
  const Lock lock(reports_);
  std::vector<u64>& launched = launched_[index(tenant)];
  launched.resize(index(launch) + 1);
  launched.back() = asked_about_[index(tenant)] = number_;
}

void LineTruth::starts_block(SmId sm, TenantId tenant, LaunchId launch, bool resumed) {
  const Lock lock(reports_);
  if (l1_is_from_.size() <= index(sm)) l1_is_from_.resize(index(sm) + 1);
  const std::vector<u64>& launched = launched_[index(tenant)];
  const u64 began = index(launch) < launched.size() ? launched[index(launch)] : 0;
  u64& from = l1_is_from_[index(sm)][index(tenant)];
  from = std::max(from, resumed ? number_ : began);
  asked_about_[index(tenant)] = std::max(asked_about_[index(tenant)], from);
}

/// 0 where that is forgotten: nothing can be demanded.
u64 LineTruth::Line::latest_at(u64 time) const {
  if (latest <= time) return latest;
  for (const u64 version : earlier) {
    if (version <= time) return version;
  }
  return 0;
}

LineCopy LineTruth::memory_gives(PhysAddr line, u64 words) {
  const Lock lock(reports_);
  const u64 version = lines_[line_of(line)].in_memory;
  return {.line = line_of(line), .version = version, .base = version, .words = words};
}

void LineTruth::memory_takes(const LineCopy& copy) {
  const Lock lock(reports_);
  Line& line = lines_[copy.line];
  // A line that was on its way when the host wrote came before the host.
  if (copy.version < line.host) return;
  SIM_CHECK(copy.version >= line.in_memory, "memory has version {} of line {:#x} and is given version {}",
            line.in_memory, copy.line, copy.version);
  SIM_CHECK(copy.base == line.in_memory, "memory has version {} of line {:#x} and is given words on top of version {}",
            line.in_memory, copy.line, copy.base);
  line.in_memory = copy.version;
}

/// The L2 holds no copy, or it would not have asked: memory must have every write.
void LineTruth::fills(const LineCopy& copy) const {
  const Lock lock(reports_);
  SIM_CHECK(copy.version == look(copy.line).latest, "memory gives version {} of line {:#x}, whose last write is {}",
            copy.version, copy.line, look(copy.line).latest);
}

/// The words that are here are on top of those that memory gives.
void LineTruth::joins(LineCopy& part, const LineCopy& rest) const {
  const Lock lock(reports_);
  SIM_CHECK(rest.line == part.line && rest.version == part.base,
            "memory gives version {} of line {:#x} to complete line {:#x}, which is on top of version {}", rest.version,
            rest.line, part.line, part.base);
  part.words |= rest.words;
}

LineCopy LineTruth::taken(const Access& access) {
  const Lock lock(reports_);
  const u64 line = line_of(access);
  const u64 latest = lines_[line].latest;
  return {.line = line, .version = latest, .base = latest};
}

void LineTruth::performs(LineCopy& copy, const Access& access) {
  const Lock lock(reports_);
  Line& line = lines_[copy.line];
  SIM_CHECK(copy.version == line.latest, "the L2 writes to version {} of line {:#x}, whose last write is {}",
            copy.version, copy.line, line.latest);
  SIM_CHECK((words_read(access) & ~copy.words) == 0, "the L2 changes words {:#x} of line {:#x}, of which it has {:#x}",
            words_read(access), copy.line, copy.words);
  copy.words |= access.words;
  if (line.latest <= asked_about_[index(access.tenant)]) {
    std::shift_right(line.earlier.begin(), line.earlier.end(), 1);
    line.earlier[0] = line.latest;
  }
  copy.version = line.latest = ++number_;
  ++writes_[writer(copy.line, access.sm)].performed;
}

void LineTruth::answers(AccessRef ref, const Access& access, const LineCopy& copy) {
  const Lock lock(reports_);
  SIM_CHECK(copy.line == line_of(access), "the L2 answers a request for line {:#x} with line {:#x}", line_of(access),
            copy.line);
  SIM_CHECK(copy.version == look(copy.line).latest, "the L2 holds version {} of line {:#x}, whose last write is {}",
            copy.version, copy.line, look(copy.line).latest);
  SIM_CHECK((words_read(access) & ~copy.words) == 0,
            "the L2 answers with words {:#x} of line {:#x}, of which it has {:#x}", words_read(access), copy.line,
            copy.words);
  in_flight(ref).copy = copy;
  in_flight(ref).copy.words &= lines_shape_.words(access.sectors);  // the others do not travel
  in_flight(ref).copy.own = writes(copy.line, access.sm).performed;
}

void LineTruth::enters_l2(LineKey name, const LineCopy& copy) {
  const Lock lock(reports_);
  if (name.is_physical()) return;
  const auto [its, is_new] = name_of_.emplace(copy.line, name.raw());
  SIM_CHECK(is_new || its->second == name.raw(), "line {:#x} is in the L2 under two names, {:#x} and {:#x}", copy.line,
            its->second, name.raw());
  line_named_[name.raw()] = copy.line;
  SIM_CHECK(!is_tracked || is_tracked(name),
            "line {:#x} is in the L2 and the forward-backward table does not know of it", name.raw());
}

void LineTruth::redirects(const Access& access) {
  const Lock lock(reports_);
  writes_[writer(line_of(page_table_(access.tenant, access.va)), access.sm)].several = true;
}

void LineTruth::leaves_l2(LineKey name) {
  const Lock lock(reports_);
  if (name.is_physical()) return;
  const auto its = line_named_.find(name.raw());
  SIM_CHECK(its != line_named_.end(), "line {:#x} leaves the L2, which never had it", name.raw());
  SIM_CHECK(!is_tracked || is_tracked(name),
            "line {:#x} leaves the L2 and the forward-backward table does not know of it", name.raw());
  name_of_.erase(its->second);
  line_named_.erase(its);
}

void LineTruth::page_leaves(u64 page_key) const {
  const Lock lock(reports_);
  SIM_CHECK(!is_in_l1s || !is_in_l1s(page_key),
            "page {:#x} leaves the forward-backward table and an L1 holds lines of it", page_key);
}

/// The writes of an SM that it must find again. Two names of one line are no way from a store to a load: whoever writes under
/// one and reads under the other needs a new launch in between, as CUDA has it.
u32 LineTruth::own_writes(u64 line, VirtAddr va, SmId sm) const {
  const Writes& its = writes(line, sm);
  return its.several || its.name != va.raw / line_bytes_ ? 0 : its.sent;
}

/// A request reaches the L2 later than now: it must find at least what has been performed by now, and every write that
/// its SM sent before it, itself included.
WantedLine LineTruth::asks(TenantId tenant, VirtAddr va, SmId sm, bool write) const {
  const Lock lock(reports_);
  const u64 line = line_of(page_table_(tenant, va));
  const u32 own = own_writes(line, va, sm);
  // The first write under a name demands itself only if no other name has been used.
  const bool counts = own > 0 || writes(line, sm).sent == 0;
  return {.line = line, .oldest = look(line).latest, .own = own + (write && counts), .sm = sm};
}

void LineTruth::writes_line(TenantId tenant, VirtAddr va, SmId sm) {
  const Lock lock(reports_);
  const u64 line = line_of(page_table_(tenant, va)), name = va.raw / line_bytes_, host = look(line).host;
  Writes& its = writes_[writer(line, sm)];
  its.several = its.host == host && (its.several || (its.sent > 0 && its.name != name));
  its.name = name;
  its.host = host;
  ++its.sent;
}

WantedLine LineTruth::asks(LineKey physical) const {
  const Lock lock(reports_);
  return {.line = physical.number(), .oldest = look(physical.number()).latest};
}

void LineTruth::sends(AccessRef ref, const WantedLine& wanted) {
  const Lock lock(reports_);
  in_flight(ref) = {wanted, {}};
}

LineCopy LineTruth::completes(AccessRef ref, const Access& access) const {
  const Lock lock(reports_);
  const InFlight& its = in_flight_[AccessPool::place(ref)];
  WantedLine wanted = its.wanted;
  if (access.kind != AccessKind::kWalk) wanted.line = line_of(page_table_(access.tenant, access.va));
  wanted.words = words_read(access);
  completes(wanted, its.copy);
  return its.copy;
}

void LineTruth::updates(LineCopy& copy, SmId sm) const {
  const Lock lock(reports_);
  copy.own = writes(copy.line, sm).sent;
}

WantedLine LineTruth::wants(TenantId tenant, VirtAddr va, SmId sm, u8 sectors) const {
  const Lock lock(reports_);
  const u64 number = line_of(page_table_(tenant, va));
  const u64 from = index(sm) < l1_is_from_.size() ? l1_is_from_[index(sm)][index(tenant)] : 0;
  return {number, look(number).latest_at(from), own_writes(number, va, sm), sm, lines_shape_.words(sectors)};
}

/// What is permitted. An answer must be of the physical line that the page table gives for the tenant and the virtual
/// line, now. It must contain every write to that line that
///   - was performed when the request was sent, if the L2 answers (misses of the L1, loads past it, stores, atomics,
///     walks);
///   - was performed when the newest launch of the tenant that has had a block on this SM began, or when a block came
///     that had been elsewhere, if the L1 answers, or a fetch that was under way already: that is when an L1 is
///     emptied, and it hears of no other SM's stores;
///   - the same SM sent before it, in either case.
/// It must have the words that are read: a cache may have some sectors of a line and not others.
/// It contains no write that has not been performed, or been sent by the SM itself: versions are given in no other way.
void LineTruth::completes(const WantedLine& wanted, const LineCopy& copy) const {
  const Lock lock(reports_);
  SIM_CHECK(copy.line == wanted.line, "the page table names line {:#x}, line {:#x} was the answer", wanted.line,
            copy.line);
  SIM_CHECK(copy.version >= wanted.oldest, "a load of line {:#x} gets version {}, but must see {}", copy.line,
            copy.version, wanted.oldest);
  SIM_CHECK((wanted.words & ~copy.words) == 0, "a load of words {:#x} of line {:#x} gets {:#x}", wanted.words,
            copy.line, copy.words);
  SIM_CHECK(copy.own >= wanted.own || writes(copy.line, wanted.sm).several,
            "a load of line {:#x} sees {} of the {} writes that its own SM made before", copy.line, copy.own,
            wanted.own);
}

}  // namespace terrace

#endif
