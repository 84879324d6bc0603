// SPDX-License-Identifier: Apache-2.0
//
// Inside the coordinator. coordinator.cc has sessions, nodes.cc what is known of nodes, registration.cc what a daemon's
// return settles, teams.cc formation, epochs and ends of teams, silence.cc who is cut off, companions.cc what
// companions have besides, plans.cc the index of plans, administration.cc the rest.
#ifndef COPSE_PLANNER_COORDINATOR_COORDINATOR_IMPL_H_
#define COPSE_PLANNER_COORDINATOR_COORDINATOR_IMPL_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "planner/coordinator/coordinator.h"
#include "planner/coordinator/id_source.h"
#include "planner/coordinator/inquiry.h"
#include "planner/coordinator/join_table.h"
#include "planner/coordinator/timer_queue.h"

namespace copse::coordinator {

// How many ended teams are remembered, in case a daemon that missed the end comes back with one.
inline constexpr size_t kEndedTeamsMax = 65536;

// How many joins of a session are remembered.
inline constexpr size_t kRequestsMax = 4096;

class Coordinator::Impl {
 public:
  Impl(const Clock* clock, Store* store, PlanMaker* plan_maker, SessionSink* sink, CoordinatorOptions options);

  absl::Status Start();
  void SetLive(const CoordinatorOptions& options);
  void OnConnected(SessionId session, const std::string& from);
  void OnMessage(SessionId session, const schedule::FromDaemon& message);
  void OnDisconnected(SessionId session);
  void Tick(absl::Time heard);
  absl::Time NextDeadline() const;

  std::vector<NodeInfo> Nodes() const;
  absl::StatusOr<NodeInfo> FindNode(const std::string& name) const;
  std::vector<TeamInfo> Teams() const;
  absl::StatusOr<TeamInfo> FindTeam(TeamId team) const;
  std::vector<PlanInfo> Plans() const;
  absl::StatusOr<PlanInfo> FindPlan(PlanId plan) const;
  absl::StatusOr<PlanExplanation> Explain(PlanId plan) const;
  absl::StatusOr<std::vector<std::string>> CriticalPath(PlanId plan) const;
  absl::Status SetDraining(const std::string& node, bool draining);
  absl::Status RemoveNode(const std::string& name);
  absl::Status BreakTeam(TeamId team, const std::string& why);
  void ReplanTeam(TeamId team, const PlanOptions& options, std::function<void(const absl::Status&)> done,
                  absl::Duration patience);
  void QueryStatus(const std::vector<std::string>& nodes, absl::Duration timeout,
                   std::function<void(const StatusAnswer&)> done, bool latencies);
  void QueryTrace(const std::string& node, schedule::TraceQuery query, absl::Duration timeout,
                  std::function<void(const absl::StatusOr<TraceAnswer>&)> done);
  void Measure(const std::string& from, const std::string& to, const MeasureLimits& limits,
               std::function<void(const absl::StatusOr<schedule::MeasureReply>&)> done);
  std::vector<CollectiveInfo> MergeCalls(const StatusAnswer& answer) const;

 private:
  struct Session {
    std::string from;  // the other end's address
    std::string node;  // empty: not registered
    TimerId register_timer;
    // Joins that came and were not aborted; the newest kRequestsMax. A daemon says its joins again when it is
    // Registered, also those that it said just before it knew.
    std::set<uint64_t> requests;
  };

  // One start of one daemon: the one that has its name. Others that had it before may be members of teams still; they
  // are away.
  struct Node {
    schedule::NodeAnnouncement announcement;
    SessionId session = 0;         // 0: no stream
    std::string from;              // the address of its last stream
    bool has_registered = false;   // with this coordinator
    bool all_is_recorded = false;  // the store has every decision that it may know of
    bool stopping = false;         // it takes no new teams, and ends
    absl::Time away_since;
    absl::Time lost_at = absl::InfinitePast();  // when others said that it is gone
    std::set<TeamId> teams;                     // that this incarnation is a member of

    // Others may notice before its stream ends. What they said long before that was of something else.
    bool is_lost() const { return session == 0 && lost_at > away_since - absl::Minutes(1); }
  };

  // A node of a team. In the end every member has left or is gone, and the team ends.
  struct Member {
    bool left = false;   // all its ranks have destroyed the team
    bool gone = false;   // restarted, stopped or removed: it will not come back
    bool known = false;  // `committed` and `prepared` are what the daemon said to this coordinator
    EpochId committed{0};
    // An epoch that waits for the others to come back: one of them may know that it was decided. 0: none.
    EpochId prepared{0};
  };

  // An epoch that was prepared and is not decided.
  struct Change {
    EpochId epoch{0};
    std::vector<std::string> plans;
    std::vector<Join> joins;                             // first epoch: by rank
    std::map<uint32_t, schedule::PrepareReply> replies;  // by node index
    TimerId timer;
    std::function<void(const absl::Status&)> done;  // may be null
  };

  struct Team {
    TeamRecord record;  // epoch 0: nothing decided yet
    std::vector<Member> members;
    std::optional<Change> change;
    std::function<void(const absl::Status&)> settled;  // of the decided epoch; may be null
    absl::Time nameless_since;                         // when another daemon got the name of a member, last
    std::vector<PlanId> plan_ids;                      // in the index
    size_t verified = 0;                               // plans of an adopted team that have passed
    bool is_verified = true;                           // false: its plans are not looked at yet

    TeamId id() const { return record.layout.id; }
    bool durable() const { return IsDurable(record.layout); }
    uint32_t node_count() const { return static_cast<uint32_t>(record.layout.nodes.size()); }
  };

  // What a daemon says of a team that it has prepared and does not run yet.
  struct Undecided {
    schedule::RunningTeam running;
    absl::Time since;
  };

  // A companion that a daemon has asked for. Lives as long as its team.
  struct Companion {
    TeamId id{0};                 // 0: neither there nor being formed
    uint64_t failed = 0;          // attempts
    schedule::FailureReport why;  // of the last one
    std::vector<Join> waiting;    // for nodes that are away
    TimerId timer;                // looks again
  };
  using CompanionKey = std::pair<TeamId, Family>;

  // Is it in the store? Sub-teams are not: they are many, and short-lived.
  static bool IsDurable(const schedule::TeamLayout& layout) { return !schedule::IsSubTeam(layout); }

  // --- coordinator.cc: sessions ---
  void ProtocolError(SessionId session, const std::string& what);
  Node* NodeOf(SessionId session);

  // --- nodes.cc ---
  void StreamEnded(SessionId session);                    // of a registered session
  Node& NodeOfMember(const Team& team, uint32_t member);  // away, if it is new
  void NodeAway(Node& node);                              // it has no stream
  // Its daemon is no more: ends its part in its teams, and breaks those that it had not left.
  void NodeGone(Node& node, const schedule::FailureReport& why);
  void OnStopping(SessionId session, const schedule::Stopping& message);
  // A daemon says that another one is gone, which the planner does not hear either.
  void NoteLost(const std::string& name, Incarnation incarnation);
  // Collects, in a while, what members that are away leave. Set again as long as there are any.
  void CollectLater();
  void Collect();
  // Whether its members are all away for forget_records. Then its record is dropped, and nobody is told: a daemon that
  // comes back with the team is adopted.
  bool IsAbandoned(const Team& team) const;
  bool MayComeBack(const Team& team) const;  // whether a member is away
  void DropRecord(TeamId id);
  const Node* LiveNode(const schedule::TeamNode& member) const;  // with a stream, and that incarnation; or null
  void SendTo(const schedule::TeamNode& member, const schedule::ToDaemon& message);

  // --- registration.cc ---
  void OnRegister(SessionId session, const schedule::Register& message);
  std::optional<schedule::FailureReport> RefusalOf(SessionId session, const schedule::NodeAnnouncement& node) const;
  // The daemon that has the name of another one is that one's successor: on its machine, so that the older is no more.
  static bool Replaces(const schedule::NodeAnnouncement& newer, const schedule::NodeAnnouncement& older);
  // A connected node that runs a team with this one, whose stream is gone; or null.
  const Node* HearerOf(const Node& node) const;
  enum class Standing {
    kWelcome,    // known, or to be adopted
    kForgotten,  // it is over for this node
    kUnfit       // it is not as a team can be, or its id is another team's: it is left alone
  };
  Standing StandingOf(const schedule::RunningTeam& running, const schedule::NodeAnnouncement& node) const;
  void TakeUp(Node& node, const schedule::RunningTeam& running);
  void Reconcile(Team& team, uint32_t member, const schedule::RunningTeam& running);
  // A store that was lost or is older than the team does not know its last epoch; the daemon does.
  void CatchUp(Team& team, const schedule::RunningTeam& running);
  // Once all members are back, a prepared epoch that none of them has was never decided.
  void SettlePrepared(Team& team);
  // Breaks a team some of whose nodes wait for an epoch that nobody can tell them any more.
  void BreakIfUntold(Team& team);
  void Adopt(const schedule::RunningTeam& running, const std::string& by);
  // Teams that daemons have prepared, and that the store would not have if they were decided: those that run them tell
  // their neighbors, and, once they come back, the planner.
  void SettleUndecided();
  // Whether all who might run a team are here, or will not come.
  bool AllAreHeard(const schedule::TeamLayout& layout) const;
  void AbortForGood(const schedule::TeamNode& who, const schedule::Abort& abort);
  void NotListed(Team& team, uint32_t member);

  // --- teams.cc ---
  void OnJoin(SessionId session, const schedule::JoinTeam& message);
  void OnCancelJoin(SessionId session, const schedule::CancelJoin& message);
  void OnPrepareReply(Node& node, const schedule::PrepareReply& message);
  void OnCommitReply(Node& node, const schedule::CommitReply& message);
  void OnLeaveTeam(Node& node, const schedule::LeaveTeam& message);
  void OnTeamBroken(Node& node, const schedule::TeamBroken& message);
  void OnEpochQuery(Node& node, const schedule::EpochQuery& message);
  void Act(Gathered gathered);
  void Form(std::vector<Join> joins);
  absl::StatusOr<schedule::TeamLayout> MakeLayout(const std::vector<Join>& joins);
  absl::StatusOr<std::vector<std::string>> MakePlans(const schedule::TeamLayout& layout, const PlanOptions& options);
  void ForgetRequest(const Join& join);
  void FailJoins(const std::vector<Join>& joins, const schedule::FailureReport& why);
  void StartFirstEpoch(schedule::TeamLayout layout, Change change);
  void StartChange(Team& team, Change change);
  // May end the team. `again`: what was wrong passes, so if it is a companion that forms, daemons shall ask again.
  void AbortChange(Team& team, const schedule::FailureReport& why, bool again = false);
  void Decide(Team& team);
  void SendCommit(Team& team, uint32_t member);
  void CheckSettled(Team& team);
  void ReplanUntil(TeamId id, const PlanOptions& options, std::function<void(const absl::Status&)> done,
                   absl::Time until);
  void Replan(TeamId team, const PlanOptions& options, std::function<void(const absl::Status&)> done);
  void Break(Team& team, const schedule::FailureReport& why, const Node* reporter = nullptr);
  void MarkLeft(Team& team, uint32_t member);
  bool MaybeEnd(Team& team);  // true: the team is no more
  void Forget(TeamId id, bool has_ended = true);
  static std::optional<uint32_t> MemberIndex(const Team& team, const schedule::NodeAnnouncement& node);
  Team* TeamOf(TeamId id);
  absl::Status SaveIfDurable(const Team& team);
  void NoteMachines(TeamRecord& record) const;  // of the members that are here
  // New ids wait, and joins with them: daemons that know of a higher term may not have come back yet.
  bool settles() const { return clock_->Now() < settled_at_; }
  void HearTerm(uint64_t term, bool by_us);

  // --- silence.cc ---
  void OnNeighbourSilent(Node& node, const schedule::NeighbourSilent& message);
  void JudgeSilence(const DaemonPair& link);
  void BreakBySilence(Team& team, const LinkVerdict& verdict);

  // --- plans.cc ---
  void IndexPlans(TeamId id, Team& team);
  void ForgetPlans(Team& team);
  // What a daemon says that a team's plans are is checked a plan at a time, in turns of their own.
  void VerifyLater(TeamId id);
  void VerifyNext(TeamId id);

  // --- companions.cc ---
  void OnCompanionJoin(Join join);
  std::optional<schedule::FailureReport> CompanionRefusal(const Join& join);
  void FormCompanion(const CompanionKey& key);
  absl::StatusOr<schedule::TeamLayout> CompanionLayout(const schedule::TeamLayout& parent, const CompanionKey& key);
  void FailCompanion(const CompanionKey& key, const schedule::FailureReport& why);
  // A companion's first epoch was aborted.
  void CompanionAborted(const schedule::TeamLayout& layout, const schedule::FailureReport& why, bool again);
  void NoteCompanion(const schedule::TeamLayout& layout);  // it is there: from the store, or adopted
  void DropCompanionJoins(SessionId session);
  void ForgetCompanions(const schedule::TeamLayout& layout);  // of a team that is forgotten, or a companion that is
  // A team and its companions break together.
  void BreakLinked(const schedule::TeamLayout& layout, const schedule::FailureReport& why, const Node* reporter);
  std::vector<TeamId> CompanionsOf(TeamId team) const;

  // --- administration.cc ---
  struct Query {
    std::set<std::string> waiting;
    StatusAnswer answer;
    TimerId timer;
    std::function<void(const StatusAnswer&)> done;
  };
  struct PendingTrace {
    std::string node;
    absl::Time asked;
    TimerId timer;
    std::function<void(const absl::StatusOr<TraceAnswer>&)> done;
  };
  struct PendingMeasure {
    std::string from, to;
    TimerId timer;
    std::function<void(const absl::StatusOr<schedule::MeasureReply>&)> done;
  };
  void OnMeasureReply(Node& node, const schedule::MeasureReply& message);
  void FinishMeasure(uint64_t query, const absl::StatusOr<schedule::MeasureReply>& answer);
  void OnTraceReply(Node& node, const schedule::TraceReply& message);
  void FinishTrace(uint64_t query, const absl::StatusOr<TraceAnswer>& answer);
  void OnStatusReply(Node& node, const schedule::StatusReply& message);
  void NodeSilent(const std::string& node);  // it will not answer any more
  void FinishQuery(uint64_t query);
  NodeInfo InfoOf(const Node& node) const;
  TeamInfo InfoOf(const Team& team) const;
  std::vector<PlanInfo> PlansOf(const Team& team) const;

  const Clock* clock_;
  Store* store_;
  PlanMaker* plan_maker_;
  SessionSink* sink_;
  CoordinatorOptions options_;

  TimerQueue timers_;
  JoinTable joins_;
  Inquiry silences_;
  std::map<SessionId, Session> sessions_;
  std::map<std::string, Node> nodes_;
  std::map<TeamId, Team> teams_;
  std::map<TeamId, std::map<std::string, Undecided>> undecided_;  // by the nodes' names
  std::map<CompanionKey, Companion> companions_;                  // by their team
  std::set<TeamId> ended_;                                        // by this coordinator; the newest kEndedTeamsMax
  std::set<std::string> draining_;
  std::map<uint64_t, Query> queries_;
  std::map<uint64_t, PendingTrace> traces_;
  std::map<uint64_t, PendingMeasure> measures_;
  uint64_t next_query_ = 1;
  bool collects_ = false;
  std::map<PlanId, TeamId> teams_of_plans_;
  std::optional<IdSource> ids_;  // since Start
  absl::Time started_;
  absl::Time settled_at_ = absl::InfinitePast();
  absl::Time forgiven_until_ = absl::InfinitePast();
};

}  // namespace copse::coordinator

#endif  // COPSE_PLANNER_COORDINATOR_COORDINATOR_IMPL_H_
