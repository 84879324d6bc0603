// SPDX-License-Identifier: Apache-2.0
#ifndef COPSE_CLIENT_MPI_SESSION_COMPLAINTS_H_
#define COPSE_CLIENT_MPI_SESSION_COMPLAINTS_H_

#include <string>
#include <vector>

namespace copse::mpi {

// Complaints holds one line for each setting of a process that is invalid or that the system does not support. Usually
// all ranks have the same lines, so only one rank prints its own, as a rule the first that has any.
using Complaints = std::vector<std::string>;

// Returns the value of an environment variable; an empty string if it is not set.
const char* Variable(const char* name);
// Adds a line that says that the value of a variable is ignored, and why.
void Complain(const char* name, const char* why, const char* value, Complaints* complaints);
// Returns whether a variable has the value `other`. A value that is neither empty nor `usual` nor `other` adds a
// complaint.
bool IsOther(const char* name, const char* usual, const char* other, Complaints* complaints);

}  // namespace copse::mpi

#endif  // COPSE_CLIENT_MPI_SESSION_COMPLAINTS_H_
