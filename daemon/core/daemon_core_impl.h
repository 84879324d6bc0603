// SPDX-License-Identifier: Apache-2.0
//
// The daemon's core, inside. daemon_core.cc: the loop and what administrators ask; from_planner.cc, from_clients.cc,
// from_peers.cc: what each of those three says.
#ifndef COPSE_DAEMON_CORE_DAEMON_CORE_IMPL_H_
#define COPSE_DAEMON_CORE_DAEMON_CORE_IMPL_H_

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "daemon/core/call_history.h"
#include "daemon/core/client_table.h"
#include "daemon/core/companions.h"
#include "daemon/core/connections.h"
#include "daemon/core/daemon_core.h"
#include "daemon/core/neighbours.h"
#include "daemon/core/pair_meters.h"
#include "daemon/core/peer_messages.h"
#include "daemon/core/team.h"

namespace copse::daemon {

class DaemonCore::Impl : public emu::ControlSink, public TeamHost, public PairMeterHost, public CompanionHost {
 public:
  Impl(const Clock* clock, emu::Transport* transport, PlannerLink* planner, CoreOptions options);

  // --- Planner ---

  void OnPlannerUp();
  void OnPlannerDown();
  void OnPlannerMessage(const schedule::ToDaemon& message);
  bool registered() const { return registered_; }
  const schedule::FailureReport& refusal() const;

  // --- Clients ---

  absl::StatusOr<ClientId> Attach(const ClientHello& hello, ClientSink* sink) { return clients_.Add(hello, sink); }
  void Detach(ClientId id, bool died, const std::string& how);
  void CreateTeam(ClientId id, const TeamRequest& request);
  void CancelCreateTeam(ClientId id, uint64_t request, const std::string& why);
  void DestroyTeam(ClientId id, uint64_t request, uint32_t handle);
  void Post(ClientId id, CallPost post);
  void PostNop(ClientId id, uint64_t value);
  uint32_t PostRoom(ClientId id) const;

  // --- The loop ---

  bool Progress();
  absl::Time NextDeadline() const;

  // --- Administration ---

  void StartDrain(const std::string& why);
  // Why this node takes no new teams; empty: it does.
  std::string_view DrainReason() const;
  void SayStopping(bool done);
  bool Idle() const;
  emu::TraceRing* trace() const { return options_.instruments == nullptr ? nullptr : options_.instruments->trace(); }
  schedule::DaemonStatus Status(bool latencies) const;
  void SetTimeouts(absl::Duration heartbeat, absl::Duration node_timeout);
  void SetJoinToken(const std::string& token) { options_.node.join_token = token; }

  // --- emu::ControlSink: noted, handled when the engine is done with its turn ---

  void OnControl(Incarnation from, uint16_t type, absl::Span<const uint8_t> message) override;
  void OnPeerDown(Incarnation peer, const absl::Status& why) override;
  void OnPeerHeard(Incarnation peer) override { neighbours_.Heard(peer, clock_->Now()); }

  // --- TeamHost ---

  absl::Time Now() const override { return clock_->Now(); }
  absl::Time EventTime() const override { return last_progress_; }
  Instruments* instruments() const override { return options_.instruments; }
  void Notify(ClientId id, const ClientEvent& event) override { clients_.Notify(id, event); }
  void SendToPeer(Incarnation peer, const PeerMessage& message) override;
  absl::Status AcquireNeighbour(const schedule::TeamNode& node) override;
  void ReleaseNeighbour(Incarnation peer) override { neighbours_.Release(peer, clock_->Now()); }
  void OnTeamBroken(TeamId team, const schedule::FailureReport& why) override;

  // --- CompanionHost ---

  Team* FindTeam(TeamId id) override;
  Planner planner() const override;
  uint64_t SendJoin(schedule::JoinTeam join) override;
  void RefusePost(ClientId client, uint64_t value, const schedule::FailureReport& why) override;

  // --- PairMeterHost ---

  absl::Status ConnectForMeasuring(const schedule::TeamNode& peer) override;
  void DisconnectAfterMeasuring(Incarnation peer) override { neighbours_.ReleaseGuest(peer, clock_->Now()); }
  absl::Status SendToMeasured(Incarnation peer, const PeerMessage& message) override {
    return SendMessage(peer, message, emu::ControlPlace::kAsData);
  }
  void OnMeasured(const schedule::MeasureReply& reply) override { SendToPlanner(reply); }

 private:
  // A rank that wants to join a team, until the team is formed or fails.
  struct Join {
    ClientId client = 0;
    TeamRequest request;
    schedule::TeamIdentity identity;
    TeamId parent{0};
    absl::Time given_up;
  };

  // --- Planner's messages ---

  void On(const schedule::Registered& m);
  void On(const schedule::Prepare& m);
  Team* AddTeam(const schedule::Prepare& m);  // null: refused, and said so
  void Refuse(const schedule::Prepare& m, schedule::FailureReport why);

  // Our place in a new team, or why we cannot be in it. NOT_FOUND: a member of it is gone.
  absl::StatusOr<NodeIndex> CheckLayout(const schedule::Prepare& m) const;
  void On(const schedule::Commit& m);
  // The team's first epoch is committed, by the planner or a neighbour's word: tells the ranks that wait for it.
  void TellFormed(Team* team);
  void On(const schedule::Abort& m);
  void AbortTeam(const schedule::Abort& m, std::set<uint64_t>* again);
  void On(const schedule::BreakTeam& m);
  void On(const schedule::EndTeam& m);
  void On(const schedule::StatusQuery& m);
  void On(const schedule::TraceQuery& m);
  void On(const schedule::MeasureQuery& m) { meters_.Start(m); }
  void On(const schedule::Drain& m);

  // --- Parts ---

  void SetDrained(bool drained);

  void SendToPlanner(const schedule::FromDaemon& message);
  void SendJoinOf(uint64_t request, const Join& join);
  // So that the other members hear of it, and need not wait until the formation's time is over.
  void RefuseJoin(const Join& join, schedule::FailureReport why);
  // Of those that a prepared team answers: they are decided with that team, which Register names.
  std::set<uint64_t> PreparedJoins() const;
  // Whether it is away for so long that new teams fail.
  bool LacksPlanner() const;
  schedule::FailureReport NoPlanner() const;
  void FailWithoutPlanner(Join join);
  void FailJoinsWithoutPlanner();
  static schedule::RunningTeam Describe(const Team& team);  // without its plans
  // All ranks here have left it.
  void SayLeft(const Team& team);
  static schedule::FailureReport ParentBroken(const Join& join, const schedule::FailureReport& why);
  // Joins of teams derived from `parent`, which has broken.
  void FailJoinsOf(TeamId parent, const schedule::FailureReport& why);
  // Of the member, on the team or a companion of it.
  bool HasCallInFlight(const Team& team, Rank rank);
  void Leave(Team* team, Rank rank);

  // --- Calls of different families that wait for each other ---

  // The rank makes its next call. Breaks the team if another rank here makes one of another family instead.
  void NoteCall(Team* team, Rank rank, const CallArguments& arguments);
  void CompareCalls(const Team& team);  // with its neighbours
  void OnCalls(Incarnation from, const CallsMessage& m);
  void OnCallsDiffer(const CallsDifferMessage& m);

  // A team may break before its Commit has come: by a neighbour that had it earlier, or by the planner.
  void FailBrokenFormations();
  bool PumpTeams();
  bool HandlePeers();

  absl::Status SendMessage(Incarnation peer, const PeerMessage& message, emu::ControlPlace place);
  bool WasGivenUp() const;
  void LoseNode(Incarnation peer, const schedule::FailureReport& why);

  // A cut link looks the same from both ends. So who is lost is the planner's verdict, which hears them all, and comes
  // as BreakTeam; without one, the neighbour is.
  void WeighSilence(absl::Time now);
  void Accuse(Incarnation peer, absl::Time now);
  void Tick(absl::Time now);

  const Clock* const clock_;
  PlannerLink* const planner_;
  CoreOptions options_;
  ReadyTeams ready_teams_;  // before engine_ and teams_, which mark them
  Connections connections_;
  emu::Engine engine_;
  NeighbourTable neighbours_;
  PairMeters meters_;         // ends before the connections that it lets go
  absl::Duration turn_cost_;  // of the engine's last turn, while anything is measured
  ClientTable clients_;
  std::map<TeamId, std::unique_ptr<Team>> teams_;  // companions among them
  Companions companions_;
  std::map<TeamId, CallHistory> histories_;                           // of teams that are no companions
  std::map<TeamId, std::vector<std::pair<uint64_t, Rank>>> forming_;  // whose joins a team answers
  // Teams that broke and that all ranks here have left, until the planner ends them: what was said on a stream that was
  // cut is lost, and ranks elsewhere may wait for the planner to say why.
  std::vector<schedule::RunningTeam> farewells_;
  std::map<uint64_t, Join> joins_;  // by our request number
  std::vector<Join> given_up_;      // for want of a planner, which is to tell others
  uint64_t next_join_ = 1;
  uint32_t next_handle_ = 1;
  bool planner_up_ = false;
  bool registered_ = false;
  absl::Time planner_lost_;  // if not registered, since when
  uint64_t term_ = 0;        // the highest that a planner has told
  // What the planner knows.
  bool weighs_silence_ = false;
  bool forms_companions_ = false;
  bool hears_of_stops_ = false;
  std::map<Incarnation, absl::Time> accused_;  // silent neighbours whose verdict is waited for, and since when
  std::unique_ptr<const schedule::FailureReport> refusal_;  // null: none
  bool drained_ = false;                                    // by an administrator, until the planner says otherwise
  std::string stop_reason_;                                 // of this daemon, which ends; empty: it does not
  bool is_stopping_ = false;                                // the planner is to know
  std::vector<std::pair<Incarnation, PeerMessage>> peer_messages_;
  std::vector<Incarnation> peers_down_;
  uint64_t heartbeats_sent_ = 0;
  uint64_t heartbeats_received_ = 0;
  uint64_t neighbours_lost_ = 0;
  absl::Duration held_;  // of teams whose calls waited for the decision of a switch
  absl::Time last_progress_;
  absl::Duration stood_still_;  // before the last pause that others may have taken for its loss
  absl::Time went_on_ = absl::InfinitePast();
  absl::Time next_tick_ = absl::InfinitePast();
};

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_CORE_DAEMON_CORE_IMPL_H_
