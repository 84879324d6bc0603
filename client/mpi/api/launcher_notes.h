// SPDX-License-Identifier: Apache-2.0
//
// What ranks leave with their job's launcher before MPI_Init. The exchange that MPI_Init makes in any case brings it to
// all of them, so that after it each rank knows whether another one is there that has left nothing, without a call
// that the other would have to take part in.
#ifndef COPSE_CLIENT_MPI_API_LAUNCHER_NOTES_H_
#define COPSE_CLIENT_MPI_API_LAUNCHER_NOTES_H_

namespace copse::mpi {

// The launcher's key-value space, which the program's MPI uses, too: of Hydra (PMI) under MPICH, PMIx under Open MPI.
class LauncherNotes {
 public:
  // Before MPI_Init: leaves this rank's note. Nothing is done, and nothing known afterwards, under a launcher whose
  // space is not known here.
  static void Leave();
  // After MPI_Init: whether this rank has left one; the same on all ranks that have this library.
  static bool AreThere();
  // If so: whether that rank of MPI_COMM_WORLD has.
  static bool IsThere(int rank);
  // No rank asks any more.
  static void End();
};

}  // namespace copse::mpi

#endif  // COPSE_CLIENT_MPI_API_LAUNCHER_NOTES_H_
