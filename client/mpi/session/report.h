// SPDX-License-Identifier: Apache-2.0
#ifndef COPSE_CLIENT_MPI_SESSION_REPORT_H_
#define COPSE_CLIENT_MPI_SESSION_REPORT_H_

#include <cstdint>

#include "client/mpi/session/run_figures.h"
#include "client/mpi/session/settings.h"

namespace copse::mpi {

// Prints the statistics on standard error, as text or as one line of JSON, and writes the file of JSON, as far as
// `settings` ask for them. A file that cannot be written gets a line on standard error. `worth_ns`: as VerdictOf's.
void Report(const RunFigures& figures, const Settings& settings, uint64_t worth_ns);

}  // namespace copse::mpi

#endif  // COPSE_CLIENT_MPI_SESSION_REPORT_H_
