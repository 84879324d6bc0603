// SPDX-License-Identifier: Apache-2.0
//
// Converts a failure of libcopse to an MPI error class and a text that ends with the known facts.
#ifndef COPSE_CLIENT_MPI_API_FAILURE_TEXT_H_
#define COPSE_CLIENT_MPI_API_FAILURE_TEXT_H_

#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

#include <string>

#include "client/copse.h"

namespace copse::mpi {

// Returns the MPI error class of a failure; docs/mpi.md has the table.
constexpr int ErrorClassOf(copse_status_t status) {
  switch (status) {
    case COPSE_OK:
      return MPI_SUCCESS;
    case COPSE_ERR_INVALID_ARGUMENT:
    case COPSE_ERR_MISMATCH:
      return MPI_ERR_ARG;
    case COPSE_ERR_NO_RESOURCE:
    case COPSE_ERR_NO_MEMORY:
      return MPI_ERR_NO_MEM;
    case COPSE_ERR_NOT_SUPPORTED:
      return MPI_ERR_UNSUPPORTED_OPERATION;
    case COPSE_ERR_INTERNAL:
      return MPI_ERR_INTERN;
    default:
      return MPI_ERR_OTHER;
  }
}

// Returns copse_last_error() of this thread followed by the cause, and by node, rank and limit where they are known, as
// `thing=value`.
inline std::string LastFailureText() {
  copse_failure_t failure{};
  failure.mask =
      COPSE_FAILURE_FIELD_CAUSE | COPSE_FAILURE_FIELD_NODE | COPSE_FAILURE_FIELD_RANK | COPSE_FAILURE_FIELD_LIMIT;
  std::string text = copse_last_error();
  if (copse_last_failure(&failure) != COPSE_OK) return text;
  text += std::string(" (cause=") + copse_cause_string(failure.cause);
  if (failure.node[0] != '\0') text += std::string(", node=") + failure.node;
  if (failure.rank >= 0) text += ", rank=" + std::to_string(failure.rank);
  if (failure.limit != 0) text += ", limit=" + std::to_string(failure.limit);
  return text + ")";
}

}  // namespace copse::mpi

#endif  // COPSE_CLIENT_MPI_API_FAILURE_TEXT_H_
