/* SPDX-License-Identifier: Apache-2.0
 *
 * Every collective in every mode that the MPI has. */
#ifndef COPSE_INTEGRATION_TESTS_MPI_MODES_H_
#define COPSE_INTEGRATION_TESTS_MPI_MODES_H_

#include "integration_tests/mpi/collectives.h"

/* Calls a collective to its end; returns MPI's code. */
typedef int (*collective_function)(enum kind kind, const struct collective_arguments* a);

struct mode {
  const char* name;
  collective_function call;
  int persistent;
};

/* Blocking, non-blocking, and with MPI-4 persistent, and all of these with large counts. Non-blocking calls end in turn
 * by each function that completes requests, among sends and receives. */
extern const struct mode kModes[];
extern const int kModeCount;

/* Whether a persistent call's second start would give something else. */
extern int start_once;

#endif /* COPSE_INTEGRATION_TESTS_MPI_MODES_H_ */
