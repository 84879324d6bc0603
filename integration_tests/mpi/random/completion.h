/* SPDX-License-Identifier: Apache-2.0
 *
 * How operations that were started end. */
#ifndef COPSE_INTEGRATION_TESTS_MPI_RANDOM_COMPLETION_H_
#define COPSE_INTEGRATION_TESTS_MPI_RANDOM_COMPLETION_H_

#include "integration_tests/mpi/random/random_program.h"

/* Completes what is due, or all that runs on a slot (-1: on any), and starts again what is to be started again. */
void complete(struct thread* t, int slot, int everything);

#endif /* COPSE_INTEGRATION_TESTS_MPI_RANDOM_COMPLETION_H_ */
