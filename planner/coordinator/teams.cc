// SPDX-License-Identifier: Apache-2.0
//
// Forms teams, switches their epochs, breaks and ends them.
#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "base/string_view.h"
#include "base/units.h"
#include "planner/coordinator/coordinator.h"
#include "schedule/plan.h"

namespace copse::coordinator {
namespace {

using schedule::Failure;
using schedule::FailureReport;

// A switch that is blocked is tried at this interval, since a team is formed, or switched, within milliseconds.
constexpr absl::Duration kReplanAgain = absl::Milliseconds(100);

// While commits have failed for so long, joins are refused instead of waiting.
constexpr absl::Duration kStorePatience = absl::Seconds(5);

// Returns what is wrong with the labels that node index `self` has issued, or "" if they are valid.
std::string LabelMistake(const std::vector<schedule::EdgeLabel>& labels, uint32_t self, uint32_t node_count) {
  std::set<uint32_t> seen;
  for (const schedule::EdgeLabel& label : labels) {
    const uint32_t neighbor = label.neighbor.value();
    if (neighbor >= node_count || neighbor == self) {
      return absl::StrCat("label for node index ", neighbor, " (own=", self, ", nodes=", node_count, ")");
    }
    if (!seen.insert(neighbor).second) return absl::StrCat("two labels for node index ", neighbor);
  }
  return "";
}

FailureReport NotRecorded(const absl::Status& why) {
  return {Failure::kInternal, absl::StrCat("the planner could not record the decision: ", why.message())};
}

// Returns whether `from` sends to `to` in any call of the plan. They are neighbors.
bool Sends(const schedule::Plan& plan, uint32_t from, uint32_t to) {
  if (plan.kind != schedule::PlanKind::kExchange) return true;  // at least credit is sent in both directions
  return std::any_of(plan.steps[from].begin(), plan.steps[from].end(),
                     [&](const schedule::ExchangeStep& step) { return step.send_to == to; });
}

}  // namespace

// --- Formation ---

void Coordinator::OnJoin(SessionId session, const schedule::JoinTeam& message) {
  std::set<uint64_t>& requests = sessions_.at(session).requests;
  if (requests.count(message.request) != 0) return;
  Join join{session, sessions_.at(session).node, message};
  if (requests.size() >= kRequestsMax) {
    schedule::FailureReport why{Failure::kNoResource,
                                absl::StrCat("too many joins of node ", join.node, " wait (limit=", kRequestsMax, ")"),
                                FailureCause::kQuota, join.node, join.message.rank};
    why.limit = kRequestsMax;
    if (schedule::IsDerivedTeam(message.identity)) return FailJoins({join}, why);
    return Act(joins_.Refuse(join, std::move(why)));
  }
  requests.insert(message.request);
  if (schedule::IsDerivedTeam(message.identity)) return OnDerivedTeamJoin(std::move(join));
  const auto refuse = [&](Failure failure, const std::string& text, FailureCause cause) {
    Act(joins_.Refuse(join, {failure, text, cause, join.node, join.message.rank}));
  };
  if (nodes_.at(join.node).stopping || draining_.count(join.node) != 0) {
    return refuse(Failure::kNoResource, absl::StrCat("node ", join.node, " is draining"), FailureCause::kNodeDraining);
  }
  if (message.parent == TeamId{0} && outbox_.failing_for() > kStorePatience)
    return Act(joins_.Refuse(join, NotRecorded(outbox_.error())));
  if (message.parent != TeamId{0}) {
    const Team* parent = TeamOf(message.parent);
    const std::string name = absl::StrCat("parent team ", message.parent.value());
    if (parent == nullptr || parent->record.epoch == EpochId{0}) {
      return refuse(Failure::kInvalidArgument, absl::StrCat(name, " is not known"), FailureCause::kBadArgument);
    }
    if (parent->record.broken) {
      FailureReport why = parent->record.why;
      why.failure = Failure::kMemberLost;
      why.text = absl::StrCat(name, " is broken: ", why.text);
      return Act(joins_.Refuse(join, std::move(why)));
    }
    if (!MemberIndex(*parent, nodes_.at(join.node).announcement).has_value()) {
      return refuse(Failure::kInvalidArgument, absl::StrCat(name, " has no rank on node ", join.node),
                    FailureCause::kBadArgument);
    }
  }
  Act(joins_.Add(std::move(join), clock_->Now(), options_.team_formation_timeout));
}

void Coordinator::OnCancelJoin(SessionId session, const schedule::CancelJoin& message) {
  Gathered gathered = joins_.Cancel(session, message.request, message.why);
  if (gathered.state == Gathered::State::kFailed) return Act(std::move(gathered));
  for (const TeamId id : nodes_.at(sessions_.at(session).node).teams) {
    Team& team = teams_.at(id);
    if (!team.change.has_value()) continue;
    for (const Join& join : team.change->joins) {
      if (join.session != session || join.message.request != message.request) continue;
      return AbortChange(team, WentAway(join, message.why));
    }
  }
}

void Coordinator::Act(Gathered gathered) {
  switch (gathered.state) {
    case Gathered::State::kWaiting:
      return;
    case Gathered::State::kComplete:
      return Form(std::move(gathered.joins));
    case Gathered::State::kFailed:
      return FailJoins(gathered.joins, gathered.why);
  }
}

void Coordinator::ForgetRequest(const Join& join) {
  const auto it = sessions_.find(join.session);
  if (it != sessions_.end()) it->second.requests.erase(join.message.request);
}

void Coordinator::FailJoins(const std::vector<Join>& joins, const FailureReport& why) {
  COPSE_LOG(kInfo, "a team is not formed: ", why.text);
  events_.Note(clock_->Now(), "a team", "not formed", why.text);
  formations_.NoteUnformed(why);
  std::map<SessionId, std::vector<uint64_t>> requests;
  for (const Join& join : joins) {
    ForgetRequest(join);
    requests[join.session].push_back(join.message.request);
  }
  for (auto& [session, list] : requests)
    outbox_.Send(session, schedule::Abort{TeamId{0}, EpochId{1}, why, std::move(list)});
}

absl::StatusOr<schedule::TeamLayout> Coordinator::MakeLayout(const std::vector<Join>& joins) {
  schedule::TeamLayout layout;
  layout.identity = joins[0].message.identity;
  layout.parent = joins[0].message.parent;
  layout.window = options_.window;
  std::map<std::string, uint32_t> index_of;
  std::vector<uint32_t> ranks;  // by node
  for (const Join& join : joins) {
    const auto [it, is_new] = index_of.emplace(join.node, static_cast<uint32_t>(layout.nodes.size()));
    if (is_new) {
      const schedule::NodeAnnouncement& node = nodes_.at(join.node).announcement;
      layout.nodes.push_back({node.name, node.incarnation, node.worker_address});
      ranks.push_back(0);
    }
    if (++ranks[it->second] > schedule::kLocalRanksMax) {
      return absl::ResourceExhaustedError(
          absl::StrCat("node ", join.node, ": more than ", schedule::kLocalRanksMax, " ranks of one team"));
    }
    layout.shape.node_of_rank.push_back(NodeIndex{it->second});
  }
  layout.shape.node_count = static_cast<uint32_t>(layout.nodes.size());
  ASSIGN_OR_RETURN(layout.id, ids_->NextTeam());
  return layout;
}

absl::StatusOr<std::vector<std::string>> Coordinator::Encode(std::vector<schedule::Plan> plans) {
  std::vector<std::string> encoded;
  for (schedule::Plan& plan : plans) {
    ASSIGN_OR_RETURN(plan.id, ids_->NextPlan());
    encoded.push_back(schedule::EncodePlan(plan));
  }
  return encoded;
}

void Coordinator::MakePlans(const schedule::TeamLayout& layout, const PlanOptions& options, EncodedPlansDone done) {
  plan_maker_->MakePlansLater(layout, options,
                              [this, done = std::move(done)](absl::StatusOr<std::vector<schedule::Plan>> plans) {
                                if (!plans.ok()) return done(plans.status());
                                done(Encode(*std::move(plans)));
                              });
}

void Coordinator::Form(std::vector<Join> joins) {
  absl::StatusOr<schedule::TeamLayout> layout = MakeLayout(joins);
  if (!layout.ok()) return FailJoins(joins, schedule::ReportOf(layout.status()));
  StartFirstEpoch(*std::move(layout), std::move(joins));
}

void Coordinator::StartFirstEpoch(schedule::TeamLayout layout, std::vector<Join> joins) {
  const TeamId id = layout.id;
  Team& team = teams_[id];
  team.record.layout = std::move(layout);
  team.members.Assign(team.record.layout.nodes);
  for (const schedule::TeamNode& member : team.record.layout.nodes) nodes_.at(member.name).teams.insert(id);
  team.record.prepared = EpochId{1};
  Change change;
  change.epoch = team.record.prepared;
  change.joins = std::move(joins);
  change.begun = clock_->Now();
  std::optional<FirstPlans> first = plan_maker_->QuickPlans(team.record.layout);
  change.is_quick = first.has_value() && first->may_be_better;
  team.change = std::move(change);
  if (first.has_value()) {
    absl::StatusOr<std::vector<std::string>> plans = Encode(std::move(first->plans));
    if (!plans.ok()) return AbortChange(team, schedule::ReportOf(plans.status()));
    team.change->plans = *std::move(plans);
    return SendPrepare(team);
  }
  MakePlans(team.record.layout, PlanOptions{}, [this, id](absl::StatusOr<std::vector<std::string>> plans) {
    Team* planned = TeamOf(id);
    if (planned == nullptr) return;  // it was aborted meanwhile
    if (!plans.ok()) return AbortChange(*planned, schedule::ReportOf(plans.status()));
    planned->change->plans = *std::move(plans);
    SendPrepare(*planned);
  });
}

// --- Epochs ---

std::vector<std::vector<const Join*>> Coordinator::JoinsByMember(const Team& team,
                                                                 const std::vector<Join>& joins) const {
  std::vector<std::vector<const Join*>> by_member(team.node_count());
  for (const Join& join : joins) {
    const auto node = nodes_.find(join.node);
    if (node == nodes_.end()) continue;
    if (const auto member = MemberIndex(team, node->second.announcement)) by_member[*member].push_back(&join);
  }
  return by_member;
}

void Coordinator::SendPrepare(Team& team) {
  const TeamId id = team.id();
  team.change->is_told = true;
  const bool is_first = team.record.epoch == EpochId{0};
  const absl::Duration timeout =
      is_first ? options_.prepare_timeout : std::min(options_.prepare_timeout, options_.switch_timeout);
  team.change->timer = timers_.Set(clock_->Now() + timeout, [this, id, timeout] {
    Team& late = teams_.at(id);
    std::vector<std::string> silent;
    for (uint32_t i = 0; i < late.node_count(); ++i) {
      if (late.change->replies.count(i) == 0) silent.push_back(late.record.layout.nodes[i].name);
    }
    AbortChange(late, {.failure = Failure::kTimedOut,
                       .text = absl::StrCat("no answer to prepare within ", FormatShortDuration(timeout), " from node ",
                                            absl::StrJoin(silent, ", ")),
                       .cause = FailureCause::kNotFormedInTime,
                       .node = silent.size() == 1 ? silent.front() : "",
                       .limit = static_cast<uint64_t>(absl::ToInt64Milliseconds(timeout))});
  });

  schedule::Prepare prepare;
  prepare.layout = team.record.layout;
  prepare.epoch = team.change->epoch;
  prepare.plans = team.change->plans;
  prepare.hash = schedule::PlanHash(absl::StrJoin(prepare.plans, ""));
  prepare.has_sub_teams = prepare.epoch == EpochId{1} && HasSubTeams(team);
  const auto derived = derived_teams_.find({prepare.layout.parent, prepare.layout.identity.family});
  if (derived != derived_teams_.end()) prepare.last_failure = derived->second.why;
  const std::vector<std::vector<const Join*>> joins = JoinsByMember(team, team.change->joins);
  std::vector<PrepareMember> members;
  for (uint32_t i = 0; i < team.node_count(); ++i) {
    const Node* node = LiveNode(team.record.layout.nodes[i]);
    if (node == nullptr) continue;
    // A daemon that reported the team knew only its neighbors' addresses.
    prepare.layout.nodes[i].worker_address = node->announcement.worker_address;
    PrepareMember& member =
        members.emplace_back(PrepareMember{.session = node->session, .node = NodeIndex(i), .requests = {}});
    for (const Join* join : joins[i]) member.requests.emplace_back(join->message.request, join->message.rank);
  }
  outbox_.SendPrepare(members, std::move(prepare));
}

void Coordinator::AbortChange(Team& team, const FailureReport& why, bool again) {
  Change change = *std::move(team.change);
  team.change.reset();
  timers_.Cancel(change.timer);
  for (const Join& join : change.joins) ForgetRequest(join);
  const TeamId id = team.id();
  const schedule::TeamLayout layout = team.record.layout;
  const bool ends = team.record.epoch == EpochId{0};
  again &= ends;
  const bool is_derived = schedule::IsDerivedTeam(layout.identity);
  if (ends) formations_.NoteUnformed(why, again);
  COPSE_LOG(kInfo, "team ", id.value(), ": epoch ", change.epoch.value(), " is aborted: ", why.text);
  const std::vector<std::vector<const Join*>> joins = JoinsByMember(team, change.joins);
  for (uint32_t i = 0; i < layout.nodes.size(); ++i) {
    schedule::Abort abort{id, change.epoch, why, {}, again && !is_derived};
    // Daemons request derived teams again by themselves.
    for (const Join* join : joins[i]) {
      if (!(again && is_derived)) abort.requests.push_back(join->message.request);
    }
    SendTo(layout.nodes[i], abort);
  }
  if (ends) Forget(id);
  if (ends && is_derived) {
    // A daemon that has the Prepare requests the team again at its Abort.
    DerivedTeamAborted(layout, why, again, change.is_told ? std::vector<Join>{} : std::move(change.joins));
  }
  if (change.done) change.done(absl::AbortedError(absl::StrCat("team ", id.value(), ": ", why.text)));
}

void Coordinator::OnPrepareReply(Node& node, const schedule::PrepareReply& message) {
  Team* team = TeamOf(message.team);
  if (team == nullptr || !team->change.has_value() || !team->change->is_told || team->change->epoch != message.epoch)
    return;  // a reply for an aborted epoch
  const std::optional<uint32_t> member = MemberIndex(*team, node.announcement);
  if (!member.has_value() || team->change->replies.count(*member) != 0) return;
  const std::string who = absl::StrCat("node ", node.announcement.name);
  if (!message.accepted) {
    FailureReport why = message.why;
    if (why.failure == Failure::kNone) why.failure = Failure::kInternal;
    why.text = absl::StrCat(who, " refused: ", absl::StripPrefix(message.why.text, absl::StrCat(who, ": ")));
    if (why.node.empty()) why.node = node.announcement.name;
    return AbortChange(*team, why);
  }
  if (const std::string mistake = LabelMistake(message.incoming, *member, team->node_count()); !mistake.empty()) {
    return AbortChange(*team, {Failure::kInternal, absl::StrCat(who, " answered prepare badly: ", mistake),
                               FailureCause::kFault, node.announcement.name});
  }
  team->change->replies.emplace(*member, message);
  if (team->change->replies.size() == team->node_count()) Decide(*team);
}

void Coordinator::Decide(Team& team) {
  const Change& change = *team.change;
  TeamRecord decided = team.record;
  decided.epoch = change.epoch;
  decided.plans = change.plans;
  decided.outgoing.assign(team.node_count(), {});
  std::vector<std::set<uint32_t>> may_send(team.node_count());
  uint64_t started = 0;
  for (const auto& [member, reply] : change.replies) {
    started = std::max(started, reply.started.value());
    for (const schedule::EdgeLabel& label : reply.incoming) {
      decided.outgoing[label.neighbor.value()].push_back({NodeIndex{member}, label.label});
      may_send[label.neighbor.value()].insert(member);
    }
  }
  for (const std::string& encoded : change.plans) {
    const absl::StatusOr<schedule::Plan> plan = schedule::DecodePlan(encoded);
    if (!plan.ok()) return AbortChange(team, schedule::ReportOf(plan.status()));
    const auto neighbors = schedule::NeighborsByNode({&*plan, 1}, team.node_count());
    for (uint32_t from = 0; from < team.node_count(); ++from) {
      for (const uint32_t to : neighbors[from]) {
        if (may_send[from].count(to) != 0 || !Sends(*plan, from, to)) continue;
        const std::string& silent = team.record.layout.nodes[to].name;
        return AbortChange(
            team, {Failure::kInternal,
                   absl::StrCat("node ", silent, " issued no label for node ", team.record.layout.nodes[from].name),
                   FailureCause::kFault, silent});
      }
    }
  }
  const bool first = team.record.epoch == EpochId{0};
  decided.first_call = CallSeq{first ? 0 : started + decided.layout.window + 1};
  NoteMachines(decided);
  timers_.Cancel(change.timer);
  team.settled = change.done;
  team.unstored = Unstored{std::exchange(team.record, std::move(decided)), *std::move(team.change)};
  team.change.reset();
  team.is_verified = true;  // these plans are the planner's own
  IndexPlans(team.id(), team);
  COPSE_LOG(kInfo, "team ", team.id().value(), " (", schedule::DescribeTeam(team.record.layout.identity),
            ", ranks=", team.record.layout.shape.size(), ", nodes=", team.node_count(), "): epoch ",
            team.record.epoch.value(), " from call ", team.record.first_call.value());
  const TeamId id = team.id();
  const EpochId epoch = team.record.epoch;
  if (!schedule::IsDerivedTeam(team.record.layout.identity)) {
    events_.Note(clock_->Now(), absl::StrCat("team ", id.value()), epoch == EpochId{1} ? "formed" : "switched",
                 absl::StrCat("epoch=", epoch.value(), ", ranks=", team.record.layout.shape.size(),
                              ", nodes=", team.node_count()));
  }
  // Once this is stored, the decision is final: every daemon that queries, now or after a restart, receives Commit.
  Record(team, [this, id, epoch](const absl::Status& stored) {
    Team* decided_team = TeamOf(id);
    if (decided_team == nullptr || !decided_team->unstored.has_value() || decided_team->record.epoch != epoch) return;
    if (stored.ok()) {
      const Unstored& unstored = *decided_team->unstored;
      const bool is_quick = unstored.change.is_quick;
      if (unstored.record.epoch == EpochId{0}) formations_.NoteFormed(clock_->Now() - unstored.change.begun);
      decided_team->unstored.reset();
      SettleForPlans(*decided_team);
      if (is_quick) {
        decided_team->quick.emplace();
        SeekBetterPlans(id);
      }
    } else {
      Undecide(*decided_team, stored);
    }
  });
  if (TeamOf(id) == nullptr || team.record.epoch != epoch) return;  // there was no room
  for (uint32_t i = 0; i < team.node_count(); ++i) {
    team.members.MarkKnown(i);
    SendCommit(team, i);
  }
}

void Coordinator::Undecide(Team& team, const absl::Status& why) {
  Unstored unstored = *std::move(team.unstored);
  team.unstored.reset();
  if (team.record.broken && unstored.record.epoch != EpochId{0}) return Record(team);  // it has ended in any epoch
  // That it broke may have been recorded after its decision, and is not taken back with it.
  const std::optional<TeamId> recorded = team.record.broken && team.durable() ? std::optional(team.id()) : std::nullopt;
  team.record = std::move(unstored.record);
  team.change = std::move(unstored.change);
  team.settled = nullptr;  // the change has it
  if (team.record.epoch != EpochId{0}) {
    if (team.record.outgoing.empty()) {
      VerifyLater(team.id());
    } else {
      IndexPlans(team.id(), team);
    }
  }
  AbortChange(team, NotRecorded(why));
  if (recorded.has_value()) outbox_.Record(DropTeam{*recorded});
}

void Coordinator::SendCommit(Team& team, uint32_t member) {
  const TeamRecord& record = team.record;
  SendTo(record.layout.nodes[member],
         schedule::Commit{record.layout.id, record.epoch, record.first_call, record.outgoing[member]});
}

void Coordinator::OnCommitReply(Node& node, const schedule::CommitReply& message) {
  Team* team = TeamOf(message.team);
  if (const auto it = undecided_.find(message.team); it != undecided_.end()) {
    const auto said = it->second.find(node.announcement.name);
    // The daemon has received the Commit from its neighbors.
    if (said != it->second.end() && said->second.running.prepared_epoch == message.epoch) {
      said->second.running.epoch = message.epoch;
      said->second.running.prepared_epoch = EpochId{0};
    }
  }
  const std::optional<uint32_t> member = team == nullptr ? std::nullopt : MemberIndex(*team, node.announcement);
  if (!member.has_value() || message.epoch > team->record.epoch) return;
  team->members.Commit(*member, message.epoch);
  CheckSettled(*team);
}

void Coordinator::CheckSettled(Team& team) {
  if (team.settled && team.members.AllCommitted(team.record.epoch))
    std::exchange(team.settled, nullptr)(absl::OkStatus());
}

void Coordinator::OnEpochQuery(Node& node, const schedule::EpochQuery& message) {
  Team* team = TeamOf(message.team);
  const std::optional<uint32_t> member = team == nullptr ? std::nullopt : MemberIndex(*team, node.announcement);
  if (member.has_value() && team->change.has_value() && team->change->epoch == message.epoch)
    return;                                                                            // the answer is pending
  if (member.has_value() && message.epoch == team->members[*member].prepared) return;  // pending, see SettlePrepared
  if (member.has_value() && message.epoch == team->record.epoch && team->record.outgoing.empty()) return;
  if (member.has_value() && message.epoch == team->record.epoch && *member < team->record.outgoing.size()) {
    SendCommit(*team, *member);
    if (team->record.broken) outbox_.Send(node.session, schedule::BreakTeam{message.team, team->record.why});
    return;
  }
  outbox_.Send(node.session, schedule::Abort{message.team,
                                             message.epoch,
                                             {Failure::kMemberLost, "the planner has not decided this epoch",
                                              FailureCause::kNoPlanner},
                                             {}});
}

void Coordinator::ReplanTeam(TeamId id, const PlanOptions& options, std::function<void(const absl::Status&)> done,
                             absl::Duration patience) {
  const Family family = options.collective.has_value() ? FamilyOf(*options.collective) : Family::kCommon;
  const Team* team = TeamOf(id);
  if (team != nullptr && family != Family::kCommon && family != team->record.layout.identity.family) {
    const auto derived = derived_teams_.find({id, family});
    if (derived == derived_teams_.end() || derived->second.id == TeamId{0}) {
      return done(absl::FailedPreconditionError(
          absl::StrCat("team ", id.value(), ": has not called ", AbslView(CollectiveName(*options.collective)),
                       " yet, or another of the family ", AbslView(FamilyName(family)))));
    }
    id = derived->second.id;
  }
  ReplanUntil(id, options, std::move(done), clock_->Now() + patience);
}

void Coordinator::ReplanUntil(TeamId id, const PlanOptions& options, std::function<void(const absl::Status&)> done,
                              absl::Time until) {
  if (clock_->Now() >= until) return Replan(id, options, std::move(done));
  Replan(id, options, [this, id, options, done = std::move(done), until](const absl::Status& status) {
    const auto it = teams_.find(id);
    const bool may_pass =
        absl::IsFailedPrecondition(status) && it != teams_.end() && !it->second.record.broken && it->second.durable();
    if (!may_pass) return done(status);
    timers_.Set(std::min(clock_->Now() + kReplanAgain, until),
                [this, id, options, done, until] { ReplanUntil(id, options, done, until); });
  });
}

absl::Status Coordinator::CheckReplan(TeamId id) {
  const Team* team = TeamOf(id);
  const std::string name = absl::StrCat("team ", id.value());
  if (team == nullptr) return absl::NotFoundError(absl::StrCat(name, ": not known"));
  const auto refusal = [&](const std::string& why) {
    return absl::FailedPreconditionError(absl::StrCat(name, ": ", why));
  };
  if (team->record.broken) return refusal(absl::StrCat("broken: ", team->record.why.text));
  if (!team->durable())
    return refusal(absl::StrCat("is derived from team ", team->record.layout.parent.value(), ": replan that"));
  if (team->change.has_value())
    return refusal(team->record.epoch == EpochId{0} ? "is still forming" : "is being replanned already");
  for (uint32_t i = 0; i < team->node_count(); ++i) {
    const schedule::TeamNode& node = team->record.layout.nodes[i];
    const Member& member = team->members[i];
    if (member.left || member.gone) return refusal(absl::StrCat("node ", node.name, " has left it"));
    if (LiveNode(node) == nullptr) return refusal(absl::StrCat("node ", node.name, " is not connected"));
    if (member.committed != team->record.epoch)
      return refusal(absl::StrCat("node ", node.name, " has not confirmed epoch ", team->record.epoch.value()));
  }
  return absl::OkStatus();
}

void Coordinator::Replan(TeamId id, const PlanOptions& options, std::function<void(const absl::Status&)> done) {
  if (const absl::Status status = CheckReplan(id); !status.ok()) return done(status);
  const auto start = [this, id, done = std::move(done)](absl::StatusOr<std::vector<std::string>> plans) {
    if (!plans.ok()) return done(plans.status());
    // The team may have changed while the plans were made.
    if (const absl::Status status = CheckReplan(id); !status.ok()) return done(status);
    Team& team = *TeamOf(id);
    const EpochId epoch = ++team.record.prepared;
    Change change;
    change.epoch = epoch;
    change.plans = *std::move(plans);
    change.done = done;
    team.change = std::move(change);
    const auto is_current = [this, id, epoch] {
      const Team* changed = TeamOf(id);
      return changed != nullptr && changed->change.has_value() && changed->change->epoch == epoch;
    };
    Record(team, [this, id, is_current](const absl::Status& stored) {
      if (!stored.ok() && is_current()) AbortChange(*TeamOf(id), NotRecorded(stored));
    });
    if (is_current()) SendPrepare(team);
  };
  MakePlans(TeamOf(id)->record.layout, options, start);
}

// --- Ends ---

void Coordinator::OnLeaveTeam(Node& node, const schedule::LeaveTeam& message) {
  Team* team = TeamOf(message.team);
  if (const auto it = undecided_.find(message.team); it != undecided_.end()) {
    it->second.erase(node.announcement.name);
    if (it->second.empty()) undecided_.erase(it);
  }
  const std::optional<uint32_t> member = team == nullptr ? std::nullopt : MemberIndex(*team, node.announcement);
  if (!member.has_value()) return outbox_.Send(node.session, schedule::EndTeam{message.team});
  MarkLeft(*team, *member);
}

void Coordinator::MarkLeft(Team& team, uint32_t member) {
  const TeamId id = team.id();
  if (team.change.has_value()) {
    const std::string& name = team.record.layout.nodes[member].name;
    // Calls wait for a first epoch, and fail as they do in a team that the member left before. A switch only ends.
    const Failure failure = team.record.epoch == EpochId{0} ? Failure::kMemberLost : Failure::kCanceled;
    AbortChange(team, {failure, absl::StrCat("node ", name, " left the team"), FailureCause::kMemberLeft, name});
    if (TeamOf(id) == nullptr) return;
  }
  team.members.MarkLeft(member);
  SettlePrepared(team);
  BreakIfUntold(team);
  CheckSettled(team);
  for (const TeamId derived : DerivedTeamsOf(id)) {
    if (Team* of_it = TeamOf(derived); of_it != nullptr && !of_it->members[member].left) MarkLeft(*of_it, member);
  }
  MaybeEnd(team);
}

void Coordinator::OnTeamBroken(Node& node, const schedule::TeamBroken& message) {
  Team* team = TeamOf(message.team);
  if (team == nullptr || !MemberIndex(*team, node.announcement).has_value()) return;
  FailureReport why = message.why;
  if (why.failure == Failure::kNone) why.failure = Failure::kInternal;
  if (why.cause == FailureCause::kConnectionLost || why.cause == FailureCause::kNodeSilent) {
    for (const schedule::TeamNode& member : team->record.layout.nodes) {
      if (member.name == why.node) NoteLost(why.node, member.incarnation);
    }
  }
  Break(*team, why, &node);
}

void Coordinator::Break(Team& team, const FailureReport& why, const Node* reporter) {
  const TeamId id = team.id();
  if (team.change.has_value()) {
    AbortChange(team, why);
    if (TeamOf(id) == nullptr) return;
  }
  if (team.record.broken) return;
  team.record.broken = true;
  team.record.why = why;
  SettleForPlans(team);
  COPSE_LOG(kWarning, "team ", id.value(), " (", schedule::DescribeTeam(team.record.layout.identity),
            ") is broken: ", why.text);
  events_.Note(clock_->Now(), absl::StrCat("team ", id.value()), "broken", why.text);
  Record(team);
  for (uint32_t i = 0; i < team.node_count(); ++i) {
    const Member& member = team.members[i];
    const schedule::TeamNode& node = team.record.layout.nodes[i];
    if (!member.left && !member.gone && LiveNode(node) != reporter) SendTo(node, schedule::BreakTeam{id, why});
  }
  if (team.settled)
    std::exchange(team.settled, nullptr)(absl::DataLossError(absl::StrCat("team ", id.value(), " broke: ", why.text)));
  BreakLinked(team.record.layout, why, reporter);
}

bool Coordinator::MaybeEnd(Team& team) {
  if (!team.members.none_remains()) return false;
  const TeamId id = team.id();
  if (team.durable()) outbox_.Record(DropTeam{id});
  COPSE_LOG(kInfo, "team ", id.value(), " (", schedule::DescribeTeam(team.record.layout.identity), ") ended");
  for (const schedule::TeamNode& member : team.record.layout.nodes) SendTo(member, schedule::EndTeam{id});
  Forget(id);
  return true;
}

void Coordinator::Forget(TeamId id, bool has_ended) {
  ForgetPlans(teams_.at(id));
  SettleForPlans(teams_.at(id));
  const auto settled = std::move(teams_.at(id).settled);
  const schedule::TeamLayout layout = std::move(teams_.at(id).record.layout);
  for (const schedule::TeamNode& member : layout.nodes) {
    const auto it = nodes_.find(member.name);
    if (it != nodes_.end() && it->second.announcement.incarnation == member.incarnation) it->second.teams.erase(id);
  }
  teams_.erase(id);
  ForgetDerivedTeams(layout);
  if (has_ended) ended_.Insert(id);
  if (settled) settled(absl::DataLossError(absl::StrCat("team ", id.value(), ": its record was dropped")));
}

std::optional<uint32_t> Coordinator::MemberIndex(const Team& team, const schedule::NodeAnnouncement& node) {
  return team.members.Find(team.record.layout.nodes, node.name, node.incarnation);
}

Coordinator::Team* Coordinator::TeamOf(TeamId id) {
  const auto it = teams_.find(id);
  return it == teams_.end() ? nullptr : &it->second;
}

void Coordinator::NoteMachine(TeamRecord& record, uint32_t member) const {
  record.machines.resize(record.layout.nodes.size());
  if (const Node* node = LiveNode(record.layout.nodes[member])) record.machines[member] = node->announcement.machine;
}

void Coordinator::NoteMachines(TeamRecord& record) const {
  for (uint32_t i = 0; i < record.layout.nodes.size(); ++i) NoteMachine(record, i);
}

void Coordinator::Record(const Team& team, Outbox::Done done) {
  if (team.durable()) {
    cluster_->Found();
    outbox_.Record(PutTeam{std::make_shared<const TeamRecord>(team.record)}, std::move(done));
  } else if (done) {
    done(absl::OkStatus());
  }
}

}  // namespace copse::coordinator
