/* SPDX-License-Identifier: Apache-2.0
 *
 * A collective at this rank, with its buffers and what has to be in them afterwards. */
#ifndef COPSE_INTEGRATION_TESTS_MPI_EARLY_EXCHANGE_H_
#define COPSE_INTEGRATION_TESTS_MPI_EARLY_EXCHANGE_H_

#include <mpi.h>
#include <stddef.h>
#include <sys/types.h>

#include "integration_tests/mpi/collectives.h"

/* Faults of MPICH 4.0.2 with MPI_IN_PLACE: random/random_program.h. */
int works_in_place(enum kind kind);

/* First comes what the call is to be, then what the functions below make of it. An exchange of zeros broadcasts from
 * rank 0 of MPI_COMM_WORLD. */
struct exchange {
  enum kind kind;
  MPI_Comm comm; /* 0: the world */
  int round;     /* of data, other than those of other calls near by */
  size_t block;  /* bytes of each rank's, or of all that is broadcast or reduced; v forms have less, too */
  int root;
  int in_place;
  int late;     /* 1 + the rank that is */
  int reversed; /* blocks of v forms */
  size_t gap;   /* between them, in bytes */

  int comm_rank, comm_size;
  size_t send_bytes, receive_bytes;
  size_t result_bytes; /* at the front of what is received; what is behind is MPI's to use */
  int *send_counts, *send_at, *receive_counts, *receive_at;
  char *send, *receive;
  char* wanted; /* in the receive buffer */
  /* The memory of the receive buffer, from the first byte of one guard to behind the last byte of the other. */
  char* base;
  size_t base_bytes;
  int is_mapped; /* instead of malloc()'s */
};

/* Finds out how many bytes are sent and received, and makes the send buffer, at `offset` in its page. */
void plan(struct exchange* e, size_t offset);
/* Receives at `to`, which is the caller's. */
void receive_at(struct exchange* e, char* to);
/* Receives in memory of its own with guards around, at `offset` in its page. */
void receive_in_pages(struct exchange* e, size_t offset);
/* The same by malloc(), without guards. */
void receive_in_heap(struct exchange* e);

/* Plans with a send buffer of whole pages, and receives in such pages of its own, or at `to`. */
void plan_in_pages(struct exchange* e);
void plan_at(struct exchange* e, char* to);

/* Fills the buffers, calls MPI, and writes over what was sent and over lists at once. */
void perform(struct exchange* e);
/* The two halves of it. */
void contribute(struct exchange* e);
void call(struct exchange* e);

/* Fails unless the receive buffer has in it what it should have. */
void check(const struct exchange* e);
/* The same for those who may not fail, such as a child. */
int is_right(const struct exchange* e);

/* The same of what goes through a pipe by `out`, piece by piece. */
void check_by_pipe(const struct exchange* e, ssize_t (*out)(int fd, const void* from, size_t bytes));

void release(struct exchange* e);

/* Checks and releases it. */
void finish(struct exchange* e);
/* All of it, in pages of its own, or at `to`. */
void run_in_pages(struct exchange e);
void run_at(struct exchange e, char* to);

/* Calls `body` with buffers of some `bytes` that data may be on its way to: of a broadcast, a reduction, and an
 * exchange between all, each with a rank that is late. Then they are checked. A body that does away with the buffer
 * sets `receive` and `base` to NULL. */
void on_pending(size_t bytes, void (*body)(struct exchange* e));
/* The same with memory of malloc(). */
void on_pending_heap(size_t bytes, void (*body)(struct exchange* e));

#endif /* COPSE_INTEGRATION_TESTS_MPI_EARLY_EXCHANGE_H_ */
