// SPDX-License-Identifier: Apache-2.0
//
// All ranks of a communicator form its team, or none has one.
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
  const char* name;  // the same on all ranks; what `copsectl team list` shows
  bool flag = false;
};

struct FormedTeam {
  copse_team_t* team = nullptr;  // null on all ranks if any has failed
  bool all_flags = false;        // of the members
  uint64_t taken_ns = 0;
};

// Collective over the communicator, which is in no other collective meanwhile. If any rank fails, rank 0 prints why,
// once a process, and no team is formed for some time to come, since each attempt may take as long.
FormedTeam FormTeamTogether(Session* session, const TeamMember& member);

}  // namespace copse::mpi

#endif  // COPSE_CLIENT_MPI_SESSION_TEAM_FORMATION_H_
