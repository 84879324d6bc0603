// SPDX-License-Identifier: Apache-2.0
//
// Makes MPI_Error_string return the texts of Copse's failures.
#ifndef COPSE_CLIENT_MPI_API_ERROR_TEXT_H_
#define COPSE_CLIENT_MPI_API_ERROR_TEXT_H_

#include <map>

namespace copse::mpi {

// Returns an error code of class `error_class` and sets its text. `codes` holds the codes of one communicator, by
// class; they are reused, as MPI cannot free codes. MPICH prints a text of its own for a code that is added to a
// predefined class, so there the class itself is returned, and MPI_Error_string returns the text of the class's latest
// failure. Thread-safe for different `codes`.
int CodeOfText(int error_class, const char* text, std::map<int, int>* codes);

// Implements the program's MPI_Error_string.
int Error_string(int code, char* string, int* length);

}  // namespace copse::mpi

#endif  // COPSE_CLIENT_MPI_API_ERROR_TEXT_H_
