// SPDX-License-Identifier: Apache-2.0
//
// Forms the team of a communicator on all of its ranks, or on none.
#ifndef COPSE_CLIENT_MPI_SESSION_TEAM_FORMATION_H_
#define COPSE_CLIENT_MPI_SESSION_TEAM_FORMATION_H_

#include "client/copse.h"
#include "client/mpi/api/mpi_api.h"
#include "client/mpi/session/session.h"

namespace copse::mpi {

struct TeamMember {
  MPI_Comm comm;
  int rank;
  int size;
  const char* name;  // equal on all ranks; `copsectl team list` shows it
  bool flag = false;
};

struct FormedTeam {
  copse_team_t* team = nullptr;  // null on all ranks if any has failed
  bool all_flags = false;        // TeamMember::flag is set on all ranks
  uint64_t taken_ns = 0;
};

// Forms a team. It is collective over the communicator, on which no other collective may be in progress. If any rank
// fails, no rank has a team. Rank 0 then prints why, once per process. For a time that grows with the number of
// failures, these processes form no team as rank 0, since each attempt may take long.
FormedTeam FormTeamTogether(Session* session, const TeamMember& member);

}  // namespace copse::mpi

#endif  // COPSE_CLIENT_MPI_SESSION_TEAM_FORMATION_H_
