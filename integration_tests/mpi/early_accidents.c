/* SPDX-License-Identifier: Apache-2.0
 *
 * What goes wrong while data is under way. One case a job; lines go to the file that the first argument names. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "early.h"
#include "early_exchange.h"

enum { BYTES = 1 << 20 };

static void use_file(void) {
  EXPECT(more[0] != NULL && freopen(more[0], "a", stdout) != NULL && dup2(fileno(stdout), STDERR_FILENO) >= 0);
  setvbuf(stdout, NULL, _IOLBF, 0);
}

static char* new_pages(void) {
  char* at = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  EXPECT(at != MAP_FAILED);
  return at;
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
  if (rank == 0) await_line(more[1]);
  return MPI_Bcast(at, BYTES, MPI_BYTE, 0, MPI_COMM_WORLD);
}

static void daemon_dies(void) {
  char* at = new_pages();
  broadcast(at);
  if (rank != 0) at[0] = at[BYTES / 2];
  MPI_Barrier(MPI_COMM_WORLD);
  printf("rank %d went on\n", rank);
}
/* Nobody touches what did not come, but calls MPI. */
static void daemon_dies_and_errors_return(void) {
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  int code = broadcast(new_pages()), class = MPI_SUCCESS;
  if (code == MPI_SUCCESS) code = MPI_Barrier(MPI_COMM_WORLD);
  MPI_Error_class(code, &class);
  EXPECT(class == MPI_ERR_OTHER);
  EXPECT(MPI_Barrier(MPI_COMM_WORLD) != MPI_SUCCESS); /* and from then on */
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
  MPI_Barrier(MPI_COMM_WORLD);
  printf("rank %d went on\n", rank);
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

static const struct early_case kCases[] = {
    {.name = "daemon_dies", .run = daemon_dies},
    {.name = "daemon_dies_and_errors_return", .run = daemon_dies_and_errors_return},
    {.name = "exits", .run = exits},
    {.name = "exits_in_order", .run = exits_in_order},
    {.name = "aborts", .run = aborts},
    {.name = "aborts_alone", .run = aborts_alone},
    {.name = "is_killed", .run = is_killed},
    {.name = "execs", .run = execs},
    {.name = "null_dereference", .run = null_dereference},
    {.name = "own_protected_page", .run = own_protected_page},
};
EARLY_GROUP(early_accidents, "accidents", kCases, MPI_THREAD_SINGLE);
