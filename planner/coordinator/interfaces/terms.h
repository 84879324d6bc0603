// SPDX-License-Identifier: Apache-2.0
//
// Relates ids of teams and plans to the terms of planners.
#ifndef COPSE_PLANNER_COORDINATOR_INTERFACES_TERMS_H_
#define COPSE_PLANNER_COORDINATOR_INTERFACES_TERMS_H_

#include <cstdint>

namespace copse::coordinator {

// Ids are readable in decimal: team 3000012 is the twelfth of term 3.
inline constexpr uint64_t kIdsPerTerm = 1'000'000;
// Ids stay below 2^53, which every JSON reader accepts as a number.
inline constexpr uint64_t kTermMax = (uint64_t{1} << 53) / kIdsPerTerm - 1;
// Higher terms that a daemon reports are ignored: no number of restarts leads there, and no room for ids would be left.
inline constexpr uint64_t kTermBelievedMax = kTermMax / 2;

// After a store was lost, this many terms are skipped: daemons that have not reported yet may know of a few more, and a
// planner that ends before they do leaves a store that does not show that it is behind.
inline constexpr uint64_t kLostTerms = 1000;

template <typename Id>
constexpr uint64_t TermOf(Id id) {
  return id.value() / kIdsPerTerm;
}

}  // namespace copse::coordinator

#endif  // COPSE_PLANNER_COORDINATOR_INTERFACES_TERMS_H_
