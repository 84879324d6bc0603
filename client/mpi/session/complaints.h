// SPDX-License-Identifier: Apache-2.0
#ifndef COPSE_CLIENT_MPI_SESSION_COMPLAINTS_H_
#define COPSE_CLIENT_MPI_SESSION_COMPLAINTS_H_

#include <string>
#include <vector>

namespace copse::mpi {

// What is wrong with a process's settings, a line each. Most often all ranks have the same ones, so one rank prints
// them.
using Complaints = std::vector<std::string>;

}  // namespace copse::mpi

#endif  // COPSE_CLIENT_MPI_SESSION_COMPLAINTS_H_
