/* SPDX-License-Identifier: Apache-2.0
 *
 * What goes wrong while data is under way. One case a job; lines go to the file that the first argument names. */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "integration_tests/mpi/early/early.h"
#include "integration_tests/mpi/early/exchange.h"

enum {
  BYTES = 1 << 20,
  BESIDE = 16, /* a buffer that begins there shares its pages, so that calls wait for its ends */
};

static void use_file(void) {
  EXPECT(more[0] != NULL && freopen(more[0], "a", stdout) != NULL && dup2(fileno(stdout), STDERR_FILENO) >= 0);
  setvbuf(stdout, NULL, _IOLBF, 0);
}

static char* new_pages(void) { return map_pages(BYTES + PAGE); }

/* The call has failed, since data that it needs is lost. */
static void expect_lost(const char* call, int code) {
  int class = MPI_SUCCESS;
  if (code == MPI_SUCCESS) fail("%s with lost data succeeds", call);
  MPI_Error_class(code, &class);
  if (class != MPI_ERR_OTHER) fail("%s with lost data: class %d", call, class);
}

/* --- A daemon dies while all but rank 0 are in a broadcast or have returned from it --- */

static void await_line(const char* pipe) {
  char line[16];
  FILE* stream = fopen(pipe, "r");
  EXPECT(stream != NULL && fgets(line, sizeof(line), stream) != NULL);
  fclose(stream);
}

/* With the second argument's pipe: rank 0 enters when a line comes out of it. Before the first ones
 * ranks form teams and agree on an order, for which all are needed. */
static int broadcast(char* at) {
  use_file();
  EXPECT(more[1] != NULL);
  for (int i = 0; i < 2; ++i) MPI_Bcast(at, BYTES, MPI_BYTE, 0, MPI_COMM_WORLD);
  EXPECT(memchr(at, 1, BYTES) == NULL); /* all is there */
  MPI_Barrier(MPI_COMM_WORLD);
  printf("rank %d comes to the last one\n", rank);
  if (rank == 0) await_line(more[1]);
  return MPI_Bcast(at, BYTES, MPI_BYTE, 0, MPI_COMM_WORLD);
}

/* Rank 0 has all of it. Its next call would fail, and end the job, perhaps before the others are that far. */
static void touch(char* at) {
  while (rank == 0) pause();
  at[0] = at[BYTES / 2];
}

static void go_on(void) {
  MPI_Barrier(MPI_COMM_WORLD);
  printf("rank %d went on\n", rank);
}
static void broadcast_and_touch(char* at) {
  broadcast(at);
  touch(at);
  go_on();
}
static void daemon_dies(void) { broadcast_and_touch(new_pages() + BESIDE); }
/* Whole pages: no rank waits in the call, even for the edges. */
static void daemon_dies_and_data_is_touched(void) { broadcast_and_touch(new_pages()); }
/* Nobody touches what did not come, but calls MPI. The first barrier may be over on ranks 0 and 1: the others have come
 * to it before their daemon died. */
static void daemon_dies_and_errors_return(void) {
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  int code = broadcast(new_pages());
  for (int i = 0; i < 2 && code == MPI_SUCCESS; ++i) code = MPI_Barrier(MPI_COMM_WORLD);
  expect_lost("MPI_Barrier", code);
  EXPECT(MPI_Barrier(MPI_COMM_WORLD) != MPI_SUCCESS); /* and from then on */
  printf("rank %d was told\n", rank);
  fflush(stdout);
}

/* --- A daemon dies while data is under way that rank 0, which is stopped, has not sent yet --- */

enum { LONG_BYTES = 32 << 20, MIDDLE = LONG_BYTES / 2 };

/* By calls that have nothing to do with the communicator that brought it. */
static void give_lost_data_to_mpi(char* at, MPI_Comm other, MPI_Comm another, MPI_File file) {
  MPI_Request request;
  const int n = LONG_BYTES;
  int flag = 0;
  SCOPED char* sum = malloc(LONG_BYTES);
  expect_lost("MPI_Send", MPI_Send(at, n, MPI_BYTE, rank, 0, other));
  expect_lost("MPI_Isend", MPI_Isend(at + MIDDLE, 1, MPI_BYTE, rank, 0, other, &request));
  expect_lost("MPI_Irecv", MPI_Irecv(at, n, MPI_BYTE, rank, 0, other, &request));
  expect_lost("MPI_Sendrecv",
              MPI_Sendrecv(&flag, 1, MPI_INT, rank, 0, at, n, MPI_BYTE, rank, 0, other, MPI_STATUS_IGNORE));
  expect_lost("MPI_File_write", MPI_File_write(file, at, n, MPI_BYTE, MPI_STATUS_IGNORE));
  expect_lost("MPI_File_write_at", MPI_File_write_at(file, 0, at + MIDDLE, 1, MPI_BYTE, MPI_STATUS_IGNORE));
  EXPECT(MPI_File_write(file, at, 1, MPI_BYTE, MPI_STATUS_IGNORE) == MPI_SUCCESS); /* which has come */
  EXPECT(MPI_Isend(at, 1, MPI_BYTE, rank, 0, other, &request) == MPI_SUCCESS);
  EXPECT(MPI_Recv(&flag, 1, MPI_BYTE, rank, 0, other, MPI_STATUS_IGNORE) == MPI_SUCCESS);
  EXPECT(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
  /* From then on the ranks' calls there are not the same. */
  expect_lost("MPI_Allreduce", MPI_Allreduce(at, sum, n, MPI_BYTE, MPI_BOR, other));
  expect_lost("MPI_Barrier", MPI_Barrier(other));
  if (MPI_Iallreduce(at, sum, n, MPI_BYTE, MPI_BOR, another, &request) == MPI_SUCCESS) {
    expect_lost("MPI_Iallreduce", MPI_Wait(&request, MPI_STATUS_IGNORE));
  }
}

/* By calls that others have no part in. `few`: of the ranks that make them. */
static void give_lost_data_to_own_calls(char* at, MPI_Comm other, MPI_Comm few) {
  const int n = LONG_BYTES, own = rank - 1;
  int place = 0;
  SCOPED char* room = malloc(LONG_BYTES);
  char* const lost = at + MIDDLE;
  MPI_Comm ring;
  MPI_Win window;
  expect_lost("MPI_Pack", MPI_Pack(at, n, MPI_BYTE, room, n, &place, other));
  expect_lost("MPI_Unpack", MPI_Unpack(lost, 1, &place, room, 1, MPI_BYTE, other));
  expect_lost("MPI_Unpack", MPI_Unpack(room, n, &place, at, n, MPI_BYTE, other));
  expect_lost("MPI_Pack_external", MPI_Pack_external("external32", lost, 1, MPI_BYTE, room, n, &(MPI_Aint){0}));
  expect_lost("MPI_Reduce_local", MPI_Reduce_local(room, at, n, MPI_BYTE, MPI_BOR));
  EXPECT(MPI_Pack(at, 1, MPI_BYTE, room, n, &place, other) == MPI_SUCCESS); /* which has come */
  MPI_Cart_create(MPI_COMM_SELF, 1, (int[]){1}, (int[]){1}, 0, &ring);
  MPI_Comm_set_errhandler(ring, MPI_ERRORS_RETURN);
  expect_lost("MPI_Neighbor_allgather", MPI_Neighbor_allgather(lost, 1, MPI_BYTE, room, 1, MPI_BYTE, ring));
  MPI_Comm_free(&ring);
  MPI_Win_create(room, n, 1, MPI_INFO_NULL, few, &window);
  MPI_Win_set_errhandler(window, MPI_ERRORS_RETURN);
  MPI_Win_fence(0, window);
  expect_lost("MPI_Put", MPI_Put(at, n, MPI_BYTE, own, 0, n, MPI_BYTE, window));
  expect_lost("MPI_Get", MPI_Get(at, n, MPI_BYTE, own, 0, n, MPI_BYTE, window));
  expect_lost("MPI_Accumulate", MPI_Accumulate(lost, 1, MPI_BYTE, own, 0, 1, MPI_BYTE, MPI_BOR, window));
  expect_lost("MPI_Fetch_and_op", MPI_Fetch_and_op(room, lost, MPI_BYTE, own, 0, MPI_BOR, window));
  expect_lost("MPI_Compare_and_swap", MPI_Compare_and_swap(room, lost, room, MPI_BYTE, own, 0, window));
  EXPECT(MPI_Put(at, 1, MPI_BYTE, own, 0, 1, MPI_BYTE, window) == MPI_SUCCESS);
  MPI_Win_fence(0, window);
  MPI_Win_free(&window);
}

/* Requests that were made before; the first one's data has come. */
enum { STARTED = 2 };
static void start_with_lost_data(MPI_Request started[STARTED], MPI_Comm other) {
  char byte = 1;
  expect_lost("MPI_Start", MPI_Start(&started[1]));
  expect_lost("MPI_Startall", MPI_Startall(STARTED, started));
  EXPECT(MPI_Start(&started[0]) == MPI_SUCCESS);
  EXPECT(MPI_Recv(&byte, 1, MPI_BYTE, rank, 1, other, MPI_STATUS_IGNORE) == MPI_SUCCESS && byte == 0);
  EXPECT(MPI_Wait(&started[0], MPI_STATUS_IGNORE) == MPI_SUCCESS);
  for (int i = 0; i < STARTED; ++i) EXPECT(MPI_Request_free(&started[i]) == MPI_SUCCESS);
}

static void data_is_lost(void) {
  use_file();
  MPI_Comm other, another;
  MPI_File file;
  int pids[64], mine = getpid();
  char path[4096], *const at = map_pages(LONG_BYTES + PAGE) + BESIDE;
  EXPECT(size <= 64);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_dup(MPI_COMM_WORLD, &other); /* with the handler */
  MPI_Comm_dup(MPI_COMM_WORLD, &another);
  snprintf(path, sizeof(path), "%s.%d", more[0], rank);
  EXPECT(MPI_File_open(MPI_COMM_SELF, path, MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file) == MPI_SUCCESS);
  MPI_Allgather(&mine, 1, MPI_INT, pids, 1, MPI_INT, MPI_COMM_WORLD);
  for (int i = 0; i < 2; ++i) MPI_Bcast(at, LONG_BYTES, MPI_BYTE, 0, MPI_COMM_WORLD);
  EXPECT(memchr(at, 1, LONG_BYTES) == NULL);
  MPI_Barrier(other);
  MPI_Barrier(another);
  MPI_Comm few;
  MPI_Comm_split(MPI_COMM_WORLD, rank == 0 ? MPI_UNDEFINED : 0, rank, &few);
  MPI_Request started[STARTED];
  for (int i = 0; i < STARTED; ++i) MPI_Send_init(at + i * MIDDLE, 1, MPI_BYTE, rank, 1, other, &started[i]);
#if MPI_VERSION >= 4
  MPI_Request collective;
  MPI_Bcast_init(at, LONG_BYTES, MPI_BYTE, 0, another, MPI_INFO_NULL, &collective);
#endif
  const int code = MPI_Bcast(at, LONG_BYTES, MPI_BYTE, 0, MPI_COMM_WORLD);
  if (rank != 0) {
    EXPECT(kill(pids[0], SIGSTOP) == 0); /* its segments are posted one after another */
    EXPECT(code == MPI_SUCCESS);
    printf("rank %d has returned\n", rank);
    give_lost_data_to_mpi(at, other, another, file);
    give_lost_data_to_own_calls(at, other, few);
    start_with_lost_data(started, other);
#if MPI_VERSION >= 4
    expect_lost("MPI_Start", MPI_Start(&collective));
#endif
  }
  if (rank == 1) EXPECT(kill(pids[0], SIGCONT) == 0);
  EXPECT(MPI_Barrier(MPI_COMM_WORLD) != MPI_SUCCESS);
  at[MIDDLE] = 1; /* the program's again */
  EXPECT(MPI_File_write(file, at, LONG_BYTES, MPI_BYTE, MPI_STATUS_IGNORE) == MPI_SUCCESS);
  MPI_File_close(&file);
  printf("rank %d was told\n", rank);
  fflush(stdout);
}

/* --- The last rank leaves --- */

static void leave(void (*how)(void)) {
  use_file();
  char* at = new_pages();
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) be_late(), memset(at, 3, BYTES);
  MPI_Bcast(at, BYTES, MPI_BYTE, 0, MPI_COMM_WORLD);
  if (rank == size - 1) how();
  go_on();
}
static void exit_now(void) { _exit(3); }
static void exit_in_order(void) { exit(3); }
static void abort_job(void) { MPI_Abort(MPI_COMM_WORLD, 5); }
static void abort_self(void) { abort(); }
static void kill_self(void) { kill(getpid(), SIGKILL); }
static void become_another(void) { execl("/bin/false", "false", (char*)NULL); }
/* As MPI found it: some of them have handlers of their own that only print. */
static void dereference_null(void) {
  volatile char* volatile nowhere = NULL;
  signal(SIGSEGV, SIG_DFL);
  *nowhere = 1;
}
static void touch_own_protected_page(void) {
  char* page = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  *(volatile char*)page = 1;
}

static void exits(void) { leave(exit_now); }
static void exits_in_order(void) { leave(exit_in_order); }
static void aborts(void) { leave(abort_job); }
static void aborts_alone(void) { leave(abort_self); }
static void is_killed(void) { leave(kill_self); }
static void execs(void) { leave(become_another); }
static void null_dereference(void) { leave(dereference_null); }
static void own_protected_page(void) { leave(touch_own_protected_page); }

EARLY_GROUP(accidents, MPI_THREAD_SINGLE, RUN(daemon_dies), RUN(daemon_dies_and_data_is_touched),
            RUN(daemon_dies_and_errors_return), RUN(data_is_lost), RUN(exits), RUN(exits_in_order), RUN(aborts),
            RUN(aborts_alone), RUN(is_killed), RUN(execs), RUN(null_dereference), RUN(own_protected_page));
