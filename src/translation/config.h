// Pages, TLBs and page walks: what can be configured.
// SPDX-License-Identifier: MIT
#pragma once

#include <bit>

#include "config/fields.h"
#include "config/registry.h"
#include "config/validation.h"
#include "engine/tag_array.h"
#include "translation/tlb_fill.h"
#include "translation/walk_order.h"
#include "translation/walk_path.h"
#include "translation/walk_scheduler.h"

namespace terrace {

/// Where on its way an access learns its physical address. Caches before that call lines by virtual names.
enum class TranslateAt : u8 { kNowhere, kBeforeL1, kAfterL1, kAfterL2 };
/// Which frame a page gets.
enum class FrameOrder : u8 { kContiguous, kFirstTouch, kRandom };
enum class EntryLayout : u8 { kPacked, kOnePerLine };

struct PagesConfig {
  u32 bytes = 4096;
  FrameOrder frames = FrameOrder::kRandom;
  u64 memory_bytes = u64{32} << 30;
  u32 level_bits = 9;
  EntryLayout entries = EntryLayout::kPacked;
  void describe(Fields& v) {
    v("bytes", bytes, in(4096, 2097152), "page size in bytes: 4096, 65536 or 2097152");
    v("frames", frames, {"contiguous", "first_touch", "random"},
      "frame allocation: the next free frame when a page is allocated (contiguous) or first touched, or a random one "
      "drawn from the seed");
    v("memory_bytes", memory_bytes, in(u64{1} << 26, u64{1} << 44), "physical memory, a power of two");
    v("level_bits", level_bits, in(2, 9), "address bits that each page-table level below the root translates");
    v("entries", entries, {"packed", "one_per_line"},
      "layout of page-table entries: adjacent, 8 bytes each, or each on its own cache line");
  }
  void validate(Validation& v) const {
    v.require(bytes == 4096 || bytes == 65536 || bytes == 2097152, "bytes", "must be 4096, 65536 or 2097152");
    v.require(std::has_single_bit(memory_bytes), "memory_bytes", "must be a power of two");
  }
  u32 shift() const { return static_cast<u32>(std::countr_zero(bytes)); }
};

/// Any TLB: how much it holds and how it is found.
struct TlbConfig {
  u32 entries = 0;
  u32 ways = 0;  // 0: fully associative
  void describe(Fields& v) {
    v("entries", entries, in(0, 1 << 20), "number of entries; 0: no TLB");
    v("ways", ways, in(0, 1024), "associativity; 0: fully associative");
  }
  void validate(Validation& v) const {
    const u32 w = ways == 0 ? entries : ways;
    v.require(entries == 0 || (entries % w == 0 && std::has_single_bit(entries / w)), "entries",
              "must be a power of two times ways ({})", w);
  }
  TagShape shape() const { return {.entries = entries, .ways = ways == 0 ? entries : ways, .hash = SetHash::kFolded}; }
};

struct L1TlbConfig : TlbConfig {
  enum class LookUp : u8 { kPage, kLine };
  enum class Admit : u8 { kPage, kInstruction };
  u32 hit_cycles = 1;
  u32 miss_entries = 64;
  u32 miss_merges = 64;
  LookUp look_up = LookUp::kPage;
  bool merge_misses = true;
  Admit admit = Admit::kPage;
  bool blocking = false;
  L1TlbConfig() { entries = 64; }
  void describe(Fields& v) {
    TlbConfig::describe(v);
    v("hit_cycles", hit_cycles, in(0, 1000), "latency of a look-up, before the access to the L1 cache");
    v("miss_entries", miss_entries, in(1, 4096), "miss entries (MSHRs): pages that an SM may wait for at a time");
    v("miss_merges", miss_merges, in(1, 4096), "memory instructions that may wait for one page");
    v("look_up", look_up, {"page", "line"},
      "what a memory instruction looks up: each page that it touches once, or the page of each of its lines");
    v("merge_misses", merge_misses,
      "a look-up of a page with a pending miss waits for that miss instead of asking the L2 TLB again");
    v("admit", admit, {"page", "instruction"},
      "miss entries that must be free before a look-up: one for the next page (page), or enough for all pages of the "
      "instruction that miss (instruction)");
    v("blocking", blocking, "no look-ups while a miss is pending");
  }
  void validate(Validation& v) const {
    TlbConfig::validate(v);
    v.require(entries > 0, "entries", "must be at least 1");
    v.require(admit == Admit::kPage || (look_up == LookUp::kPage && merge_misses), "admit",
              "must be \"page\" when each line is looked up, or misses are not merged");
  }
};

struct L2TlbConfig : TlbConfig {
  enum class Turn : u8 { kRequest, kInstruction };
  u32 hit_cycles = 10;
  u32 ports = 2;
  u32 banks = 1;
  u32 miss_entries = 256;
  u32 link_cycles = 1;
  u32 walk_pages = 1;
  Turn turn = Turn::kRequest;
  Policy<TlbFillPolicy> fill{"always"};
  bool per_tenant = false;
  L2TlbConfig() {
    entries = 512;
    ways = 16;
  }
  void describe(Fields& v) {
    TlbConfig::describe(v);
    v("hit_cycles", hit_cycles, in(1, 1000), "cycles of a look-up");
    v("ports", ports, in(0, 64), "look-ups per cycle; 0: unlimited");
    v("banks", banks, in(1, 64),
      "banks, a power of two, selected by the lowest bits of the page number; each takes one look-up per cycle");
    v("miss_entries", miss_entries, in(1, 65536), "miss entries (MSHRs): pages that may wait for walks at a time");
    v("link_cycles", link_cycles, in(1, 1000), "link latency between an SM and the L2 TLB, each way");
    v("walk_pages", walk_pages, in(1, 512),
      "pages that one walk translates, a power of two: the requested page and its aligned neighbours, whose page-table "
      "entries are next to its own");
    v("turn", turn, {"request", "instruction"},
      "round robin among SMs: an SM keeps its turn for one request, or for all requests of an instruction that arrive "
      "back to back");
    v.policy("fill", fill, "which TLB a translation is filled into");
    v("per_tenant", per_tenant,
      "every tenant has its own TLB of this size with this many ports; miss entries are shared");
  }
  void validate(Validation& v) const {
    TlbConfig::validate(v);
    v.require(std::has_single_bit(banks), "banks", "must be a power of two");
    v.require(std::has_single_bit(walk_pages), "walk_pages", "must be a power of two");
  }
};

struct WalkCacheConfig {
  enum class Kind : u8 { kNone, kPerLevel, kShared };
  enum class Skip : u8 { kLongestPrefix, kAllUpper, kEachLevel };
  Kind kind = Kind::kNone;
  u32 entries = 32;
  u32 ways = 4;
  u32 cycles = 1;
  u32 ports = 4;
  bool leaf = false;
  Skip skip = Skip::kLongestPrefix;
  Replacement replacement = Replacement::kLru;
  bool protect = false;
  void describe(Fields& v) {
    v("kind", kind, {"none", "per_level", "shared"},
      "none, one cache per page-table level, or one shared by all levels");
    v("entries", entries, in(1, 65536), "entries of each cache");
    v("ways", ways, in(0, 1024), "associativity; 0: fully associative");
    v("cycles", cycles, in(0, 1000), "cycles of a look-up");
    v("ports", ports, in(1, 4096), "look-ups per cycle");
    v("leaf", leaf, "also cache leaf entries");
    v("skip", skip, {"longest_prefix", "all_upper", "each_level"},
      "which levels a hit skips: longest_prefix: one look-up, the walk starts below the deepest level that hits; "
      "all_upper: below the deepest level whose upper levels hit too; each_level: one look-up before the read of each "
      "level");
    v("replacement", replacement, {"lru", "pseudo_lru"}, "replacement policy");
    v("protect", protect, "protect entries that scored walks rely on: they are replaced last (2-bit counters)");
  }
  void validate(Validation& v) const {
    const u32 w = ways == 0 ? entries : ways;
    v.require(entries % w == 0 && std::has_single_bit(entries / w), "entries", "must be a power of two times ways ({})",
              w);
    v.require(replacement == Replacement::kLru || (std::has_single_bit(w) && w <= 64), "ways",
              "must be a power of two of at most 64 for pseudo_lru");
    v.require(!protect || kind != Kind::kNone, "protect", "needs a walk cache, and mmu.walk_cache.kind is \"none\"");
    v.require(!protect || w <= 64, "ways", "must be at most 64 when entries are protected");
  }
  TagShape shape() const {
    return {
        .entries = entries, .ways = ways == 0 ? entries : ways, .replacement = replacement, .hash = SetHash::kFolded};
  }
};

/// The forward-backward table behind a virtual L2.
struct FbtConfig {
  enum class LargePages : u8 { kParts, kCounter };
  enum class RwSynonyms : u8 { kFault, kCount };
  enum class Priority : u8 { kCpu, kCpuFirst, kAge, kLookUps };
  u32 entries = 0;
  u32 ways = 8;
  u32 cycles = 5;
  u32 link_cycles = 10;
  u32 ports = 1;
  bool second_level = false;
  bool merge_misses = false;
  LargePages large_pages = LargePages::kParts;
  RwSynonyms rw_synonyms = RwSynonyms::kFault;
  Priority priority = Priority::kCpu;
  void describe(Fields& v) {
    v("entries", entries, in(0, 1 << 20), "pages in the table; 0: no table");
    v("ways", ways, in(1, 64), "associativity of the forward and of the backward table");
    v("cycles", cycles, in(1, 1000), "cycles of an access");
    v("link_cycles", link_cycles, in(1, 1000), "link latency between an L2 slice, or an SM, and the table, each way");
    v("ports", ports, in(1, 64), "accesses per cycle");
    v("second_level", second_level, "misses of the L2 TLB are looked up in the forward table before they are walked");
    v("merge_misses", merge_misses,
      "an L2 miss to a page with a pending translation waits for it instead of asking the L2 TLB again");
    v("large_pages", large_pages, {"parts", "counter"},
      "pages of more than 4 KB: parts: an entry for each 4 KB of them that is touched; counter: one entry that counts "
      "lines "
      "instead of naming them");
    v("rw_synonyms", rw_synonyms, {"fault", "count"},
      "what a read-write synonym does (a write under a virtual page that is not the leading one, or an access under it "
      "to a written page): fault: ends the tenant; count: is counted and served");
    v("priority", priority, {"cpu", "cpu_first", "age", "look_ups"},
      "when probes and shootdowns of a CPU are served: cpu: before look-ups; cpu_first: also before notices of lines "
      "that left the L2; age: among look-ups, the one that came first; look_ups: when no look-up waits. Notices always "
      "go before look-ups, so that a line that is fetched again cannot overtake the notice that it left");
  }
  void validate(Validation& v) const {
    v.require(entries % ways == 0 && (entries == 0 || std::has_single_bit(entries / ways)), "entries",
              "must be a power of two times ways ({})", ways);
  }
  /// Of the pages that entries stand for.
  u32 table_page_shift(u32 page_shift) const { return large_pages == LargePages::kParts ? 12 : page_shift; }
};

/// A TLB in front of the walks, as an IOMMU has.
struct FrontTlbConfig : TlbConfig {
  u32 cycles = 2;
  void describe(Fields& v) {
    TlbConfig::describe(v);
    v("cycles", cycles, in(0, 1000), "latency of a look-up, if the TLB exists");
  }
};

struct MmuConfig {
  enum class Scope : u8 { kAll, kTenant };
  u32 walkers = 16;
  u32 queue_entries = 192;
  u32 rate = 1;
  u32 transit_cycles = 1;
  Scope back_pressure = Scope::kAll;
  bool per_tenant = false;
  Policy<WalkScheduler> walk_scheduler{"shared"};
  Policy<WalkOrder> walk_order{"fcfs"};
  Policy<WalkPath> walk_path{"l2"};
  FrontTlbConfig tlb1, tlb2;
  WalkCacheConfig walk_cache;
  void describe(Fields& v) {
    v("walkers", walkers, in(0, 4096), "number of page walkers; 0: unlimited");
    v("queue_entries", queue_entries, in(1, 65536), "entries of the walk queues, all tenants together");
    v("rate", rate, in(1, 64), "requests accepted per cycle");
    v("transit_cycles", transit_cycles, in(1, 10'000), "link latency between the L2 TLB and the MMU, each way");
    v("back_pressure", back_pressure, {"all", "tenant"},
      "whose requests a full walk queue stalls: those of all tenants, or of the tenant whose walk was refused");
    v("per_tenant", per_tenant, "every tenant has its own MMU of this size");
    v.policy("walk_scheduler", walk_scheduler, "which walker gets a walk, and which queue an idle walker serves");
    v.policy("walk_order", walk_order, "in which order a queue hands out its walks");
    v.policy("walk_path", walk_path, "which path the reads of a walk take to memory");
    v.group("tlb1", tlb1, "first IOMMU TLB, in front of the walkers");
    v.group("tlb2", tlb2, "second IOMMU TLB, in front of the walkers");
    v.group("walk_cache", walk_cache, "walk cache: page-table entries close to the walkers");
  }
  void validate(Validation& v) const {
    v.require(!per_tenant || back_pressure == Scope::kAll, "back_pressure",
              "must be \"all\" with mmu.per_tenant, where a full queue stalls only its own tenant anyway");
  }
};

}  // namespace terrace
