// SPDX-License-Identifier: Apache-2.0
//
// Defines an administrator's rules, which override the planner's choice. docs/reference/rules.md describes the file.
#ifndef COPSE_PLANNER_RULES_H_
#define COPSE_PLANNER_RULES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "collectives/call_arguments.h"
#include "planner/size_class.h"
#include "schedule/plan.h"

namespace copse::planner {

inline constexpr uint32_t kRanksMax = 1u << 20;
inline constexpr size_t kRulesMax = 128;

// A Rule applies to calls of one collective within a range of sizes, in teams within a range of ranks. Ranges are
// inclusive.
struct Rule {
  Collective collective = Collective::kBarrier;
  uint64_t bytes_min = 0;
  uint64_t bytes_max = schedule::kCallBytesMax;
  uint32_t ranks_min = 1;
  uint32_t ranks_max = kRanksMax;
  std::string algorithm;                  // names: structure.h; empty: chosen by price
  std::optional<uint32_t> segment_bytes;  // schedule::Plan::segment_bytes; nullopt: chosen by price
  std::string source;                     // "rules.yaml:4", for display

  bool IsForTeam(uint32_t ranks) const { return ranks_min <= ranks && ranks <= ranks_max; }
  // Compares all fields except `source`.
  friend bool operator==(const Rule& a, const Rule& b) {
    return a.collective == b.collective && a.bytes_min == b.bytes_min && a.bytes_max == b.bytes_max &&
           a.ranks_min == b.ranks_min && a.ranks_max == b.ranks_max && a.algorithm == b.algorithm &&
           a.segment_bytes == b.segment_bytes;
  }
};
using Rules = std::vector<Rule>;

// Formats a rule as in a rules file: "{collective: bcast, bytes_min: 1024, algorithm: best}"; defaults are left out.
std::string DescribeRule(const Rule& rule);

// Checks one rule without regard to others. Errors: INVALID_ARGUMENT for a range that is empty or out of bounds,
// neither algorithm nor segments, an irregular collective (which runs by the plans of its regular form), an algorithm
// that is unknown or cannot carry the collective, sizes or segments of a barrier, and segments that are no multiple of
// schedule::kSegmentUnitBytes, too long, too many, or 0 although messages must be cut.
absl::Status CheckRule(const Rule& rule);

// Returns whether a call exists for which both rules apply and require different algorithms or segment sizes.
bool Contradict(const Rule& a, const Rule& b);

// A Ruling combines the rules that apply to all calls of one size class.
struct Ruling {
  std::string algorithm;  // empty: not ruled
  std::optional<uint32_t> segment_bytes;
  std::vector<const Rule*> rules;  // the rules that apply
};
// Combines the rules that apply to all sizes of the class, for a team of `ranks` ranks. `rules` must not contradict
// each other, and must outlive the ruling.
Ruling RulingFor(absl::Span<const Rule> rules, Collective collective, const SizeClass& size_class, uint32_t ranks);

// Returns the size classes cut wherever a rule for the collective and a team of `ranks` ranks begins or ends, so that a
// rule applies to a whole class or not at all. `classes` must not be empty, and ascend without gaps, as the result
// does.
std::vector<SizeClass> CutBySizes(absl::Span<const SizeClass> classes, absl::Span<const Rule> rules,
                                  Collective collective, uint32_t ranks);

}  // namespace copse::planner

#endif  // COPSE_PLANNER_RULES_H_
