// SPDX-License-Identifier: Apache-2.0
//
// All ranks of a communicator form its team, or none has one.
#ifndef COPSE_CLIENT_MPI_TEAM_FORMATION_H_
#define COPSE_CLIENT_MPI_TEAM_FORMATION_H_

#include "client/copse.h"
#include "client/mpi/mpi_api.h"
#include "client/mpi/session.h"

namespace copse::mpi {

struct TeamMember {
  MPI_Comm comm;
  int rank;
  int size;
  const char* name;  // the same on all ranks; what `copsectl team list` shows
};

// Collective over the communicator, which is in no other collective meanwhile. Null on all ranks if any has failed;
// rank 0 then says why, once a process.
copse_team_t* FormTeamTogether(Session* session, const TeamMember& member);

}  // namespace copse::mpi

#endif  // COPSE_CLIENT_MPI_TEAM_FORMATION_H_
