// SPDX-License-Identifier: Apache-2.0
#ifndef COPSE_CLIENT_MPI_DATA_REASON_H_
#define COPSE_CLIENT_MPI_DATA_REASON_H_

#include <cstdint>

namespace copse::mpi {

// Why a call went to the program's MPI. All reasons but kBadArguments depend only on what is equal on all ranks of a
// call.
enum class Reason : uint8_t {
  kNone,       // it did not
  kNoLibrary,  // not all ranks of the job have this library
  kNoDaemons,  // not all ranks of the job have a daemon
  kOneRank,    // a communicator of one
  kInterCommunicator,
  kOtherJob,       // a communicator with processes that another launch or a spawn started
  kFirstCalls,     // its communicator has not seen enough calls to be worth a team
  kNoTeam,         // none could be formed
  kTrial,          // its time is compared with that of Copse's calls
  kFasterByMpi,    // as was found
  kUserOperation,  // made by the program, and too long or not blocking
  kType,           // a reduction that Copse does not have: an operation on a type
  kTooLong,
  kFailedBefore,  // an earlier call, after it had returned
  kBadArguments,  // MPI says what is wrong with them
  kCount
};
const char* NameOf(Reason reason);

}  // namespace copse::mpi

#endif  // COPSE_CLIENT_MPI_DATA_REASON_H_
