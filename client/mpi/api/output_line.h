// SPDX-License-Identifier: Apache-2.0
//
// Prints the lines "copse-mpi: ..." that libcopse-mpi.so shows to users, on standard error.
#ifndef COPSE_CLIENT_MPI_API_OUTPUT_LINE_H_
#define COPSE_CLIENT_MPI_API_OUTPUT_LINE_H_

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

namespace copse::mpi {

// Prints one line by one write(2), so that lines of several ranks are not mixed. It is cut to 1023 bytes, its newline
// included. Thread-safe.
__attribute__((format(printf, 1, 2))) inline void PrintLine(const char* format, ...) {
  char line[1024] = "copse-mpi: ";
  const size_t prefix = strlen(line);
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(line + prefix, sizeof(line) - prefix - 1, format, arguments);
  va_end(arguments);
  const size_t bytes = strlen(line);
  line[bytes] = '\n';
  if (write(STDERR_FILENO, line, bytes + 1) < 0) return;
}

}  // namespace copse::mpi

#endif  // COPSE_CLIENT_MPI_API_OUTPUT_LINE_H_
