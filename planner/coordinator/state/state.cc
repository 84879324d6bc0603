// SPDX-License-Identifier: Apache-2.0
#include "planner/coordinator/state/state.h"

#include <cstdint>
#include <map>
#include <memory>

#include "absl/strings/str_cat.h"
#include "base/log.h"

namespace copse::coordinator {

void State::Note(const Node& node, std::string what, std::string detail) {
  events.Note(Now(), absl::StrCat("node ", node.announcement.name), std::move(what), std::move(detail));
}

void State::Note(TeamId team, std::string what, std::string detail) {
  events.Note(Now(), absl::StrCat("team ", team.value()), std::move(what), std::move(detail));
}

void State::Record(const Team& team, Outbox::Done done) {
  if (team.durable()) {
    cluster->Found();
    auto record = std::make_shared<TeamRecord>(team.record);
    // The plans that are recorded are shown after a restart as they come back: others are not named.
    if (!team.is_verified) {
      if (record->plan_ids.empty()) record->plan_ids = PlanIdsIn(record->plans);
      record->plans.clear();
    }
    // A label is of use until its node has committed.
    if (team.members.AllCommitted(record->epoch)) record->outgoing.clear();
    outbox.Record(PutTeam{std::move(record)}, std::move(done));
  } else if (done) {
    done(absl::OkStatus());
  }
}

void State::NoteLost(const std::string& name, Incarnation incarnation) {
  Node* node = nodes.Find(name);
  if (node != nullptr && node->announcement.incarnation == incarnation) node->lost_at = Now();
}

void State::FailJoins(const std::vector<Join>& joins, const schedule::FailureReport& why) {
  const schedule::TeamIdentity identity = joins.empty() ? schedule::TeamIdentity() : joins.front().message.identity;
  COPSE_LOG_ABOUT(kInfo, (LogSubject{.job = identity.job}), "a team is not formed: ", why.text);
  events.Note(Now(), "a team", "not formed", why.text);
  formations.NoteUnformed(why);
  std::map<SessionId, std::vector<uint64_t>> requests;
  for (const Join& join : joins) {
    nodes.ForgetRequest(join.session, join.message.request);
    requests[join.session].push_back(join.message.request);
  }
  for (auto& [session, list] : requests)
    outbox.Send(session, schedule::Abort{TeamId{0}, EpochId{1}, why, std::move(list)});
}

void State::SettleForPlans(Team& team) {
  if (!team.quick.has_value()) return;
  timers.Cancel(team.quick->timer);
  team.quick.reset();
  plan_maker->DropBetter(team.id());
}

}  // namespace copse::coordinator
