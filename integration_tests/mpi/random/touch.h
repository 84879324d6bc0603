/* SPDX-License-Identifier: Apache-2.0
 *
 * How a rank looks at the results of its blocking collectives, at its own discretion: at once or some steps later, in
 * any order, itself or by others. What it sent is written over or freed at once. */
#ifndef COPSE_INTEGRATION_TESTS_MPI_RANDOM_TOUCH_H_
#define COPSE_INTEGRATION_TESTS_MPI_RANDOM_TOUCH_H_

#include "integration_tests/mpi/random/random_program.h"

/* A blocking call has returned. It is noted and released here or by one of the others. */
void touch_some_time(struct thread* t, struct operation* o);
/* Notes what is to be looked at by now. */
void touch_due(struct thread* t);
void touch_all(struct thread* t);

#endif /* COPSE_INTEGRATION_TESTS_MPI_RANDOM_TOUCH_H_ */
