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

/* --- Each collective's parameters, as they are passed on. COUNTS and PLACES are arrays, one number a rank. --- */

#define SIGNATURES(S)                                                                                                  \
  S(Bcast, Ibcast, (void* b, int n, MPI_Datatype t, int root, MPI_Comm comm), b, n, t, root, comm)                     \
  S(Reduce, Ireduce, (const void* s, void* r, int n, MPI_Datatype t, MPI_Op op, int root, MPI_Comm comm), s, r, n, t,  \
    op, root, comm)                                                                                                    \
  S(Allreduce, Iallreduce, (const void* s, void* r, int n, MPI_Datatype t, MPI_Op op, MPI_Comm comm), s, r, n, t, op,  \
    comm)                                                                                                              \
  S(Gather, Igather, (const void* s, int n, MPI_Datatype t, void* r, int m, MPI_Datatype u, int root, MPI_Comm comm),  \
    s, n, t, r, m, u, root, comm)                                                                                      \
  S(Gatherv, Igatherv,                                                                                                 \
    (const void* s, int n, MPI_Datatype t, void* r, const int m[], const int at[], MPI_Datatype u, int root,           \
     MPI_Comm comm),                                                                                                   \
    s, n, t, r, COUNTS(m), PLACES(at), u, root, comm)                                                                  \
  S(Scatter, Iscatter,                                                                                                 \
    (const void* s, int n, MPI_Datatype t, void* r, int m, MPI_Datatype u, int root, MPI_Comm comm), s, n, t, r, m, u, \
    root, comm)                                                                                                        \
  S(Scatterv, Iscatterv,                                                                                               \
    (const void* s, const int n[], const int at[], MPI_Datatype t, void* r, int m, MPI_Datatype u, int root,           \
     MPI_Comm comm),                                                                                                   \
    s, COUNTS(n), PLACES(at), t, r, m, u, root, comm)                                                                  \
  S(Allgather, Iallgather, (const void* s, int n, MPI_Datatype t, void* r, int m, MPI_Datatype u, MPI_Comm comm), s,   \
    n, t, r, m, u, comm)                                                                                               \
  S(Allgatherv, Iallgatherv,                                                                                           \
    (const void* s, int n, MPI_Datatype t, void* r, const int m[], const int at[], MPI_Datatype u, MPI_Comm comm), s,  \
    n, t, r, COUNTS(m), PLACES(at), u, comm)                                                                           \
  S(Alltoall, Ialltoall, (const void* s, int n, MPI_Datatype t, void* r, int m, MPI_Datatype u, MPI_Comm comm), s, n,  \
    t, r, m, u, comm)                                                                                                  \
  S(Alltoallv, Ialltoallv,                                                                                             \
    (const void* s, const int n[], const int at[], MPI_Datatype t, void* r, const int m[], const int to[],             \
     MPI_Datatype u, MPI_Comm comm),                                                                                   \
    s, COUNTS(n), PLACES(at), t, r, COUNTS(m), PLACES(to), u, comm)                                                    \
  S(Alltoallw, Ialltoallw,                                                                                             \
    (const void* s, const int n[], const int at[], const MPI_Datatype t[], void* r, const int m[], const int to[],     \
     const MPI_Datatype u[], MPI_Comm comm),                                                                           \
    s, COUNTS(n), PLACES(at), t, r, COUNTS(m), PLACES(to), u, comm)                                                    \
  S(Reduce_scatter, Ireduce_scatter,                                                                                   \
    (const void* s, void* r, const int n[], MPI_Datatype t, MPI_Op op, MPI_Comm comm), s, r, COUNTS(n), t, op, comm)   \
  S(Reduce_scatter_block, Ireduce_scatter_block,                                                                       \
    (const void* s, void* r, int n, MPI_Datatype t, MPI_Op op, MPI_Comm comm), s, r, n, t, op, comm)                   \
  S(Scan, Iscan, (const void* s, void* r, int n, MPI_Datatype t, MPI_Op op, MPI_Comm comm), s, r, n, t, op, comm)      \
  S(Exscan, Iexscan, (const void* s, void* r, int n, MPI_Datatype t, MPI_Op op, MPI_Comm comm), s, r, n, t, op, comm)

#define BARRIER(S) S(Barrier, Ibarrier, (MPI_Comm comm), comm)

/* --- The modes --- */

#define COUNTS(array) array
#define PLACES(array) array

#define LATER(name, iname, parameters, ...)               \
  static int later_##name parameters {                    \
    MPI_Request request;                                  \
    const int code = MPI_##iname(__VA_ARGS__, &request);  \
    return code != MPI_SUCCESS ? code : finish(&request); \
  }
BARRIER(LATER)
SIGNATURES(LATER)

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

#define AGAIN(name, iname, parameters, ...)                                   \
  static int again_##name parameters {                                        \
    MPI_Request request;                                                      \
    const int code = MPI_##name##_init(__VA_ARGS__, MPI_INFO_NULL, &request); \
    return code != MPI_SUCCESS ? code : start_and_finish(&request);           \
  }
BARRIER(AGAIN)
SIGNATURES(AGAIN)

#undef COUNTS
#undef PLACES
#define COUNTS(array) wide_counts(array)
#define PLACES(array) wide_places(array)

/* Copies, until two more have been made. */
#define WIDE(name, kind)                                     \
  static const kind* name(const int* array) {                \
    static kind wide[ARRAYS][RANKS_MAX];                     \
    static int turn = 0;                                     \
    int size;                                                \
    MPI_Comm_size(MPI_COMM_WORLD, &size);                    \
    turn = (turn + 1) % ARRAYS;                              \
    for (int i = 0; i < size; ++i) wide[turn][i] = array[i]; \
    return wide[turn];                                       \
  }
WIDE(wide_counts, MPI_Count)
WIDE(wide_places, MPI_Aint)

#define LARGE(name, iname, parameters, ...) \
  static int large_##name parameters { return MPI_##name##_c(__VA_ARGS__); }
SIGNATURES(LARGE)

#define LATER_LARGE(name, iname, parameters, ...)            \
  static int later_large_##name parameters {                 \
    MPI_Request request;                                     \
    const int code = MPI_##iname##_c(__VA_ARGS__, &request); \
    return code != MPI_SUCCESS ? code : finish(&request);    \
  }
SIGNATURES(LATER_LARGE)

#define AGAIN_LARGE(name, iname, parameters, ...)                               \
  static int again_large_##name parameters {                                    \
    MPI_Request request;                                                        \
    const int code = MPI_##name##_init_c(__VA_ARGS__, MPI_INFO_NULL, &request); \
    return code != MPI_SUCCESS ? code : start_and_finish(&request);             \
  }
SIGNATURES(AGAIN_LARGE)

#endif

#define AT_ONCE_API(name) .name = MPI_##name,
#define LATER_API(name) .name = later_##name,
#define AGAIN_API(name) .name = again_##name,
#define LARGE_API(name) .name = large_##name,
#define LATER_LARGE_API(name) .name = later_large_##name,
#define AGAIN_LARGE_API(name) .name = again_large_##name,

const struct mode kModes[] = {
    {"blocking", {COLLECTIVES(AT_ONCE_API)}, 0},
    {"non-blocking", {COLLECTIVES(LATER_API)}, 0},
#if MPI_VERSION >= 4
    {"persistent", {COLLECTIVES(AGAIN_API)}, 1},
    {"large", {.Barrier = MPI_Barrier, COLLECTIVES_WITH_COUNTS(LARGE_API)}, 0},
    {"non-blocking large", {.Barrier = later_Barrier, COLLECTIVES_WITH_COUNTS(LATER_LARGE_API)}, 0},
    {"persistent large", {.Barrier = again_Barrier, COLLECTIVES_WITH_COUNTS(AGAIN_LARGE_API)}, 1},
#endif
};
const int kModeCount = sizeof(kModes) / sizeof(kModes[0]);
