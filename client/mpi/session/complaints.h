// SPDX-License-Identifier: Apache-2.0
#ifndef COPSE_CLIENT_MPI_SESSION_COMPLAINTS_H_
#define COPSE_CLIENT_MPI_SESSION_COMPLAINTS_H_

#include <string>
#include <vector>

namespace copse::mpi {

// What is wrong with a process's settings, a line each. Most often all ranks have the same ones, so one rank prints
// them.
using Complaints = std::vector<std::string>;

// Returns the value of a variable of the environment; an empty text if it is not set.
const char* Variable(const char* name);
// Adds that a variable has a value that is ignored, and why.
void Complain(const char* name, const char* why, const char* value, Complaints* complaints);
// Returns whether a variable has the value `other`, and not the usual one.
bool IsOther(const char* name, const char* usual, const char* other, Complaints* complaints);

}  // namespace copse::mpi

#endif  // COPSE_CLIENT_MPI_SESSION_COMPLAINTS_H_
