// SPDX-License-Identifier: Apache-2.0
//
// Whether all ranks of a job have this library. One that lacks it, since it is statically linked, runs under another
// user or was relieved of LD_PRELOAD by a script, takes part in no collective of ours, and all others would wait for it
// for ever.
#ifndef COPSE_CLIENT_MPI_API_ROLL_CALL_H_
#define COPSE_CLIENT_MPI_API_ROLL_CALL_H_

namespace copse::mpi {

// The ranks without the library, as far as this rank has to report them.
struct RollCall {
  bool is_complete = true;  // all ranks have it; equal on all ranks that do
  bool speaks = false;      // this is the first rank that has it, which prints what follows
  int absent = 0;           // how many
  int first_absent = 0;
};

// After MPI_Init and LauncherNotes::Leave, by all ranks of MPI_COMM_WORLD that have the library, before they return
// from it. Under launchers without notes, all ranks are taken to be there.
RollCall CallTheRoll(int rank, int size);

}  // namespace copse::mpi

#endif  // COPSE_CLIENT_MPI_API_ROLL_CALL_H_
