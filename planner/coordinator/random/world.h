// SPDX-License-Identifier: Apache-2.0
//
// Takes random steps with daemons that follow the protocol, streams that end with messages on the way, planners that
// die or are deposed, and a store that fails or is lost.
#ifndef COPSE_PLANNER_COORDINATOR_RANDOM_WORLD_H_
#define COPSE_PLANNER_COORDINATOR_RANDOM_WORLD_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "base/ids.h"
#include "base/prng.h"
#include "base/testing/fake_clock.h"
#include "planner/coordinator/coordinator.h"
#include "planner/coordinator/interfaces/options.h"
#include "planner/coordinator/interfaces/store.h"
#include "planner/coordinator/random/fake_daemon.h"
#include "planner/coordinator/random/history.h"
#include "planner/coordinator/random/peers.h"
#include "planner/coordinator/random/planner.h"
#include "planner/coordinator/random/streams.h"
#include "protocol/control.h"

namespace copse::coordinator {

struct WorldOptions {
  int daemons = 4;
  size_t planners = 1;    // more than one: they share the store, and one leads
  bool sub_teams = true;  // daemons form sub-teams
};

// A World is a run from a seed: Step* Finish. Failures are GoogleTest's.
struct World {
  // `*totals` must outlive this object.
  World(uint64_t seed, WorldOptions options, Totals* totals);

  void Step();
  // Heals all faults, lets everything finish, and checks the result.
  void Finish();

  // --- Planners ---
  // Makes a new planner the leader. A former one may go on, until it notices.
  void Elect();
  Planner& leader() { return *planners.back(); }
  Coordinator& coordinator() { return *leader().coordinator; }
  bool leads(const Planner& planner) const { return planner.fence == fence; }
  // Returns the planner to which a daemon connects next.
  Planner& SomePlanner();
  // Makes and answers the planners' commits in flight. Returns false if there are none.
  bool ProceedCommits();

  // --- What daemons know of each other ---
  // The team gets its id from this cluster.
  void NoteIssued(const schedule::TeamLayout& layout, const std::string& cluster);
  EpochHistory& HistoryOf(const schedule::TeamLayout& layout, EpochId epoch) {
    return history.epochs[History::KeyOf(layout, epoch)];
  }
  // Returns the Commit of a daemon's prepared epoch, if a neighbor has it.
  std::optional<schedule::Commit> AskNeighbors(const FakeDaemon& asker, TeamId id);

  Prng prng;
  FakeClock clock;
  const WorldOptions options;
  CoordinatorOptions coordinator_options;
  uint64_t starts = 0;                             // of planners
  Snapshot snapshot;                               // the content of the store
  uint64_t fence = 0;                              // the leader's
  std::vector<std::unique_ptr<Planner>> planners;  // the leader is the last one
  bool faults = true;
  bool commits_later = false, plans_later = false;
  std::map<std::string, std::unique_ptr<FakeDaemon>> daemons;
  Streams streams{this};
  Peers peers{this};
  uint64_t incarnations = 0, requests = 0, names = 0, labels = 0;
  Totals* const totals;
  History history;

 private:
  // --- Steps ---
  // Each takes a throw of a die of 100, and does something if it is among its numbers.
  void StepDaemon(FakeDaemon& daemon, double dice);
  void StepCluster(FakeDaemon& daemon, double dice);
  // Elects, pauses and resumes planners of several.
  void StepPlanners();
  // Forms and reports sub-teams.
  void StepSubTeams();
  // Starts a daemon, in place of the one that had the name.
  void AddDaemon(const std::string& name);
  // Starts ranks of a new team on random nodes; sometimes with a mistake.
  void StartTeam();
  // If the planner had just recorded a first epoch, and the daemon that knew of it restarts too, no process can notify
  // the others.
  void LoseStore();
  void Replan();
  void Drain(const std::string& node, bool on);
  void FinishPlans();
  void Pass(absl::Duration duration);
  // Removes planners that have died or were deposed, and elects another leader if there is none.
  void BuryPlanners();
  // Returns whether the planner's process has ended, or ends now.
  bool HasEnded(Planner& planner);
  void AdoptForeign();
  void DeliverAll();
};

}  // namespace copse::coordinator

#endif  // COPSE_PLANNER_COORDINATOR_RANDOM_WORLD_H_
