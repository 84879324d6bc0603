// SPDX-License-Identifier: Apache-2.0
//
// Issues the ids of teams and plans, which consist of a planner's term and a counter within the term.
#ifndef COPSE_PLANNER_COORDINATOR_STATE_ID_SOURCE_H_
#define COPSE_PLANNER_COORDINATOR_STATE_ID_SOURCE_H_

#include <cstdint>
#include <set>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/ids.h"
#include "planner/coordinator/interfaces/terms.h"
#include "planner/coordinator/state/outbox.h"

namespace copse::coordinator {

// An IdSource never issues an id twice, nor one that another planner of the cluster has issued: every start of a
// planner has another term, which is recorded before an id of it is told, and daemons report the terms that they
// know, so that a planner whose store was lost continues above them. Thread-compatible.
class IdSource {
 public:
  // Records the term in `*outbox`, which must outlive this object. `stored` and `since` are Snapshot::term
  // and Snapshot::since, `lost_terms` is CoordinatorOptions'.
  IdSource(Outbox* outbox, uint64_t stored, uint64_t since, uint64_t lost_terms);

  // Handles a daemon's report that it knows `term`, which it may have received from this planner if `by_us`. Returns
  // true if the term shows that a planner with another store was ahead; a new term has then begun.
  bool Hear(uint64_t term, bool by_us);

  // Begins a term far above the present one, and above `known`, which a daemon knows: the store has no decision of the
  // daemons' teams.
  void LeaveStore(uint64_t known = 0);

  // Messages with the ids wait for the term's record. Errors: RESOURCE_EXHAUSTED if no term is left.
  absl::StatusOr<TeamId> NextTeam();
  // Issues `count` consecutive ids, and returns the first. Requires 0 < count < kIdsPerTerm.
  absl::StatusOr<TeamId> NextTeams(uint32_t count);
  absl::StatusOr<PlanId> NextPlan();

  uint64_t term() const { return term_; }
  // Returns whether the store has every decision that a daemon that knows `term` can know. `by_us` is as in Hear.
  bool IsRecorded(uint64_t term, bool by_us) const {
    return (since_ <= term && term <= stored_) || (by_us && terms_.count(term) != 0);
  }

 private:
  void NewTerm(uint64_t term);
  absl::StatusOr<uint64_t> Next(uint64_t* issued, uint32_t count = 1);

  Outbox* const outbox_;
  const uint64_t stored_;
  const uint64_t lost_terms_;
  uint64_t since_;
  std::set<uint64_t> terms_;  // all terms of this planner since its start
  uint64_t term_ = 0;
  uint64_t teams_ = 0, plans_ = 0;  // issued in this term
};

}  // namespace copse::coordinator

#endif  // COPSE_PLANNER_COORDINATOR_STATE_ID_SOURCE_H_
