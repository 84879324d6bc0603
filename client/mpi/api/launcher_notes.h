// SPDX-License-Identifier: Apache-2.0
//
// Publishes in the launcher's key-value space, before MPI_Init, that a rank has this library. The metadata exchange of
// MPI_Init distributes the entries, so afterwards each rank can look up whether another has the library, without a
// call in which the other would have to take part.
#ifndef COPSE_CLIENT_MPI_API_LAUNCHER_NOTES_H_
#define COPSE_CLIENT_MPI_API_LAUNCHER_NOTES_H_

namespace copse::mpi {

// LauncherNotes uses the key-value space that the program's MPI uses, too: Hydra's (PMI) under MPICH, PMIx under Open
// MPI. Calls follow Leave, MPI_Init, AreThere, IsThere*, End, in one thread.
class LauncherNotes {
 public:
  // Puts this rank's entry before MPI_Init. Does nothing under a launcher of another kind, and ignores failures:
  // AreThere is false then.
  static void Leave();
  // Returns after MPI_Init whether this rank has put its entry, which is equal on all ranks that have this library.
  static bool AreThere();
  // Returns whether `rank` of MPI_COMM_WORLD has put its entry; false if the launcher does not answer. Requires
  // AreThere().
  static bool IsThere(int rank);
  // Ends the use of the key-value space; AreThere is false afterwards.
  static void End();
};

}  // namespace copse::mpi

#endif  // COPSE_CLIENT_MPI_API_LAUNCHER_NOTES_H_
