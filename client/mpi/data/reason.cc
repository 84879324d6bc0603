// SPDX-License-Identifier: Apache-2.0
#include "client/mpi/data/reason.h"

#include <iterator>

namespace copse::mpi {

const char* NameOf(Reason reason) {
  static constexpr const char* kNames[] = {
      "",
      "not all ranks have the library",
      "not all ranks have a daemon",
      "one rank",
      "inter-communicator",
      "processes of another job",
      "first calls",
      "no team",
      "measured beside Copse",
      "faster by MPI",
      "operation of the program",
      "operation and type",
      "too long",
      "an earlier call has failed",
      "bad arguments",
  };
  static_assert(std::size(kNames) == static_cast<size_t>(Reason::kCount));
  return reason < Reason::kCount ? kNames[static_cast<size_t>(reason)] : "";
}

}  // namespace copse::mpi
