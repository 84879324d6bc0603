// SPDX-License-Identifier: Apache-2.0
//
// Defines the coordinator, the planner's state machine. It knows the nodes that registered, forms teams, switches their
// epochs, breaks them when members are lost, and serves administrators. docs/reference/control.md describes the
// protocol.
#ifndef COPSE_PLANNER_COORDINATOR_COORDINATOR_H_
#define COPSE_PLANNER_COORDINATOR_COORDINATOR_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/ids.h"
#include "planner/coordinator/call_merge.h"
#include "planner/coordinator/cluster_identity.h"
#include "planner/coordinator/ended_teams.h"
#include "planner/coordinator/event_log.h"
#include "planner/coordinator/first_plans.h"
#include "planner/coordinator/formation_counts.h"
#include "planner/coordinator/id_source.h"
#include "planner/coordinator/inquiry.h"
#include "planner/coordinator/join_table.h"
#include "planner/coordinator/member_table.h"
#include "planner/coordinator/outbox.h"
#include "planner/coordinator/plan_maker.h"
#include "planner/coordinator/session_sink.h"
#include "planner/coordinator/store.h"
#include "planner/coordinator/timer_queue.h"
#include "protocol/control.h"

namespace copse::coordinator {

struct CoordinatorOptions {
  absl::Duration team_formation_timeout = absl::Seconds(30);  // from the first join to the last
  absl::Duration prepare_timeout = absl::Seconds(10);         // from Prepare to the last PrepareReply
  // Calls beyond the window wait while a switch is undecided, so a switch has at most this time, which is shorter.
  absl::Duration switch_timeout = absl::Seconds(2);
  absl::Duration register_timeout = absl::Seconds(10);  // from connection to Register
  absl::Duration forget_records = absl::Hours(1);       // drops a team's record if all members are away this long
  absl::Duration forget_nodes = absl::Hours(24 * 30);   // drops a node in no team if it is away this long
  uint32_t window = 8;                                  // calls of a team in flight on an edge
  uint32_t team_size_max = 65536;
  uint32_t formations_max = 65536;       // teams whose joins are being gathered
  std::vector<std::string> join_tokens;  // a daemon must present one of these; empty: none required
  std::string fresh_cluster;             // UUID of the cluster if the store has none; empty: it stays without one
};

// --- State for administrators ---
struct NodeInfo {
  schedule::NodeAnnouncement announcement;
  // It is "ready"; "draining": the node takes no new teams; "away": it has no stream, but its teams may continue;
  // "lost": it has no stream, and other nodes report that its daemon is gone or cut off.
  std::string state;
  std::string why;  // why it is draining, as the administrator said
  bool connected = false;
  uint32_t ranks = 0;      // its ranks in teams without a parent
  double last_seen_s = 0;  // seconds since its stream ended; 0 while connected
};
struct TeamInfo {
  schedule::TeamLayout layout;  // while joins are gathered, only identity and parent are set
  uint32_t size = 0;
  EpochId epoch{0};
  std::vector<Rank> missing;  // ranks that have not joined, while joins are gathered
  std::string state;          // "forming", "ready", "broken"
  std::string why;            // the reason, if broken
};
struct PlanInfo {
  schedule::TeamLayout layout;
  EpochId epoch{0};
  schedule::Plan plan;
};
struct StatusAnswer {
  std::vector<schedule::DaemonStatus> nodes;  // by name
  std::vector<std::string> silent;            // nodes that have no stream, or did not reply in time; by name
};
// A TraceAnswer is a chunk of a daemon's trace, with the planner's time of the query and of the reply.
struct TraceAnswer {
  schedule::TraceReply reply;
  absl::Time asked;
  absl::Time heard;
};
// MeasureLimits bounds the cost of measuring one pair of nodes.
struct MeasureLimits {
  uint32_t pings = 100;
  absl::Duration ping_max = absl::Milliseconds(300);
  uint64_t bulk_bytes_max = 32u << 20;  // 0: latency only
  absl::Duration bulk_max = absl::Seconds(1);
  absl::Duration timeout = absl::Seconds(5);  // for the whole measurement
};
// A planner whose store was lost, or is older than the daemons' state, issues no ids until all daemons have had time to
// connect (they retry at least every 5 s) and to report the terms that they know.
inline constexpr absl::Duration kSettle = absl::Seconds(6);

// At most this many joins of a session wait.
inline constexpr size_t kRequestsMax = 16384;

// A Coordinator serves all sessions of one planner. It is single-threaded and deterministic: time comes from `*clock`,
// and the messages that it sends depend only on the calls to it. OnConnected is the first call about a session.
//
// Invariant: a team's epoch is recorded in the store before any Commit of it is sent (sub-teams are not recorded); a
// recorded epoch is never aborted while the team exists; an aborted epoch is never recorded, and its number is never
// used again; a daemon receives Commit only if all daemons of the team accepted.
class Coordinator {
 public:
  // The objects behind the pointers must outlive this one. Start is the first call.
  Coordinator(const Clock* clock, Store* store, PlanMaker* plan_maker, SessionSink* sink, CoordinatorOptions options);
  Coordinator(const Coordinator&) = delete;
  Coordinator& operator=(const Coordinator&) = delete;

  // Loads the store; the nodes of its teams are away until they register again. Errors: those of Store::Load.
  absl::Status Start();
  // Replaces time-outs and join tokens for operations that begin from now on; the other options stay.
  void SetLive(const CoordinatorOptions& options);

  // --- Sessions ---
  // Begins a session. `from` is the peer's address, for display; it may be empty.
  void OnConnected(SessionId session, const std::string& from = "");
  void OnMessage(SessionId session, const schedule::FromDaemon& message);
  void OnDisconnected(SessionId session);

  // Runs the work that is due at `heard`, a time before which all arrived messages have been passed to OnMessage. The
  // caller calls Tick when NextDeadline() is reached, which is InfiniteFuture if nothing is pending. If the call comes
  // much later, the process was stopped, and messages that arrived meanwhile may be unread: the work that is due waits
  // for another second.
  void Tick(absl::Time heard);
  absl::Time NextDeadline() const;

  // --- Administration. Errors: NOT_FOUND, FAILED_PRECONDITION, INVALID_ARGUMENT; one line each ---
  std::vector<NodeInfo> Nodes() const;  // by name
  absl::StatusOr<NodeInfo> FindNode(const std::string& name) const;
  std::vector<TeamInfo> Teams() const;  // by id
  absl::StatusOr<TeamInfo> FindTeam(TeamId team) const;
  std::vector<PlanInfo> Plans() const;  // by id
  absl::StatusOr<PlanInfo> FindPlan(PlanId plan) const;
  std::vector<schedule::Plan> PlansOfTeam(TeamId team) const;  // by id; none if the team is not known
  // These three return one row of these lists after another, for callers that let other work run in between: the first
  // after `last`, or nullopt at the end. What comes or goes meanwhile is or is not returned.
  std::optional<NodeInfo> NodeAfter(const std::string& last) const;  // "": the first one
  // `last` is a team that was returned, with id, identity and parent; null: the first one.
  std::optional<TeamInfo> TeamAfter(const schedule::TeamLayout* last) const;
  // Plans of teams for which `wanted` is false are passed over. 0: the first one.
  std::optional<PlanInfo> PlanAfter(PlanId last, const std::function<bool(const schedule::TeamLayout&)>& wanted) const;
  absl::StatusOr<PlanExplanation> Explain(PlanId plan) const;
  absl::StatusOr<std::vector<std::string>> CriticalPath(PlanId plan) const;
  // Return how many nodes and teams, derived ones included, are in each state; states that none is in are there, too.
  std::map<std::string, uint64_t> NodesByState() const;
  std::map<std::string, uint64_t> TeamsByState() const;
  const Outbox& outbox() const { return outbox_; }
  uint64_t quarantined() const { return quarantined_; }  // Snapshot::quarantined
  const FormationCounts& formations() const { return formations_; }
  uint64_t term() const { return ids_->term(); }                // of the next id; requires Start
  const ClusterIdentity& cluster() const { return *cluster_; }  // requires Start

  // Returns the daemons of `cluster` that were refused since they hold teams of it. It may be empty if all are of one.
  // Errors: NOT_FOUND if there are none, FAILED_PRECONDITION if the cluster must be named; both name the clusters.
  absl::StatusOr<ForeignTeams> FindForeign(const std::string& cluster) const;
  // Makes the planner's cluster that of these daemons, whose teams are taken over when they register again. Of the
  // former cluster's teams those whose nodes are all away are dropped, since they may have the same ids.
  void AdoptCluster(const ForeignTeams& teams);

  // What happened to nodes and teams, the last of it.
  const EventLog& events() const { return events_; }

  // `why`: why the node is to take no new teams; nullopt: it takes them again.
  void SetDraining(const std::string& node, const std::optional<std::string>& why,
                   std::function<void(const absl::Status&)> done);
  // Removes a node that an administrator declares gone for good: its teams break. Errors: NOT_FOUND;
  // FAILED_PRECONDITION if the node is connected; those of the store.
  absl::Status RemoveNode(const std::string& node);
  absl::Status BreakTeam(TeamId team, const std::string& why);
  // Switches the team, or its derived team for options.collective, to newly made plans. `done` is called once, maybe
  // before this returns: with OK when every node runs the new epoch, ABORTED when the old one continues, DATA_LOSS if
  // the team broke meanwhile, NOT_FOUND, FAILED_PRECONDITION, or an error of the PlanMaker or the store. While an
  // obstacle may pass (a node is away, another switch is in progress), the switch is retried for `patience`.
  void ReplanTeam(TeamId team, const PlanOptions& options, std::function<void(const absl::Status&)> done,
                  absl::Duration patience = absl::ZeroDuration());
  // Queries `nodes` (empty: all that are connected) for their status, with their latencies if `latencies`, and the
  // calls by each plan of the team `calls_of`. `done` is called once, at the last reply or after `timeout`, maybe
  // before this returns.
  void QueryStatus(const std::vector<std::string>& nodes, absl::Duration timeout,
                   std::function<void(const StatusAnswer&)> done, bool latencies = false, TeamId calls_of = TeamId{0});
  // Does the same, but passes each reply on as it comes, and at the end the nodes that are silent, by name. Daemons are
  // asked by and by.
  void QueryStatusOfEach(const std::vector<std::string>& nodes, absl::Duration timeout,
                         std::function<void(const schedule::DaemonStatus&)> on_status,
                         std::function<void(std::vector<std::string>)> done, bool latencies = false,
                         TeamId calls_of = TeamId{0});
  // Queries a node for a chunk of its trace; query.query is set here. `done` is called once, maybe before this returns:
  // with the chunk, or NOT_FOUND, UNAVAILABLE if the node has no stream or loses it, or DEADLINE_EXCEEDED.
  void QueryTrace(const std::string& node, schedule::TraceQuery query, absl::Duration timeout,
                  std::function<void(const absl::StatusOr<TraceAnswer>&)> done);
  // Makes the daemons of two nodes measure the path between them; `from` sends the bulk data. `done` is called once,
  // maybe before this returns: with the measurement, or INVALID_ARGUMENT if both nodes are one, NOT_FOUND, UNAVAILABLE
  // if a node has no stream or cannot reach the other, or DEADLINE_EXCEEDED.
  void Measure(const std::string& from, const std::string& to, const MeasureLimits& limits,
               std::function<void(const absl::StatusOr<schedule::MeasureReply>&)> done);
  // Returns the calls in flight, sorted by (team, awaited class, sequence). A rank is missing if no node reports that
  // it has joined, and a node reports that it has not, or its node has not replied.
  std::vector<CollectiveInfo> MergeCalls(const StatusAnswer& answer) const;
  // Removes the next call of `*merge` and returns it as MergeCalls does, or nullopt if there is none.
  std::optional<CollectiveInfo> NextCall(CallMerge* merge) const;

 private:
  struct Session {
    std::string from;  // the peer's address
    std::string node;  // empty: not registered
    TimerId register_timer;
    // Requests of the joins that were received and not aborted; at most kRequestsMax. A daemon repeats its joins when
    // it receives Registered, including those that it has just sent.
    std::set<uint64_t> requests;
  };

  // A Node is the daemon (one incarnation) that has the name at present. Daemons that had the name before may still be
  // members of teams; they are away.
  struct Node {
    schedule::NodeAnnouncement announcement;
    SessionId session = 0;         // 0: no stream
    std::string from;              // the peer's address of its last stream
    bool has_registered = false;   // true once it has registered with this coordinator
    bool all_is_recorded = false;  // true if the store has every decision that the daemon may know
    bool stopping = false;         // true if the daemon takes no new teams, and ends
    absl::Time away_since;
    absl::Time lost_at = absl::InfinitePast();  // time at which other daemons last reported it gone
    std::set<TeamId> teams;                     // teams that have this incarnation as a member

    // Other daemons may report the loss before the stream ends, but a report from long before concerned another event.
    bool is_lost() const { return session == 0 && lost_at > away_since - absl::Minutes(1); }
  };

  // A Change is an epoch that is planned, and then prepared by the members, and that is not decided.
  struct Change {
    EpochId epoch{0};
    bool is_told = false;   // false: its plans are being made
    bool is_quick = false;  // its plans are PlanMaker::QuickPlans', and may be better
    std::vector<std::string> plans;
    std::vector<Join> joins;                             // the joins that a first epoch answers; else empty
    absl::Time begun;                                    // of a first epoch
    std::map<uint32_t, schedule::PrepareReply> replies;  // by node index
    TimerId timer;
    std::function<void(const absl::Status&)> done;  // may be null
  };

  // An Unstored is a decision that the store does not have yet, and that nobody was told: the record before it, and the
  // change that was decided.
  struct Unstored {
    TeamRecord record;
    Change change;
  };

  struct Team {
    TeamRecord record;  // epoch 0: nothing decided yet
    MemberTable members;
    std::optional<Change> change;
    std::optional<Unstored> unstored;
    std::function<void(const absl::Status&)> settled;  // Change::done of the decided epoch; may be null
    absl::Time nameless_since;                         // last time at which another daemon took a member's name
    std::vector<PlanId> plan_ids;                      // the team's plans in teams_of_plans_
    size_t verified = 0;                               // number of an adopted team's plans that are verified
    bool is_verified = true;                           // false: its plans are not verified yet
    std::optional<QuickState> quick;                   // set while better plans than its own are looked for
    Shared<schedule::TeamLayout> confirmed;            // the last report of a daemon that was found to be this team

    TeamId id() const { return record.layout.id; }
    bool durable() const { return IsDurable(record.layout); }
    uint32_t node_count() const { return static_cast<uint32_t>(record.layout.nodes.size()); }
  };

  // An Undecided is a daemon's report of a team that it has prepared and does not run yet.
  struct Undecided {
    schedule::RunningTeam running;
    absl::Time since;
  };

  // A DerivedTeam is the state of a derived team that a daemon has requested. It exists as long as the parent team.
  struct DerivedTeam {
    TeamId id{0};                 // 0: neither existing nor being formed
    uint64_t failed = 0;          // number of failed attempts
    schedule::FailureReport why;  // reason of the last failed attempt
    std::vector<Join> waiting;    // joins pending while nodes are away
    TimerId timer;                // retries the formation
  };
  using DerivedTeamKey = std::pair<TeamId, Family>;

  // Returns whether the team is stored. Sub-teams are not, since they are many and short-lived.
  static bool IsDurable(const schedule::TeamLayout& layout) { return !schedule::IsSubTeam(layout); }

  // --- coordinator.cc: sessions ---
  void ProtocolError(SessionId session, const std::string& what);
  Node* NodeOf(SessionId session);

  // --- nodes.cc: state of nodes ---
  void StreamEnded(SessionId session);                    // requires a registered session
  Node& NodeOfMember(const Team& team, uint32_t member);  // adds a node that is away if the name is unknown
  void NodeAway(Node& node);                              // called when the node has no stream any more
  // Handles the end of a daemon: ends its membership in its teams, and breaks the teams that it had not left.
  void NodeGone(Node& node, const schedule::FailureReport& why);
  void OnStopping(SessionId session, const schedule::Stopping& message);
  // Records that other daemons report this one as gone. Does nothing if another incarnation has the name.
  void NoteLost(const std::string& name, Incarnation incarnation);
  // Schedules Collect, which drops old records of nodes that are away, and repeats as long as there are any.
  void CollectLater();
  void Collect();
  // Returns whether all members have been away for forget_records. The record is then dropped without notice: if a
  // daemon comes back with the team, the team is adopted.
  bool IsAbandoned(const Team& team) const;
  bool MayComeBack(const Team& team) const;  // returns whether a member is away
  void DropRecord(TeamId id);
  const Node* LiveNode(const schedule::TeamNode& member) const;  // null unless that incarnation is connected
  void SendTo(const schedule::TeamNode& member, const schedule::ToDaemon& message);

  // --- registration.cc: registrations, and what follows for the daemon's teams ---
  void OnRegister(SessionId session, const schedule::Register& message);
  std::optional<schedule::FailureReport> RefusalOf(SessionId session, const schedule::NodeAnnouncement& node) const;
  // Returns whether the newer daemon of a name is the older one's successor on the same machine: the older has ended.
  static bool Replaces(const schedule::NodeAnnouncement& newer, const schedule::NodeAnnouncement& older);
  // Returns a connected node that runs a team with this disconnected one, or null.
  const Node* HearerOf(const Node& node) const;
  enum class Standing {
    kWelcome,    // the team is known, undecided, or to be adopted
    kForgotten,  // the team has ended for this node
    kUnfit       // the report is not consistent, or the id is another team's: it is ignored
  };
  Standing StandingOf(const schedule::RunningTeam& running, const schedule::NodeAnnouncement& node);
  void TakeUp(Node& node, const schedule::RunningTeam& running);
  void Reconcile(Team& team, uint32_t member, const schedule::RunningTeam& running);
  // Adopts the epoch that a daemon runs and that the store does not have, since it was lost or is older than the team.
  void CatchUp(Team& team, const schedule::RunningTeam& running);
  // Aborts prepared epochs that no member runs, once all members have reported: these epochs were never decided.
  void SettlePrepared(Team& team);
  // Breaks the team if members wait for the Commit of an epoch whose labels neither planner nor other members have.
  void BreakIfUntold(Team& team);
  // Adopts a running team that this coordinator does not know, from the report of daemon `by`. If `has_all_reports`,
  // the other daemons that are connected have reported all their teams, so those without this one have left it.
  void Adopt(const schedule::RunningTeam& running, const std::string& by, bool has_all_reports = true);
  // Settles teams in undecided_ once all their daemons are connected, or after forget_records: a team that a daemon
  // runs continues on all, another one is aborted. The store cannot decide: it would not have these teams.
  void SettleUndecided();
  // Returns whether all daemons that might run a team are connected, or will not come back.
  bool AllAreHeard(const schedule::TeamLayout& layout) const;
  void AbortForGood(const schedule::TeamNode& who, const schedule::Abort& abort);
  void NotListed(Team& team, uint32_t member);

  // --- teams.cc: formation, epochs and ends ---
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
  // Calls `done` with encoded plans, which have ids, maybe later.
  using EncodedPlansDone = std::function<void(absl::StatusOr<std::vector<std::string>>)>;
  void MakePlans(const schedule::TeamLayout& layout, const PlanOptions& options, EncodedPlansDone done);
  absl::StatusOr<std::vector<std::string>> Encode(std::vector<schedule::Plan> plans);  // with new ids
  void ForgetRequest(const Join& join);
  void FailJoins(const std::vector<Join>& joins, const schedule::FailureReport& why);
  void StartFirstEpoch(schedule::TeamLayout layout, std::vector<Join> joins);
  void SendPrepare(Team& team);  // requires a change that has plans
  // Returns the joins of each member's ranks, by member; they point into `joins`.
  std::vector<std::vector<const Join*>> JoinsByMember(const Team& team, const std::vector<Join>& joins) const;
  // Aborts the change, which ends a team that has no other epoch. If `again`, the obstacle is transient, and such a
  // team may be requested again without a failure.
  void AbortChange(Team& team, const schedule::FailureReport& why, bool again = false);
  void Decide(Team& team);
  // Takes back the decision that the store has no room for.
  void Undecide(Team& team, const absl::Status& why);
  void SendCommit(Team& team, uint32_t member);
  void CheckSettled(Team& team);
  void ReplanUntil(TeamId id, const PlanOptions& options, std::function<void(const absl::Status&)> done,
                   absl::Time until);
  void Replan(TeamId team, const PlanOptions& options, std::function<void(const absl::Status&)> done);
  absl::Status CheckReplan(TeamId team);  // returns why the team cannot be switched now
  void Break(Team& team, const schedule::FailureReport& why, const Node* reporter = nullptr);
  void MarkLeft(Team& team, uint32_t member);
  bool MaybeEnd(Team& team);  // returns true if the team has ended; `team` is then invalid
  void Forget(TeamId id, bool has_ended = true);
  static std::optional<uint32_t> MemberIndex(const Team& team, const schedule::NodeAnnouncement& node);
  Team* TeamOf(TeamId id);
  // Records the team as it is, unless it is a sub-team. `done` is Outbox::Record's; it is called at once for a
  // sub-team.
  void Record(const Team& team, Outbox::Done done = nullptr);
  void NoteMachine(TeamRecord& record, uint32_t member) const;  // records the member's machine, if it is connected
  void NoteMachines(TeamRecord& record) const;                  // does so for all members
  // Returns whether formations are held back, since daemons that know a higher term may not have come back yet.
  bool settles() const { return clock_->Now() < settled_at_; }
  void HearTerm(uint64_t term, bool by_us);

  // --- cluster.cc: the planner's cluster, and daemons of others ---
  // Returns why the daemon's teams cannot be this planner's, after the planner has adopted their cluster if it may.
  std::optional<schedule::FailureReport> ForeignRefusal(const schedule::Register& message);
  void BecomeCluster(const std::string& uuid);

  // --- better_plans.cc: better plans for teams that have formed with quick ones ---
  void SeekBetterPlans(TeamId id);  // requires Team::quick
  void LookLater(Team& team);       // sets the timer for LookForSavings
  void LookForSavings(TeamId id);   // asks a member for the team's calls so far
  void OnCallsSoFar(TeamId id, const StatusAnswer& answer);
  void SettleForPlans(Team& team);   // the team keeps its plans
  bool MayBeSwitchedNow(TeamId id);  // false while a member is away, drains or ends
  std::string DescribeQuick(const Team& team) const;

  // --- sub_teams.cc: sub-teams that daemons form among themselves ---
  void SendTeamIds(SessionId session);
  void OnTeamFormed(Node& node, const schedule::TeamFormed& message);
  // Returns the report as Register would have it. NOT_FOUND: the parent, whose nodes and ranks it has, is not known.
  absl::StatusOr<schedule::RunningTeam> Whole(const schedule::TeamFormed& message) const;
  // Marks members left that have not reported the team, and will not.
  void EndWaitForReports(TeamId id);
  // Returns whether the daemons of all members form sub-teams.
  bool HasSubTeams(const Team& team) const;
  // Returns whether the member may still wait for the Commit of the team, a sub-team that daemons have formed.
  static bool MayBeForming(const Team& team, uint32_t member) {
    return !team.durable() && team.record.outgoing.empty() && !team.members[member].known;
  }

  // --- silence.cc: judgment of silent nodes ---
  void OnNeighborSilent(Node& node, const schedule::NeighborSilent& message);
  void JudgeSilence(const DaemonPair& link);
  void BreakBySilence(Team& team, const LinkVerdict& verdict);

  // --- plans.cc: index of plans ---
  void IndexPlans(TeamId id, Team& team);
  void ForgetPlans(Team& team);
  // Verifies the plans that a daemon reports for a team, one plan at each timer, so that other work runs in between.
  void VerifyLater(TeamId id);
  void VerifyNext(TeamId id);

  // --- derived_teams.cc: what is different for derived teams ---
  void OnDerivedTeamJoin(Join join);
  std::optional<schedule::FailureReport> DerivedTeamRefusal(const Join& join);
  void FormDerivedTeam(const DerivedTeamKey& key);
  absl::StatusOr<schedule::TeamLayout> DerivedTeamLayout(const schedule::TeamLayout& parent, const DerivedTeamKey& key);
  void FailDerivedTeam(const DerivedTeamKey& key, const schedule::FailureReport& why);
  // Counts the abort of a derived team's first epoch as a failed attempt, unless `again`.
  // `unprepared` are the joins of an attempt that no daemon was told; if `again`, they wait for the next one.
  void DerivedTeamAborted(const schedule::TeamLayout& layout, const schedule::FailureReport& why, bool again,
                          std::vector<Join> unprepared);
  void NoteDerivedTeam(const schedule::TeamLayout& layout);  // records a derived team that was stored or adopted
  void DropDerivedTeamJoins(SessionId session);
  void ForgetDerivedTeams(const schedule::TeamLayout& layout);  // called when this team, or derived team, is forgotten
  // Breaks the derived teams of a team that broke, or the parent of a derived team that broke.
  void BreakLinked(const schedule::TeamLayout& layout, const schedule::FailureReport& why, const Node* reporter);
  std::vector<TeamId> DerivedTeamsOf(TeamId team) const;

  // --- administration.cc: requests of administrators ---
  struct Query {
    std::vector<std::string> unasked;  // nodes, the next one last
    std::set<std::string> waiting;
    std::vector<std::string> silent;
    TimerId timer;
    bool latencies = false;
    TeamId calls_of{0};
    std::function<void(const schedule::DaemonStatus&)> on_status;
    std::function<void(std::vector<std::string>)> done;
  };
  void AskNext(uint64_t query);  // asks the next nodes of a query
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
  void NodeSilent(const std::string& node);  // ends the queries that wait for a node without stream
  void FinishQuery(uint64_t query);
  const char* StateOf(const Node& node) const;
  void ApplyDraining(const std::string& name, const std::optional<std::string>& why);
  static const char* StateOf(const Team& team);
  NodeInfo InfoOf(const Node& node) const;
  TeamInfo InfoOf(const Team& team) const;
  static TeamInfo InfoOf(const Forming& forming);
  std::vector<PlanInfo> PlansOf(const Team& team) const;

  const Clock* clock_;
  Store* store_;
  PlanMaker* plan_maker_;
  CoordinatorOptions options_;

  TimerQueue timers_;
  Outbox outbox_;
  JoinTable joins_;
  Inquiry silences_;
  std::map<SessionId, Session> sessions_;
  std::map<std::string, Node> nodes_;
  std::map<TeamId, Team> teams_;
  std::map<TeamId, std::map<std::string, Undecided>> undecided_;  // inner map by the nodes' names
  std::map<DerivedTeamKey, DerivedTeam> derived_teams_;           // by parent team and collective class
  EventLog events_;
  EndedTeams ended_;  // ended or aborted
  FormationCounts formations_;
  std::map<std::string, std::string> draining_;  // why, by the nodes' names, as last requested
  // DrainChanges are the changes of a node's draining that wait for the store.
  struct DrainChanges {
    std::optional<std::string> stored;  // what the store has: why; nullopt: it is not draining
    uint32_t waiting = 0;
  };
  std::map<std::string, DrainChanges> drain_changes_;
  std::map<uint64_t, Query> queries_;
  std::map<uint64_t, PendingTrace> traces_;
  std::map<uint64_t, PendingMeasure> measures_;
  uint64_t next_query_ = 1;
  bool collects_ = false;
  std::map<PlanId, TeamId> teams_of_plans_;
  std::optional<IdSource> ids_;             // set by Start
  std::optional<ClusterIdentity> cluster_;  // likewise
  uint64_t quarantined_ = 0;
  absl::Time started_;
  absl::Time settled_at_ = absl::InfinitePast();
  absl::Time forgiven_until_ = absl::InfinitePast();
};

}  // namespace copse::coordinator

#endif  // COPSE_PLANNER_COORDINATOR_COORDINATOR_H_
