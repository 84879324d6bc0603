// SPDX-License-Identifier: Apache-2.0
#include "client/mpi/data/reason.h"

namespace copse::mpi {

const char* NameOf(Reason reason) {
  switch (reason) {
    case Reason::kNone:
    case Reason::kCount:
      break;
    case Reason::kNoLibrary:
      return "not all ranks have the library";
    case Reason::kNoDaemons:
      return "not all ranks have a daemon";
    case Reason::kOneRank:
      return "one rank";
    case Reason::kInterCommunicator:
      return "inter-communicator";
    case Reason::kOtherJob:
      return "processes of another job";
    case Reason::kFirstCalls:
      return "first calls";
    case Reason::kNoTeam:
      return "no team";
    case Reason::kTrial:
      return "measured beside Copse";
    case Reason::kFasterByMpi:
      return "faster by MPI";
    case Reason::kUserOperation:
      return "operation of the program";
    case Reason::kType:
      return "operation and type";
    case Reason::kTooLong:
      return "too long";
    case Reason::kFailedBefore:
      return "an earlier call has failed";
    case Reason::kBadArguments:
      return "bad arguments";
  }
  return "";
}

}  // namespace copse::mpi
