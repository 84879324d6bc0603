/* SPDX-License-Identifier: Apache-2.0
 *
 * Communicators that come and go, with what is kept with them. */
#ifndef COPSE_INTEGRATION_TESTS_MPI_RANDOM_COMMUNICATORS_H_
#define COPSE_INTEGRATION_TESTS_MPI_RANDOM_COMMUNICATORS_H_

#include <stdint.h>

#include "integration_tests/mpi/random/random_program.h"

/* The key of the attribute that is kept with each communicator. */
void make_attribute_key(void);
void free_attribute_key(void);

/* In a slot that is free, if there is one. */
void make_communicator(struct thread* t, int from, uint64_t* state);
void free_communicator(struct thread* t, int which, uint64_t* state);

/* What is kept with a communicator is still there. */
void look_at(struct thread* t, int slot);

#endif /* COPSE_INTEGRATION_TESTS_MPI_RANDOM_COMMUNICATORS_H_ */
