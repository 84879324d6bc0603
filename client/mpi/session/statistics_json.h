// SPDX-License-Identifier: Apache-2.0
//
// Writes the statistics of copse-run --stats as JSON.
#ifndef COPSE_CLIENT_MPI_SESSION_STATISTICS_JSON_H_
#define COPSE_CLIENT_MPI_SESSION_STATISTICS_JSON_H_

#include <string>

#include "client/mpi/session/run_figures.h"
#include "client/mpi/session/run_verdict.h"

namespace copse::mpi {

// Returns one JSON object in one line, without a newline. docs/mpi.md describes its keys.
std::string JsonOf(const RunFigures& figures, const RunVerdict& verdict);

}  // namespace copse::mpi

#endif  // COPSE_CLIENT_MPI_SESSION_STATISTICS_JSON_H_
