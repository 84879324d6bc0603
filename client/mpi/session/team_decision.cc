// SPDX-License-Identifier: Apache-2.0
#include "client/mpi/session/team_decision.h"

#include <algorithm>

namespace copse::mpi {
namespace {

// After this many calls a communicator gets a team whatever they have cost, which is the same in every run.
constexpr uint64_t kCallsBeforeOrder = 16384;

// After a team could not be formed, ranks check at the latest after this many calls whether to try again.
constexpr uint64_t kCallsBeforeRetry = 1024;

}  // namespace

bool TeamDecision::Count(uint64_t first_look, bool weighs, bool may_wait) {
  if (calls_ == 0) look_at_ = first_look;
  const uint64_t before = calls_++;
  is_final_ |= may_wait && before >= (weighs ? kCallsBeforeOrder : look_at_);
  return may_wait && before >= look_at_;
}

void TeamDecision::Postpone() { look_at_ = std::min(2 * calls_, std::max(calls_, kCallsBeforeOrder)); }

void TeamDecision::OnNoTeam() {
  has_failed_ = true;
  look_at_ = calls_ + std::min(calls_, kCallsBeforeRetry);
}

}  // namespace copse::mpi
