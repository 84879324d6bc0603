// SPDX-License-Identifier: Apache-2.0
#include "planner/coordinator/random/history.h"

#include "gtest/gtest.h"

namespace copse::coordinator {

void History::Check() const {
  for (const auto& [key, history] : epochs) {
    const auto& [id, name, epoch] = key;
    const bool sub_team = sub_teams.count(id) != 0;
    // A sub-team is not recorded: when the planner dies while it forms, it ends broken for the daemons that received
    // their Commit.
    if (!sub_team && !history.committed.empty() && !history.aborted.empty()) {
      ADD_FAILURE() << "team " << id.value() << " epoch " << epoch.value() << " is committed and aborted";
    }
    if (history.first_calls.size() > 1 || history.plan_hashes.size() > 1) {
      ADD_FAILURE() << "team " << id.value() << ": nodes differ in first call or plans";
    }
  }
  for (const auto& [attempt, team] : formed_attempts) {
    if (failed_attempts.count(attempt) != 0) {
      ADD_FAILURE() << "derived team " << team.value() << " of team " << attempt.first.first.value() << ", attempt "
                    << attempt.second << ", was formed at a node, and failed at another one";
    }
  }
}

bool History::AreOfTwoClusters(const schedule::TeamLayout& one, const schedule::TeamLayout& other) const {
  return issuers.at({one.id, one.identity.name}) != issuers.at({other.id, other.identity.name});
}

}  // namespace copse::coordinator
