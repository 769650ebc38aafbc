// MUM: DNA queries against the suffix tree of a reference. Dependent loads, every lane on a path of its own: up to 32
// lines and pages an access below the first levels of the tree. Variant: mask (50,000 queries of 25 bases, a reference
// of 1.4 million).
// SPDX-License-Identifier: MIT
#include <algorithm>

#include "engine/check.h"
#include "frontend/workload.h"
#include "suffix_tree.h"
#include "support/checks.h"
#include "support/inputs.h"

namespace terrace {
namespace {

constexpr u32 kThreads = 256;
constexpr u64 kErrorPerMille = 20;  // of a query's bases

struct Record {
  i32 start, end, depth, link;
};
struct Match {
  i32 node, length;
};

class Mummer final : public LaunchSequence {
 public:
  struct Params : WorkloadParams {
    u32 reference = 1'400'000;
    u32 queries = 50'000;
    u32 length = 25;
    u32 least = 20;

    void describe(Fields& v) override {
      v("reference", reference, in(64, 1 << 27), "bases of the reference");
      v("queries", queries, in(1, 1 << 24), "queries, one a thread");
      v("length", length, in(1, 1024), "bases of a query");
      v("least", least, in(1, 1024),
        "shortest match of interest: matches that begin later in a query are not looked for");
      WorkloadParams::describe(v);
    }
    /// A tree with n leaves has fewer than n inner nodes; the end mark is a leaf too.
    u64 nodes() const { return 2 * (u64{reference} + 1); }
    u64 places() const { return u64{length} - least + 1; }
  };

  static void preset(InputSize size, std::string_view, Params& p) {
    if (size == InputSize::kMini) p.reference = 2000, p.queries = 150, p.length = 12, p.least = 10;
    if (size == InputSize::kTiny) p.reference = 150'000, p.queries = 4000;
  }
  static u64 footprint_bytes(const Params& p) {
    return u64{p.reference} + 1 + p.nodes() * (SuffixTree::kBases * sizeof(i32) + sizeof(Record)) +
           u64{p.queries} * (p.length + p.places() * sizeof(Match));
  }

  explicit Mummer(const Params& params) : p_(params) {
    if (p_.least > p_.length) input_error("mum: least ({}) is more than length ({})", p_.least, p_.length);
    if (p_.length > p_.reference) input_error("mum: queries of {} are longer than the reference", p_.length);
    Rng rng(p_.seed, "mum.reference");
    for (u64 i = 0; i < p_.reference; ++i) reference_ += base(rng);
    reference_ += SuffixTree::kEnd;
  }

  void allocate(GuestMemory& memory) override {
    text_ = Buffer<u8>(memory, "text", reference_.size());
    children_ = Buffer<std::array<i32, SuffixTree::kBases>>(memory, "children", p_.nodes());
    records_ = Buffer<Record>(memory, "records", p_.nodes());
    queries_ = Buffer<u8>(memory, "queries", u64{p_.queries} * p_.length);
    matches_ = Buffer<Match>(memory, "matches", p_.queries * p_.places());
  }

  void fill(GuestMemory& memory) override {
    if (!tree_) tree_.emplace(reference_);
    std::copy(reference_.begin(), reference_.end(), text_.write(memory).begin());
    std::copy(tree_->children().begin(), tree_->children().end(), children_.write(memory).begin());
    std::transform(tree_->nodes().begin(), tree_->nodes().end(), records_.write(memory).begin(),
                   [](const SuffixTree::Node& n) { return Record{n.start, n.end, n.depth, n.link}; });
    draw_queries(queries_.write(memory));
    fill_with(memory, matches_, Match{-1, -1});
  }

  u64 launches() const override { return p_.iters; }

  Launch launch(GuestMemory&, u64) override {
    Launch match = sliced_launch("mum_match", {blocks_of(p_.queries, kThreads)}, {kThreads}, p_.slice);
    match.argument(text_).argument(children_).argument(records_).argument(queries_).argument(matches_);
    match.argument(p_.queries).argument(p_.length).argument(p_.least);
    launched_queries_ = std::min(u64{p_.queries}, match.blocks() * kThreads);
    return match;
  }
  void archive_host(Archive& a) override { a(launched_queries_); }

  /// Every match walked from the root, without links. That the tree is one of the text is a test of its own.
  CheckResult check(const GuestMemory& memory) const override {
    const auto queries = queries_.read(memory);
    const auto matches = matches_.read(memory);
    ExactCheck nodes("matched nodes"), lengths("matched lengths");
    for (u64 i = 0; i < matches.size(); ++i) {
      const u64 query = i / p_.places(), place = i % p_.places();
      SuffixTree::Match want{-1, -1};
      if (query < launched_queries_) {
        const char* bases = reinterpret_cast<const char*>(queries.data()) + query * p_.length;
        want = tree_->longest_match(reference_, std::string_view(bases, p_.length).substr(place));
      }
      nodes.compare(i, matches[i].node, want.node);
      lengths.compare(i, matches[i].length, want.length);
    }
    return both(nodes.result(), lengths.result());
  }

 private:
  static char base(Rng& rng) { return "ACGT"[rng.below(4)]; }
  /// Pieces of the reference, with errors.
  void draw_queries(std::span<u8> queries) const {
    Rng rng(p_.seed, "mum.queries");
    for (u64 query = 0; query < p_.queries; ++query) {
      const u64 from = rng.below(p_.reference - p_.length + 1);
      for (u64 i = 0; i < p_.length; ++i) {
        const bool wrong = rng.below(1000) < kErrorPerMille;
        queries[query * p_.length + i] = static_cast<u8>(wrong ? base(rng) : reference_[from + i]);
      }
    }
  }

  Params p_;
  std::string reference_;  // with its end mark
  std::optional<SuffixTree> tree_;
  Buffer<u8> text_, queries_;
  Buffer<std::array<i32, SuffixTree::kBases>> children_;
  Buffer<Record> records_;
  Buffer<Match> matches_;
  u64 launched_queries_ = 0;
};

const RegisterWorkload<Mummer> kRegistered{{
    .name = "mum",
    .purpose = "DNA matching in a suffix tree: dependent loads, a path of its own for every lane",
    .origin = "Rodinia mummergpu",
    .papers = "MASK",
    .module = "mum",
    .variants = {"mask"},
}};

}  // namespace
}  // namespace terrace
