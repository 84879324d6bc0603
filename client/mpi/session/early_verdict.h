// SPDX-License-Identifier: Apache-2.0
//
// Says in one line what asynchronous completion (COPSE_TNBC) has brought a run.
#ifndef COPSE_CLIENT_MPI_SESSION_EARLY_VERDICT_H_
#define COPSE_CLIENT_MPI_SESSION_EARLY_VERDICT_H_

#include <string>

#include "client/mpi/session/run_figures.h"

namespace copse::mpi {

const char* NameOf(BlockReason reason);

// Returns the time of calls that returned early for which the program neither was in them nor waited for their data,
// ns. < 0: several threads waited at once.
double HiddenNs(const EarlyFigures& early);

// Returns one sentence with the time that was hidden and lost, or with the reason why no call returned early, and what
// to try.
std::string VerdictOf(const EarlyFigures& early);

}  // namespace copse::mpi

#endif  // COPSE_CLIENT_MPI_SESSION_EARLY_VERDICT_H_
