// SPDX-License-Identifier: Apache-2.0
//
// What MPI_Error_string says of failures of Copse's.
#ifndef COPSE_CLIENT_MPI_API_ERROR_TEXT_H_
#define COPSE_CLIENT_MPI_API_ERROR_TEXT_H_

#include <map>

namespace copse::mpi {

// A code of this class whose text is `text` from here on. `codes`: those of a communicator, by class, as MPI frees
// none. MPICH takes a code that is added to one of its classes for one of its own messages, and prints that where a
// failure ends the job, so there the class stands for itself, and its text is that of its latest failure. Thread-safe,
// but for `codes`.
int CodeOfText(int error_class, const char* text, std::map<int, int>* codes);

// The program's MPI_Error_string.
int Error_string(int code, char* string, int* length);

}  // namespace copse::mpi

#endif  // COPSE_CLIENT_MPI_API_ERROR_TEXT_H_
