/* SPDX-License-Identifier: Apache-2.0
 *
 * Programs of many situations, of which the first argument picks one. */
#ifndef COPSE_INTEGRATION_TESTS_MPI_SITUATION_H_
#define COPSE_INTEGRATION_TESTS_MPI_SITUATION_H_

#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

static int rank, size;

#define EXPECT(condition)                                           \
  do {                                                              \
    if (!(condition)) {                                             \
      printf("rank %d, line %d: %s\n", rank, __LINE__, #condition); \
      fflush(stdout);                                               \
      MPI_Abort(MPI_COMM_WORLD, 1);                                 \
    }                                                               \
  } while (0)

struct situation {
  const char* name;
  void (*run)(void);
};
/* A situation is named for its function. */
#define SITUATION(function) \
  { #function, function }
#define SITUATIONS(...) static const struct situation kSituations[] = {__VA_ARGS__}

/* Enough calls for the communicator to have a team. */
static inline void warm_up(MPI_Comm comm) {
  for (int i = 0; i < 8; ++i) MPI_Barrier(comm);
}

/* Calls `body` in three threads, each with a communicator of its own. */
static inline void on_threads(void* (*body)(void* comm)) {
  enum { THREADS = 3 };
  MPI_Comm comms[THREADS];
  pthread_t running[THREADS];
  for (int i = 0; i < THREADS; ++i) MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
  for (int i = 0; i < THREADS; ++i) EXPECT(pthread_create(&running[i], NULL, body, &comms[i]) == 0);
  for (int i = 0; i < THREADS; ++i) pthread_join(running[i], NULL);
  for (int i = 0; i < THREADS; ++i) MPI_Comm_free(&comms[i]);
}

static inline int error_class(int code) {
  int class = MPI_SUCCESS;
  MPI_Error_class(code, &class);
  return class;
}

/* main's end. Rank 0 prints "done" if all was as it should be. */
static inline int run_situation(const char* name, const struct situation* situations, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    if (name == NULL || strcmp(name, situations[i].name) != 0) continue;
    situations[i].run();
    if (rank == 0) printf("done\n");
    return MPI_Finalize() != MPI_SUCCESS;
  }
  MPI_Abort(MPI_COMM_WORLD, 2);
  return 2;
}

static inline void start_mpi(int* argc, char*** argv, int is_threaded) {
  int provided = MPI_THREAD_SINGLE;
  MPI_Init_thread(argc, argv, is_threaded ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  EXPECT(!is_threaded || provided == MPI_THREAD_MULTIPLE);
}

#endif /* COPSE_INTEGRATION_TESTS_MPI_SITUATION_H_ */
