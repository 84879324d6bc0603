// SPDX-License-Identifier: Apache-2.0
//
// Finds out whether all ranks of a job have this library. A rank may lack it since its program is statically linked,
// runs as another user, or was started by a script that clears LD_PRELOAD. All other ranks would wait for it without
// end in a collective of this library.
#ifndef COPSE_CLIENT_MPI_API_ROLL_CALL_H_
#define COPSE_CLIENT_MPI_API_ROLL_CALL_H_

namespace copse::mpi {

// A RollCall says whether all ranks have the library, and on the rank that prints the message also which do not.
struct RollCall {
  bool is_complete = true;  // all ranks have the library; equal on all ranks that have it
  bool speaks = false;      // this is the first rank that has it, which prints the message
  int absent = 0;           // number of ranks without it; set if `speaks`
  int first_absent = 0;     // the first of them; set if `speaks`
};

// All ranks of MPI_COMM_WORLD that have the library call it at the end of MPI_Init, after LauncherNotes::Leave. It ends
// the use of LauncherNotes. If AreThere is false, returns that all ranks have it.
RollCall CallTheRoll(int rank, int size);

}  // namespace copse::mpi

#endif  // COPSE_CLIENT_MPI_API_ROLL_CALL_H_
