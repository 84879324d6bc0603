/* SPDX-License-Identifier: Apache-2.0
 *
 * What a program may do with the buffers of a blocking collective once the call has returned, though data may still be
 * under way by then (COPSE_TNBC): in cases, which are in groups by theme. A wrong byte ends the job with a line that
 * names the case, the rank, the byte's place, and what was expected and found. */
#ifndef COPSE_INTEGRATION_TESTS_MPI_EARLY_EARLY_H_
#define COPSE_INTEGRATION_TESTS_MPI_EARLY_EARLY_H_

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "integration_tests/mpi/chance.h"

enum { PAGE = 4096 };

extern int rank, size;              /* of MPI_COMM_WORLD */
extern int thorough;                /* every size and place, instead of some */
extern int repeats;                 /* each exchange is one that was made in the same memory before */
extern const char* case_name;       /* of what runs */
extern char** more;                 /* arguments behind the names; NULL ends them */
extern uint64_t luck;               /* chance, of all ranks alike; each case begins anew */
extern int (*after_finalize)(void); /* NULL: nothing; returns the exit code */

struct exchange; /* exchange.h */

/* `run`, or one of the others: what is done to data that may be under way, with on_pending() or on_pending_heap(). */
struct early_case {
  const char* name;
  void (*run)(void);
  void (*pending)(struct exchange*);
  void (*pending_heap)(struct exchange*);
  size_t bytes;              /* 0: so many that several granules have a part */
  void (*before_init)(void); /* NULL: nothing */
};

struct early_group {
  const char* name;
  const struct early_case* cases;
  size_t count;
  int level; /* of threads, for MPI_Init_thread */
};

/* A case that is named for its function. */
#define RUN(function) \
  { .name = #function, .run = function }
#define PENDING(function) \
  { .name = #function, .pending = function }
#define PENDING_HEAP(function) \
  { .name = #function, .pending_heap = function }

/* Defines a group of cases, early_NAME. */
#define EARLY_GROUP(name, wanted_level, ...)                                                                    \
  static const struct early_case name##_cases[] = {__VA_ARGS__};                                                \
  const struct early_group early_##name = {#name, name##_cases, sizeof(name##_cases) / sizeof(name##_cases[0]), \
                                           wanted_level}

extern const struct early_group early_sizes, early_memory, early_touching, early_transfers, early_memory_calls,
    early_mpi_calls, early_processes, early_signals, early_threads, early_threads_multiple, early_threads_crossing,
    early_order, early_sends, early_traces, early_system_calls, early_accidents, early_adoption, early_default;

/* Ends the job. */
void fail(const char* format, ...) __attribute__((format(printf, 1, 2), noreturn));

#define EXPECT(condition)                                                \
  do {                                                                   \
    if (!(condition)) fail("%s:%d: %s", __FILE__, __LINE__, #condition); \
  } while (0)

/* A pointer of malloc() that is freed at the end of its block. */
#define SCOPED __attribute__((cleanup(free_scoped)))
static inline void free_scoped(void* variable) {
  void* memory;
  memcpy(&memory, variable, sizeof(memory));
  free(memory);
}

static inline int next_rank(void) { return (rank + 1) % size; }
static inline int previous_rank(void) { return (rank + size - 1) % size; }

/* Sends a message to the next rank and receives the previous one's. */
void shift(const void* from, void* to, size_t bytes);

/* Closes both ends of a pipe or of what is like one. */
void close_both(const int ends[2]);

/* Maps fresh pages that may be read and written. */
char* map_pages(size_t bytes);

/* Makes a temporary file; returns its descriptor. */
enum { FILE_NAME_BYTES = 512 };
int make_file(char name[FILE_NAME_BYTES]);

/* Waits for a child, which has to end with that code. */
void expect_ends(pid_t child, int code);

/* Whether the page is one that the daemon reaches. */
int is_adopted(const void* address);

/* Computes for some milliseconds. */
void be_late(void);

/* What `count` ranks from `first` on contribute to a round, XORed, from position `at` on. */
struct data {
  int first, count, round;
  uint64_t at;
};
void fill(void* to, size_t bytes, struct data data);

/* Broadcasts data of that round from rank 0 of the world, which is late, to `at`; `wanted` has it, too. */
void broadcast_round(void* at, void* wanted, size_t bytes, int round);

/* Fails if bytes differ. `what` says whose they are. */
void expect_same(const char* what, const void* found, const void* expected, size_t bytes);
/* The first that differs; `bytes` if none does. */
size_t first_difference(const void* found, const void* expected, size_t bytes);

#endif /* COPSE_INTEGRATION_TESTS_MPI_EARLY_EARLY_H_ */
