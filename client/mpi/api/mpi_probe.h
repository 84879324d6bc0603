// SPDX-License-Identifier: Apache-2.0
//
// Finds out whether the program's MPI has the binary interface of the header with which this back end was compiled:
// several MPIs share one, and no version number says which.
#ifndef COPSE_CLIENT_MPI_API_MPI_PROBE_H_
#define COPSE_CLIENT_MPI_API_MPI_PROBE_H_

#include <string>

namespace copse::mpi {

// Returns what differs, with the value found and the one wanted; empty if nothing does. It is called once after
// MPI_Init, before anything else is given to the MPI. An MPI ends the program that gives it a handle that it does not
// know, so the first handles looked at are those that it makes itself.
std::string DifferenceFromHeader();

// The part of it that concerns handles.
std::string DifferenceOfHandles();

}  // namespace copse::mpi

#endif  // COPSE_CLIENT_MPI_API_MPI_PROBE_H_
