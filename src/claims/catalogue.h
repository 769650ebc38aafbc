// What the papers claim: each statement with the number its paper prints, from configs/claims/PAPER.toml. docs/reproduce.md
// explains the keys to users. Nothing here knows of measurements.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/types.h"

namespace terrace {

enum class ClaimUnit : u8 {
  kPercentChange,  // change of the first design against the second
  kRatio,          // first design over second
  kAbsolute,       // as measured, in the claim's dimension
  kOrdering        // of several items
};
enum class ClaimDirection : u8 { kIncrease, kDecrease, kEqual, kOrder };
enum class ClaimBound : u8 { kApprox, kExact, kAbove, kAtLeast, kBelow, kAtMost, kRange };
enum class ClaimCheck : u8 {
  kSimulation,
  kMechanism,   // a property of the mechanism or of the configuration
  kArithmetic,  // follows from sizes
  kHardware     // the paper measured it on real hardware
};

/// "a>b>=c,d": neighbouring groups, the first one larger; the order inside a group is not claimed.
struct ClaimOrder {
  std::vector<std::vector<std::string>> groups;
  std::vector<bool> strict;  // between a group and the next: > or >=

  std::vector<std::string> items() const;
  bool empty() const { return groups.empty(); }
};

struct PrintedClaim {
  std::string id, source, kind, statement, metric, machine, dim, aggregate, notes;
  std::vector<std::string> designs, workloads, readings;
  bool headline = false;
  ClaimUnit unit = ClaimUnit::kAbsolute;
  ClaimDirection direction = ClaimDirection::kEqual;
  ClaimBound bound = ClaimBound::kApprox;
  ClaimCheck check = ClaimCheck::kSimulation;
  double value = 0;        // of a change its size, without a sign; of a range its lower end
  double high = 0;         // of a range
  std::string order_text;  // as written, without "order:"
  ClaimOrder order;        // empty for an implication ("a=>b"), which is measured as 1 or 0
  u32 line = 0;

  /// The printed change with its sign.
  double signed_value() const { return direction == ClaimDirection::kDecrease ? -value : value; }
};

/// A set of workloads that claims are about.
struct WorkloadSet {
  std::string name, meaning;
  u64 count = 0;  // 0: the paper does not print it
};

/// Runs of these designs that are shorter than so many cycles prove nothing; nor do those whose search ends after a tenant
/// has completed, where that is asked for.
struct LeastRun {
  std::vector<std::string> designs;
  u64 cycles = 0;
  bool search_ends = false;
  std::string reason;
};

struct PaperClaims {
  std::string paper, title, venue, path;
  std::vector<WorkloadSet> sets;
  std::vector<LeastRun> least;
  std::vector<PrintedClaim> claims;

  const PrintedClaim* find(std::string_view id) const;
  /// How many workloads the paper's number is about; 0 when that is not printed, or none are needed.
  u64 workloads_of(const PrintedClaim& claim) const;
};

/// The papers there are, in the order in which boards show them.
const std::vector<std::string>& claim_papers();

/// Every mistake in the file is listed, with its line, in one InputError.
PaperClaims parse_claims(const std::string& path, const std::string& text);

/// configs/claims/PAPER.toml under that folder; an unknown paper is an InputError.
PaperClaims read_claims(const std::string& data_root, const std::string& paper);

/// "a>b>=c": the groups and signs, or nothing if it is not of that form.
ClaimOrder parse_order(std::string_view text);

/// What is printed, for a person: "+30 %", "more than 20 walks", "a > b".
std::string printed_text(const PrintedClaim& claim);

std::string_view check_name(ClaimCheck check);
std::string_view unit_name(ClaimUnit unit);

/// About four significant digits, without trailing zeros.
std::string short_number(double value);

}  // namespace terrace
