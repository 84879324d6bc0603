// SPDX-License-Identifier: Apache-2.0
//
// What an administrator wants in place of the planner's choice. docs/reference/rules.md has the file.
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

// One rule: for calls of a collective and size, in teams of a size. Ranges are inclusive.
struct Rule {
  Collective collective = Collective::kBarrier;
  uint64_t bytes_min = 0;
  uint64_t bytes_max = schedule::kCallBytesMax;
  uint32_t ranks_min = 1;
  uint32_t ranks_max = kRanksMax;
  std::string algorithm;                  // names: structure.h; empty: chosen by price
  std::optional<uint32_t> segment_bytes;  // as schedule::Plan's; nothing: chosen by price
  std::string source;                     // "rules.yaml:4", for people

  bool IsForTeam(uint32_t ranks) const { return ranks_min <= ranks && ranks <= ranks_max; }
  // What it says, wherever it stands.
  friend bool operator==(const Rule& a, const Rule& b) {
    return a.collective == b.collective && a.bytes_min == b.bytes_min && a.bytes_max == b.bytes_max &&
           a.ranks_min == b.ranks_min && a.ranks_max == b.ranks_max && a.algorithm == b.algorithm &&
           a.segment_bytes == b.segment_bytes;
  }
};
using Rules = std::vector<Rule>;

// As a line of a rules file: "{collective: bcast, bytes_min: 1024, algorithm: best}"; what is the default is left out.
std::string DescribeRule(const Rule& rule);

// Errors: INVALID_ARGUMENT "what: why (thing=value, limit=value)": a range that is empty or out of bounds, neither
// algorithm nor segments, an irregular collective, which has no plans of its own, an algorithm that is unknown or
// cannot carry the collective, sizes or segments of a barrier, segments that are no multiple of 16, too long, or too
// many.
absl::Status CheckRule(const Rule& rule);

// Whether there is a call that both are for, and of which they say different things.
bool Contradict(const Rule& a, const Rule& b);

// What rules say of calls of one size class, all of which they are for.
struct Ruling {
  std::string algorithm;  // empty: nothing
  std::optional<uint32_t> segment_bytes;
  std::vector<const Rule*> rules;  // that say so
};
// `rules` must not contradict each other, and outlive the ruling.
Ruling RulingFor(absl::Span<const Rule> rules, Collective collective, const SizeClass& size_class, uint32_t ranks);

// The size classes, ascending and without gaps, cut wherever a rule for the collective and a team of that size begins
// or ends, so that a rule is for all of a class or for nothing of it.
std::vector<SizeClass> CutBySizes(absl::Span<const SizeClass> classes, absl::Span<const Rule> rules,
                                  Collective collective, uint32_t ranks);

}  // namespace copse::planner

#endif  // COPSE_PLANNER_RULES_H_
