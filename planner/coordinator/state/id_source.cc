// SPDX-License-Identifier: Apache-2.0
#include "planner/coordinator/state/id_source.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace copse::coordinator {

IdSource::IdSource(Outbox* outbox, uint64_t stored, uint64_t since, uint64_t lost_terms)
    : outbox_(outbox), stored_(stored), lost_terms_(lost_terms), since_(since) {
  NewTerm(stored + 1);
}

void IdSource::NewTerm(uint64_t term) {
  term_ = term;
  terms_.insert(term);
  teams_ = plans_ = 0;
  outbox_->Record(PutTerm{term, since_});
}

bool IdSource::Hear(uint64_t term, bool by_us) {
  if (IsRecorded(term, by_us) || term < term_ || term > kTermBelievedMax) return false;
  since_ = term + lost_terms_;
  NewTerm(since_);
  return true;
}

void IdSource::LeaveStore(uint64_t known) {
  since_ = std::max(term_, known > kTermBelievedMax ? 0 : known) + lost_terms_;
  NewTerm(since_);
}

absl::StatusOr<uint64_t> IdSource::Next(uint64_t* issued, uint32_t count) {
  if (*issued + count >= kIdsPerTerm) NewTerm(term_ + 1);
  if (term_ > kTermMax) {
    return absl::ResourceExhaustedError(absl::StrCat("no ids are left (term=", term_, ", limit=", kTermMax, ")"));
  }
  const uint64_t first = *issued + 1;
  *issued += count;
  return term_ * kIdsPerTerm + first;
}

absl::StatusOr<TeamId> IdSource::NextTeam() {
  ASSIGN_OR_RETURN(const uint64_t id, Next(&teams_));
  return TeamId{id};
}

absl::StatusOr<TeamId> IdSource::NextTeams(uint32_t count) {
  ASSIGN_OR_RETURN(const uint64_t first, Next(&teams_, count));
  return TeamId{first};
}

absl::StatusOr<PlanId> IdSource::NextPlan() {
  ASSIGN_OR_RETURN(const uint64_t id, Next(&plans_));
  return PlanId{id};
}

}  // namespace copse::coordinator
