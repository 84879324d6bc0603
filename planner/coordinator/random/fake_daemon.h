// SPDX-License-Identifier: Apache-2.0
//
// Follows docs/reference/control.md as a daemon does, without a data plane, and checks what the planner sends.
#ifndef COPSE_PLANNER_COORDINATOR_RANDOM_FAKE_DAEMON_H_
#define COPSE_PLANNER_COORDINATOR_RANDOM_FAKE_DAEMON_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "base/ids.h"
#include "base/prng.h"
#include "planner/coordinator/random/fake_sub_teams.h"
#include "planner/coordinator/random/history.h"
#include "protocol/control.h"

namespace copse::coordinator {

struct World;

// FakeDaemon follows control.h, and remembers the messages it received.
class FakeDaemon {
 public:
  struct Team {
    schedule::TeamLayout layout;
    uint32_t self = 0;
    EpochId epoch{0};
    std::vector<std::string> plans;
    bool broken = false;
    bool has_sub_teams = false;  // daemons form sub-teams of it
    std::optional<schedule::Prepare> prepared;
    std::vector<uint64_t> requests;
    uint64_t started = 0, frozen_at = 0;
    CallSeq first_call{0};

    bool is_running() const { return epoch != EpochId{0} && !broken; }
  };
  // A Derived is what the daemon knows of a derived team; docs/reference/control.md says which attempts count as
  // failed.
  struct Derived {
    TeamId id{0};          // the attempt that is prepared or committed; 0: none
    uint64_t failed = 0;   // attempts that have failed
    uint64_t request = 0;  // the join that was sent; 0: none
    bool wanted = false;   // calls wait for it
  };

  FakeDaemon(World* world, std::string name, uint64_t incarnation)
      : sub_teams(world, this), world_(world), key_(std::move(name), Incarnation{incarnation}) {}

  schedule::Register Registration() const;
  void OnMessage(const schedule::ToDaemon& message);
  void Join(const schedule::JoinTeam& join);
  void CancelSomeJoin(Prng& prng);
  // The message about it may be lost: TeamsHeld shows it.
  void LeaveSomeTeam(Prng& prng);
  void ListTeams();
  void BreakSomeTeam(Prng& prng);
  void AskAboutPrepared();
  void StartCalls(Prng& prng);
  void CallDerived(Prng& prng);
  // Ends the daemon's side of its stream.
  void LoseStream();
  // Handles the reset of the connection to another daemon.
  void NoticeDeath(const NodeKey& dead);

  // --- For sub-teams that daemons form ---
  // Drops the message while there is no stream.
  void Send(const schedule::FromDaemon& message);
  // Prepares the team, and begins its first epoch.
  void AddSubTeam(const schedule::Prepare& m);
  void CommitSubTeam(TeamId id);
  void BreakIfHeld(TeamId id, const schedule::FailureReport& why);

  const NodeKey& key() const { return key_; }
  const std::string& cluster() const { return cluster_; }  // the last planner's
  std::map<TeamId, Team> teams;
  std::map<DerivedTeamKey, Derived> derived;
  std::map<uint64_t, schedule::JoinTeam> joins;  // not yet answered
  FakeSubTeams sub_teams;
  uint64_t session = 0;  // 0: not connected
  bool registered = false;
  bool draining = false;
  absl::Time last_seen = absl::InfinitePast();  // the last time with a connection

 private:
  void On(const schedule::Registered& m);
  void On(const schedule::Drain& m) { draining = m.on; }
  void On(const schedule::Prepare& m);
  void On(const schedule::Commit& m);
  void On(const schedule::Abort& m);
  void On(const schedule::BreakTeam& m) { BreakIfHeld(m.team, m.why); }
  void On(const schedule::TeamIds& m) { sub_teams.OnIds(m); }
  void On(const schedule::Cluster& m) { SetCluster(m.uuid); }
  void On(const schedule::PlansQuery& m);

  void SetCluster(const std::string& uuid);
  void Resolve(uint64_t request);
  void SendJoinsAgain();
  // Sends the joins of these that are not yet answered.
  void SendJoins(const std::vector<uint64_t>& requests);
  void Break(TeamId id, const schedule::FailureReport& why);
  void NoticeDeaths();
  // Returns the teams here of which the other daemon is a member that has not left.
  std::vector<TeamId> TeamsWith(const NodeKey& other) const;

  // --- Epochs ---
  // Returns why the daemon does not prepare it, or null.
  const char* RefusalOf(const schedule::Prepare& m);
  void Refuse(const schedule::Prepare& m, const std::string& why);
  // Returns this daemon's index among the team's nodes.
  uint32_t IndexIn(const schedule::TeamLayout& layout) const;
  std::vector<schedule::EdgeLabel> IssueLabels(const schedule::TeamLayout& layout, uint32_t self,
                                               EpochHistory& history);
  void CheckLabels(const Team& team, const schedule::Commit& m, EpochHistory& history) const;
  // The prepared epoch of the team is committed.
  void Enter(Team& team, CallSeq first_call);
  void Formed(Team& team);
  // The joins have failed, or are sent again.
  void EndJoins(const schedule::Abort& m);
  // Drops a team that was prepared for the first time.
  void DropPrepared(TeamId id);

  // --- Derived teams ---
  void Ask(const DerivedTeamKey& key);
  void AttemptFailed(const DerivedTeamKey& key, uint64_t failed);
  // Returns whether the daemon may prepare this attempt at a derived team.
  bool AcceptsAttempt(const schedule::TeamLayout& layout);
  void AttemptRefused(const schedule::TeamLayout& layout);
  // The prepared attempt is gone, and has not failed.
  void AttemptDropped(const schedule::TeamLayout& layout);
  DerivedTeamKey KeyOf(const schedule::TeamLayout& layout) const { return {layout.parent, layout.identity.family}; }

  World* world_;
  NodeKey key_;
  uint64_t term_ = 0;
  std::string cluster_;
};

}  // namespace copse::coordinator

#endif  // COPSE_PLANNER_COORDINATOR_RANDOM_FAKE_DAEMON_H_
