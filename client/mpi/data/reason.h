// SPDX-License-Identifier: Apache-2.0
#ifndef COPSE_CLIENT_MPI_DATA_REASON_H_
#define COPSE_CLIENT_MPI_DATA_REASON_H_

#include <cstdint>

namespace copse::mpi {

// A Reason says why a call did not go to Copse. All reasons but kFailedBefore and kBadArguments are equal on all ranks
// of a call.
enum class Reason : uint8_t {
  kNone,       // the call went to Copse
  kNoLibrary,  // not all ranks of the job have this library
  kNoDaemons,  // not all ranks of the job have a daemon
  kOneRank,    // the communicator has one rank
  kInterCommunicator,
  kOtherJob,       // the communicator has processes of another launch or of a spawn
  kFirstCalls,     // the communicator has not made enough calls to be worth a team
  kNoTeam,         // forming a team has failed
  kTrial,          // the call's time by MPI is measured
  kFasterByMpi,    // measured times have shown that MPI is faster
  kUserOperation,  // an operation of the program, and the call is too long or not blocking
  kType,           // Copse does not have the operation on the type
  kTooLong,
  kFailedBefore,  // an earlier call has failed after its return, or on this rank alone
  kBadArguments,  // MPI reports the error
  kCount
};
// Returns the reason for statistics; "" for kNone and unknown values.
const char* NameOf(Reason reason);

}  // namespace copse::mpi

#endif  // COPSE_CLIENT_MPI_DATA_REASON_H_
