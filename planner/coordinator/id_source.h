// SPDX-License-Identifier: Apache-2.0
//
// Ids of teams and plans: a planner's term, and what it has counted in it.
#ifndef COPSE_PLANNER_COORDINATOR_ID_SOURCE_H_
#define COPSE_PLANNER_COORDINATOR_ID_SOURCE_H_

#include <cstdint>
#include <set>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/ids.h"
#include "planner/coordinator/store.h"

namespace copse::coordinator {

// Decimal, so that people can read them: team 3000012 is the twelfth of term 3.
inline constexpr uint64_t kIdsPerTerm = 1'000'000;
// Ids stay below 2^53, which every JSON reader takes for a number.
inline constexpr uint64_t kTermMax = (uint64_t{1} << 53) / kIdsPerTerm - 1;
// Terms above this are not believed: no number of restarts leads there, and higher ones would leave no room.
inline constexpr uint64_t kTermBelievedMax = kTermMax / 2;

template <typename Id>
constexpr uint64_t TermOf(Id id) {
  return id.value() / kIdsPerTerm;
}

// An IdSource never gives an id twice, nor one that another planner of the cluster has given: every start has a term of
// its own, which is recorded before an id of it is given, and daemons tell which terms they have heard of, so that a
// planner whose store was lost goes on above them. Thread-compatible.
class IdSource {
 public:
  // `*store` outlives it. `stored`: the term in the store; 0: none.
  IdSource(Store* store, uint64_t stored);

  // A daemon has heard of `term`; `by_us`: this planner may have told it. True if a planner that this store does not
  // know was ahead, and the term is a new one now.
  bool Hear(uint64_t term, bool by_us);

  // Errors: the store's, RESOURCE_EXHAUSTED: no term is left.
  absl::StatusOr<TeamId> NextTeam();
  absl::StatusOr<PlanId> NextPlan();

  uint64_t term() const { return term_; }
  // Whether the store has every decision that a daemon can know of which has heard of `term`.
  bool IsRecorded(uint64_t term, bool by_us) const { return term <= stored_ || (by_us && terms_.count(term) != 0); }

 private:
  void NewTerm(uint64_t term);
  absl::Status Save();
  absl::StatusOr<uint64_t> Next(uint64_t* count);

  Store* const store_;
  const uint64_t stored_;
  std::set<uint64_t> terms_;  // that were ours
  uint64_t term_ = 0;
  bool saved_ = false;
  uint64_t teams_ = 0, plans_ = 0;  // given in this term
};

}  // namespace copse::coordinator

#endif  // COPSE_PLANNER_COORDINATOR_ID_SOURCE_H_
