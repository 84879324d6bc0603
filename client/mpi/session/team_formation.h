// SPDX-License-Identifier: Apache-2.0
//
// Forms the team of a communicator on all of its ranks, or on none.
#ifndef COPSE_CLIENT_MPI_SESSION_TEAM_FORMATION_H_
#define COPSE_CLIENT_MPI_SESSION_TEAM_FORMATION_H_

#include <cstdint>

#include "client/copse.h"
#include "client/mpi/api/mpi_api.h"
#include "client/mpi/session/parent_teams.h"
#include "client/mpi/session/session.h"

namespace copse::mpi {

struct TeamMember {
  MPI_Comm comm;
  int rank;
  int size;
  const char* name;  // equal on all ranks; `copsectl team list` shows it
  bool flag = false;
  ParentTeam parent;  // the team is derived from it if all ranks give the same; there may be none
};

struct FormedTeam {
  copse_team_t* team = nullptr;  // null on all ranks if any has failed
  bool all_flags = false;        // TeamMember::flag is set on all ranks
  uint64_t taken_ns = 0;
  uint64_t id = 0;          // ParentTeam::id
  bool had_parent = false;  // it was derived from TeamMember::parent, or could not be
};

// Forms a team. It is collective over the communicator, on which no other collective may be in progress. If any rank
// fails, no rank has a team, and rank 0 prints why, once per process. Since attempts may take long, all these processes
// then pause: while rank 0 of a communicator pauses, the function returns at once, without a team on any rank. A pause
// is 2 to 20 times as long as the attempt, more with each failure in a row, and at least 1 s.
FormedTeam FormTeamTogether(Session* session, const TeamMember& member);

}  // namespace copse::mpi

#endif  // COPSE_CLIENT_MPI_SESSION_TEAM_FORMATION_H_
