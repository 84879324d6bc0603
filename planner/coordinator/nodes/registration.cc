// SPDX-License-Identifier: Apache-2.0
#include "planner/coordinator/nodes/registration.h"

#include <algorithm>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/log.h"
#include "base/secret.h"
#include "base/version.h"
#include "planner/coordinator/interfaces/options.h"
#include "planner/coordinator/interfaces/terms.h"
#include "protocol/log_subject.h"
#include "schedule/plan.h"

namespace copse::coordinator {
namespace {

using schedule::Failure;
using schedule::FailureReport;

constexpr size_t kNodeNameLengthMax = 253;

bool IsNodeName(const std::string& name) {
  if (name.empty() || name.size() > kNodeNameLengthMax) return false;
  return std::all_of(name.begin(), name.end(),
                     [](unsigned char c) { return absl::ascii_isalnum(c) || c == '-' || c == '_' || c == '.'; });
}

// Returns the highest term that the daemon knows. Daemons of proto 4 report none, but the ids of their teams have
// terms. Of another cluster only those of its teams matter, which are broken: it must not get their ids again.
uint64_t HighestTerm(const schedule::Register& message, bool is_of_other) {
  uint64_t term = is_of_other ? 0 : message.term;
  for (const schedule::RunningTeam& running : message.teams) term = std::max(term, TermOf(running.layout->id));
  return term;
}

// Returns whether the newer daemon of a name is the older one's successor on the same machine: the older has ended.
bool Replaces(const schedule::NodeAnnouncement& newer, const schedule::NodeAnnouncement& older) {
  return !newer.machine.empty() && newer.machine == older.machine;
}

}  // namespace

std::optional<FailureReport> Registration::RefusalOf(SessionId session, const schedule::NodeAnnouncement& node) const {
  if (!IsNodeName(node.name)) {
    return FailureReport{
        Failure::kInvalidArgument,
        absl::StrCat("not a node's name: letters, digits, '-', '_', '.' (name=", absl::CEscape(node.name), ")")};
  }
  const std::string who = absl::StrCat("node ", node.name, ": ");
  const bool shows_token = std::any_of(state_->options.join_tokens.begin(), state_->options.join_tokens.end(),
                                       [&](const std::string& token) { return SameSecret(token, node.join_token); });
  if (!state_->options.join_tokens.empty() && !shows_token) {
    return FailureReport{Failure::kPermission,
                         absl::StrCat(who, node.join_token.empty() ? "no join token" : "wrong join token")};
  }
  for (const absl::Status& status : {CheckVersion("proto", kProtoVersion, node.formats.proto),
                                     CheckVersion("plan format", kPlanFormatVersion, node.formats.plan),
                                     CheckVersion("packet", kPacketVersion, node.formats.packet)}) {
    if (!status.ok()) return FailureReport{Failure::kVersion, absl::StrCat(who, status.message())};
  }
  return NameRefusal(session, node);
}

std::optional<FailureReport> Registration::NameRefusal(SessionId session,
                                                       const schedule::NodeAnnouncement& node) const {
  const Node* known = state_->nodes.Find(node.name);
  if (known == nullptr || known->announcement.incarnation == node.incarnation) return std::nullopt;
  const Node& holder = *known;
  const auto refusal = [&](const std::string& why) {
    const std::string& from = state_->nodes.SessionOf(session).from;
    return FailureReport{Failure::kPermission,
                         absl::StrCat("node ", node.name, ": the name is another daemon's, ", why, " (from=", from,
                                      ", incarnation=", node.incarnation.value(),
                                      ", other's=", holder.from.empty() ? "unknown" : holder.from,
                                      ", other's incarnation=", holder.announcement.incarnation.value(), ")"),
                         FailureCause::kNotPermitted, node.name};
  };
  if (holder.session != 0) return refusal("which is connected");
  if (Replaces(node, holder.announcement) || holder.is_lost()) return std::nullopt;
  // A daemon that is away this long loses its name. It may have left its teams unknown to this planner, so that no
  // neighbor would ever report its end.
  if (state_->Now() - holder.away_since >= state_->options.forget_records) return std::nullopt;
  if (const Node* hearer = HearerOf(holder)) {
    return refusal(absl::StrCat("which is away, but heard by node ", hearer->announcement.name));
  }
  return std::nullopt;
}

const Node* Registration::HearerOf(const Node& node) const {
  for (const TeamId id : node.teams) {
    const Team* known = state_->teams.Find(id);
    if (known == nullptr || known->record.broken) continue;
    const Team& team = *known;
    const std::optional<uint32_t> self = team.MemberOf(node.announcement);
    if (!self.has_value() || team.members[*self].left || team.members[*self].gone) continue;
    for (uint32_t i = 0; i < team.node_count(); ++i) {
      if (team.members[i].left || team.members[i].gone || i == *self) continue;
      if (team.members[i].committed == EpochId{0}) continue;  // it has no connections for this team yet
      if (const Node* other = state_->nodes.Live(team.record.layout.nodes[i])) return other;
    }
  }
  return nullptr;
}

void Registration::OnRegister(SessionId session, const schedule::Register& message) {
  const schedule::NodeAnnouncement& announcement = message.node;
  std::optional<FailureReport> refusal = RefusalOf(session, announcement);
  if (!refusal.has_value()) refusal = adoption_->RefusalOf(message, HighestTerm(message, /*is_of_other=*/false));
  if (refusal.has_value()) {
    COPSE_LOG(kWarning, "registration refused: ", refusal->text);
    state_->outbox.Send(session, schedule::Registered{.accepted = false, .why = *refusal});
    state_->outbox.Close(session, refusal->text);
    return end_session_(session);
  }
  const bool by_us = TakeName(announcement);
  Node& node = Enter(session, announcement);
  node.report = message.report;
  node.reported_at = state_->Now();
  // Teams of another cluster are broken ones here (ClusterAdoption). It may be this one, whose store was lost.
  const bool is_foreign = state_->cluster->IsForeign(message.cluster);
  const uint64_t term = HighestTerm(message, /*is_of_other=*/is_foreign && !adoption_->MayAdopt());
  state_->nodes.SessionOf(session).has_foreign_teams = is_foreign && !message.teams.empty();
  node.all_is_recorded = state_->ids->IsRecorded(term, by_us);
  COPSE_LOG_ABOUT(kInfo, schedule::AboutNode(announcement.name), "node ", announcement.name,
                  " registered (incarnation=", announcement.incarnation.value(), ", version=", announcement.version,
                  ", teams=", message.teams.size(), ")");
  state_->Note(node, "registered", absl::StrCat("version=", announcement.version, ", teams=", message.teams.size()));
  HearTerm(term, by_us);

  const std::set<TeamId> listed = Answer(node, message, is_foreign);
  const std::set<TeamId> teams = node.teams;
  for (const TeamId id : teams) {
    Team* team = listed.count(id) == 0 ? state_->teams.Find(id) : nullptr;
    if (team == nullptr) continue;
    const std::optional<uint32_t> member = team->MemberOf(announcement);
    if (member.has_value()) reunion_->NotListed(*team, *member);
  }
  reunion_->SettleUndecided();
}

bool Registration::TakeName(const schedule::NodeAnnouncement& node) {
  Node* old = state_->nodes.Find(node.name);
  if (old == nullptr) return false;
  if (old->is_connected()) {
    const SessionId replaced = old->session;
    state_->outbox.Close(replaced, "replaced by a newer stream of the same daemon");
    end_session_(replaced);
  }
  const std::string which =
      absl::StrCat("(incarnation=", old->announcement.incarnation.value(), ", now=", node.incarnation.value(), ")");
  if (old->announcement.incarnation == node.incarnation) return old->has_registered;
  if (Replaces(node, old->announcement)) {
    ends_->NodeGone(*old, {Failure::kMemberLost, absl::StrCat("node ", node.name, " restarted ", which),
                           FailureCause::kNodeRestarted, node.name});
  } else {
    COPSE_LOG_ABOUT(kWarning, schedule::AboutNode(node.name), "node ", node.name, ": another daemon has this name now ",
                    which);
    // The older daemon may still run, with its teams; it counts as away.
    for (const TeamId id : std::exchange(old->teams, {})) state_->teams.At(id).nameless_since = state_->Now();
    state_->sweep.Later();
  }
  return false;
}

Node& Registration::Enter(SessionId session, const schedule::NodeAnnouncement& announcement) {
  Node& node = state_->nodes.FindOrAdd(announcement.name).first;
  if (node.announcement.incarnation != announcement.incarnation) {
    // This daemon may have had the name before, and be a member of teams.
    for (const auto& [id, team] : state_->teams.all()) {
      if (team.MemberOf(announcement).has_value()) node.teams.insert(id);
    }
  }
  Session& entry = state_->nodes.SessionOf(session);
  node.announcement = announcement;
  node.announcement.join_token.clear();
  node.session = session;
  node.from = entry.from;
  node.has_registered = true;
  node.stopping = false;
  node.lost_at = absl::InfinitePast();
  node.differs_since.clear();
  state_->timers.Cancel(entry.register_timer);
  entry.node = announcement.name;
  return node;
}

std::set<TeamId> Registration::Answer(Node& node, const schedule::Register& message, bool is_foreign) {
  const std::string& name = node.announcement.name;
  schedule::Registered registered;
  registered.accepted = true;
  registered.features = {schedule::Feature::kSilence,   schedule::Feature::kDerivedTeams,
                         schedule::Feature::kStopping,  schedule::Feature::kSubTeams,
                         schedule::Feature::kTeamsHeld, schedule::Feature::kJoinsByNode};
  registered.draining = state_->drains.Has(name);
  registered.term = state_->ids->term();
  registered.cluster = state_->cluster->uuid();
  std::set<TeamId> listed;
  std::vector<const schedule::RunningTeam*> welcome;
  for (const schedule::RunningTeam& running : message.teams) {
    const TeamId id = running.layout->id;
    if (!listed.insert(id).second) continue;
    const Standing standing = is_foreign ? Standing::kForgotten : reunion_->StandingOf(running, message.node);
    if (standing == Standing::kWelcome) welcome.push_back(&running);
    if (standing == Standing::kForgotten) registered.forgotten.push_back(id);
    if (standing == Standing::kUnfit) {
      COPSE_LOG_ABOUT(kWarning, schedule::AboutTeam(id, running.layout->identity, name), "node ", name, ": team ",
                      id.value(), " (", schedule::DescribeTeam(running.layout->identity),
                      ") is left alone: its id is another team's, or it is none");
    }
  }
  state_->outbox.Send(node.session, registered);
  // Daemons of proto 4 ignore Registered::draining.
  if (registered.draining) state_->outbox.Send(node.session, schedule::Drain{true});
  for (const schedule::RunningTeam* running : welcome) reunion_->TakeUp(node, *running);
  return listed;
}

void Registration::HearTerm(uint64_t term, bool by_us) {
  if (!state_->ids->Hear(term, by_us)) return;
  COPSE_LOG(kWarning, "daemons know of a planner whose decisions are not in this store (term=", term,
            ", now=", state_->ids->term(), ")");
  formation_->Settle();
}

}  // namespace copse::coordinator
