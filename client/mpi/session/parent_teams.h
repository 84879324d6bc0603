// SPDX-License-Identifier: Apache-2.0
//
// Keeps the teams from which those of further communicators can be derived.
#ifndef COPSE_CLIENT_MPI_SESSION_PARENT_TEAMS_H_
#define COPSE_CLIENT_MPI_SESSION_PARENT_TEAMS_H_

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "client/copse.h"

namespace copse::mpi {

// A ParentTeam is a team of a communicator. A team that is derived from it may outlive it.
struct ParentTeam {
  std::shared_ptr<copse_team_t> team;  // null: there is none
  uint64_t id = 0;                     // equal on all ranks, and of no other team
};

// ParentTeams knows the teams of this process's communicators by their ranks in MPI_COMM_WORLD, as long as someone
// owns them. Ranks whose communicators were made and freed in the same order find the same team. Thread-safe.
class ParentTeams {
 public:
  // Adds the team of a communicator, whose ranks in MPI_COMM_WORLD are `ranks`, by rank.
  void Add(const std::vector<int>& ranks, const ParentTeam& parent);
  // The team has failed, so it is no parent any more.
  void Remove(const copse_team_t* team);
  // Returns a team that has all these ranks: the oldest one with the same ranks in the same order, or else the smallest
  // one.
  ParentTeam Find(const std::vector<int>& ranks);

 private:
  struct Known {
    std::weak_ptr<copse_team_t> team;
    uint64_t id = 0;
  };
  // Teams with the same ranks in the same order, the oldest first.
  struct Group {
    std::vector<int> ranks;
    std::vector<int> sorted;
    std::vector<Known> teams;
  };

  // Returns the oldest team of the group that lives, or none. Forgets those that do not. The caller holds the mutex.
  static ParentTeam Oldest(Group* group);

  std::mutex mutex_;  // guards groups_
  std::vector<Group> groups_;
};

}  // namespace copse::mpi

#endif  // COPSE_CLIENT_MPI_SESSION_PARENT_TEAMS_H_
