// SPDX-License-Identifier: Apache-2.0
//
// Ids of teams and plans: a planner's term, and the counters within it.
#ifndef COPSE_PLANNER_COORDINATOR_ID_SOURCE_H_
#define COPSE_PLANNER_COORDINATOR_ID_SOURCE_H_

#include <cstdint>
#include <set>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/ids.h"
#include "planner/coordinator/store.h"

namespace copse::coordinator {

// Ids are readable in decimal: team 3000012 is the twelfth of term 3.
inline constexpr uint64_t kIdsPerTerm = 1'000'000;
// Ids stay below 2^53, which every JSON reader accepts as a number.
inline constexpr uint64_t kTermMax = (uint64_t{1} << 53) / kIdsPerTerm - 1;
// Higher terms are rejected: no number of restarts leads there, and they would leave no room for ids.
inline constexpr uint64_t kTermBelievedMax = kTermMax / 2;

template <typename Id>
constexpr uint64_t TermOf(Id id) {
  return id.value() / kIdsPerTerm;
}

// An IdSource never issues an id twice, nor one that another planner of the cluster has issued: every start has a term
// of its own, which is recorded before an id of it is issued, and daemons report the terms that they know, so that a
// planner whose store was lost continues above them. Thread-compatible.
class IdSource {
 public:
  // `*store` must outlive it. `stored` is the term in the store; 0: none.
  IdSource(Store* store, uint64_t stored);

  // Handles a daemon's report that it knows `term`; `by_us`: this planner may have been its source. Returns true if a
  // planner unknown to this store was ahead, and a new term has begun.
  bool Hear(uint64_t term, bool by_us);

  // Errors: those of the store; RESOURCE_EXHAUSTED: no term is left.
  absl::StatusOr<TeamId> NextTeam();
  absl::StatusOr<PlanId> NextPlan();

  uint64_t term() const { return term_; }
  // Returns whether the store has every decision that a daemon with knowledge of `term` can know.
  bool IsRecorded(uint64_t term, bool by_us) const { return term <= stored_ || (by_us && terms_.count(term) != 0); }

 private:
  void NewTerm(uint64_t term);
  absl::Status Save();
  absl::StatusOr<uint64_t> Next(uint64_t* count);

  Store* const store_;
  const uint64_t stored_;
  std::set<uint64_t> terms_;  // terms of this planner
  uint64_t term_ = 0;
  bool saved_ = false;
  uint64_t teams_ = 0, plans_ = 0;  // issued in this term
};

}  // namespace copse::coordinator

#endif  // COPSE_PLANNER_COORDINATOR_ID_SOURCE_H_
