/* SPDX-License-Identifier: Apache-2.0
 *
 * Types of elements, what may be done with them, and buffers of them. */
#ifndef COPSE_INTEGRATION_TESTS_MPI_RANDOM_ELEMENTS_H_
#define COPSE_INTEGRATION_TESTS_MPI_RANDOM_ELEMENTS_H_

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

enum class { INTEGERS, REALS, COMPLEX, BITS, TRUTH, PAIRS, MAPS, DATA };
struct type {
  MPI_Datatype type;
  enum class class;
  int parts; /* elements of `part` in one, if that is another way to say the same */
  MPI_Datatype part;
  size_t bytes; /* extent */
  int has_gaps;
};

extern struct type types[];
extern int type_count, reducible_count; /* the first ones */

void make_types(void);
void free_types(void);

/* One of the first `count` types. */
const struct type* draw_type(uint64_t* state, int count);
/* One for a type that can be reduced. */
MPI_Op draw_op(uint64_t* state, const struct type* type);

/* Elements from 1 to 3, or any bytes where nobody counts with them. */
void fill(void* buffer, size_t count, const struct type* type, uint64_t seed);
/* Goes on from `hash`. */
uint64_t hash_of(const void* buffer, size_t bytes, const struct type* type, uint64_t hash);

#endif /* COPSE_INTEGRATION_TESTS_MPI_RANDOM_ELEMENTS_H_ */
