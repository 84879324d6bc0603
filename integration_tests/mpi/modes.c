/* SPDX-License-Identifier: Apache-2.0 */
#include "integration_tests/mpi/modes.h"

#include <stddef.h>

#include "integration_tests/mpi/completion.h"

enum { RANKS_MAX = 64, ARRAYS = 2, MIXED = 3 };

int start_once = 0;

/* Ends a call in turn by each function that completes requests, among a message to this rank itself. A persistent
 * request stays. */
static int finish(MPI_Request* request) {
  static unsigned turn = 0;
  const int sent = (int)++turn;
  int received = 0;
  MPI_Status statuses[MIXED];
  MPI_Request requests[MIXED] = {MPI_REQUEST_NULL, *request, MPI_REQUEST_NULL};
  MPI_Irecv(&received, 1, MPI_INT, 0, 0, MPI_COMM_SELF, &requests[0]);
  MPI_Isend(&sent, 1, MPI_INT, 0, 0, MPI_COMM_SELF, &requests[2]);
  const int ignores = turn / COMPLETION_WAYS % 2 == 0;
  const int code = complete_requests(MIXED, requests, ignores ? NULL : statuses, turn % COMPLETION_WAYS);
  *request = requests[1];
  return code != MPI_SUCCESS ? code : received == sent ? MPI_SUCCESS : MPI_ERR_OTHER;
}

static int non_blocking(enum kind kind, const struct collective_arguments* a) {
  MPI_Request request;
  const int code = start_collective(kind, a, &request);
  return code != MPI_SUCCESS ? code : finish(&request);
}

#if MPI_VERSION >= 4

static int start_and_finish(MPI_Request* request) {
  int code = MPI_SUCCESS;
  for (int i = 0; code == MPI_SUCCESS && i < (start_once ? 1 : 3); ++i) {
    code = i % 2 == 0 ? MPI_Start(request) : MPI_Startall(1, request);
    if (code == MPI_SUCCESS) code = finish(request);
  }
  const int freed = MPI_Request_free(request);
  return code != MPI_SUCCESS ? code : freed;
}

static int persistent(enum kind kind, const struct collective_arguments* a) {
  MPI_Request request;
  const int code = init_collective(kind, a, &request);
  return code != MPI_SUCCESS ? code : start_and_finish(&request);
}

#undef COUNTS
#undef PLACES
#define COUNTS(array) large_counts(array)
#define PLACES(array) large_places(array)

/* Copies, until two more have been made. */
#define ENLARGE(name, type)                                   \
  static const type* name(const int* array) {                 \
    static type large[ARRAYS][RANKS_MAX];                     \
    static int turn = 0;                                      \
    int size;                                                 \
    MPI_Comm_size(MPI_COMM_WORLD, &size);                     \
    turn = (turn + 1) % ARRAYS;                               \
    for (int i = 0; i < size; ++i) large[turn][i] = array[i]; \
    return large[turn];                                       \
  }
ENLARGE(large_counts, MPI_Count)
ENLARGE(large_places, MPI_Aint)

#define LARGE_CASE(kind, name, function, ifunction, ...) \
  case kind:                                             \
    return MPI_##function##_c(__VA_ARGS__, a->comm);
static int large(enum kind kind, const struct collective_arguments* a) {
  switch (kind) {
    COLLECTIVES(LARGE_CASE)
    default:
      return MPI_Barrier(a->comm);
  }
}

#define LARGE_START_CASE(kind, name, function, ifunction, ...)  \
  case kind:                                                    \
    code = MPI_##ifunction##_c(__VA_ARGS__, a->comm, &request); \
    break;
static int non_blocking_large(enum kind kind, const struct collective_arguments* a) {
  MPI_Request request;
  int code = MPI_SUCCESS;
  switch (kind) {
    COLLECTIVES(LARGE_START_CASE)
    default:
      code = MPI_Ibarrier(a->comm, &request);
  }
  return code != MPI_SUCCESS ? code : finish(&request);
}

#define LARGE_INIT_CASE(kind, name, function, ifunction, ...)                      \
  case kind:                                                                       \
    code = MPI_##function##_init_c(__VA_ARGS__, a->comm, MPI_INFO_NULL, &request); \
    break;
static int persistent_large(enum kind kind, const struct collective_arguments* a) {
  MPI_Request request;
  int code = MPI_SUCCESS;
  switch (kind) {
    COLLECTIVES(LARGE_INIT_CASE)
    default:
      code = MPI_Barrier_init(a->comm, MPI_INFO_NULL, &request);
  }
  return code != MPI_SUCCESS ? code : start_and_finish(&request);
}

#endif

const struct mode kModes[] = {
    {"blocking", call_collective, 0},
    {"non-blocking", non_blocking, 0},
#if MPI_VERSION >= 4
    {"persistent", persistent, 1},
    {"large", large, 0},
    {"non-blocking large", non_blocking_large, 0},
    {"persistent large", persistent_large, 1},
#endif
};
const int kModeCount = sizeof(kModes) / sizeof(kModes[0]);
