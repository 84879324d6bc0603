/* SPDX-License-Identifier: Apache-2.0
 *
 * One collective or message at this rank, from its buffers to what came of it. */
#ifndef COPSE_INTEGRATION_TESTS_MPI_RANDOM_OPERATIONS_H_
#define COPSE_INTEGRATION_TESTS_MPI_RANDOM_OPERATIONS_H_

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

#include "integration_tests/mpi/collectives.h"
#include "integration_tests/mpi/random/elements.h"
#include "integration_tests/mpi/random/random_program.h"

enum { GUARD = 64 }; /* bytes around received data */

enum mode { BLOCKING, STARTED, PERSISTENT };

/* One collective or message at this rank, until its result has been counted. */
struct operation {
  struct slot on; /* as it was when it began */
  int slot;       /* its number */
  int step;
  enum kind kind;
  enum mode mode;
  int due;    /* at which step it is completed */
  int starts; /* that a persistent one still has after this one */
  MPI_Request request;
  const struct type *type, *peer_type; /* of what is sent, and received */
  int count;                           /* elements of a block, of the first type */
  MPI_Op op;
  int root; /* of a message: the other rank */
  int in_place;
  int late; /* a receive that is posted when it is due */
  uint64_t seed;
  char *send, *receive; /* with a guard on either side */
  size_t send_bytes, receive_bytes;
  int *send_counts, *send_at, *receive_counts, *receive_at;
};

/* Makes a result part of the thread's hash. `o` is what it is the result of, or NULL. That of a blocking call counts as
 * if it were looked at when the call returns. */
void count_in(struct thread* t, const char* what, const struct operation* o, uint64_t hash);

/* With a guard on either side. */
void* new_buffer(size_t bytes);

/* Elements of the receiver's type that are `count` of the sender's. */
int as_received(const struct operation* o, int count);

/* Buffers for a collective. What is not received stays as it is, and is looked at, too. */
void prepare(struct thread* t, struct operation* o);
/* What the rank contributes, for a start of the call. */
void contribute(struct operation* o);
/* Calls MPI for a collective. */
void begin(struct thread* t, struct operation* o);
void post_receive(struct operation* o);
/* A hash of what the operation received. */
uint64_t result_of(const struct operation* o);
/* The operation is complete: what came of it counts. */
void note(struct thread* t, struct operation* o);
void release(struct operation* o);

#endif /* COPSE_INTEGRATION_TESTS_MPI_RANDOM_OPERATIONS_H_ */
