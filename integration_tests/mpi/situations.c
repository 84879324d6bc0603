/* SPDX-License-Identifier: Apache-2.0
 *
 * What programs do besides collectives with right arguments. The first argument says which; each prints lines of its
 * own, to the file that the second one names, and ends with exit code 0 if all was as it should be. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "integration_tests/mpi/situation.h"

enum {
  INTER_CALLS = 8,
  LONG_MESSAGE = 4 << 20,
  COMMUNICATORS = 100,
  THREAD_CALLS = 50,
  KIND_CALLS = 700,
  /* The first ones, with COPSE_MPI_CALLS_BEFORE=4, then five by the daemons, and two of five by MPI. */
  CALLS_TO_MPI = 11,
  LONG_SUM = 800,
  LONG_DATA = 1 << 20,
  SUM_CALLS = 16400,
  DUPS = 4,
  CALLS_ON_DUP = 70,
  SPLIT_RANKS_MAX = 16,
  STORM = 100,
  CALM = 30
};

static double long_sum[LONG_SUM];
static char* no_pipe = "";
static char** pipe_name = &no_pipe; /* of those that are not done with, the first */

/* A message that was started before a collective has to arrive while its sender waits in it. */
static void pending_send(void) {
  warm_up(MPI_COMM_WORLD);
  char* message = calloc(LONG_MESSAGE, 1);
  MPI_Request request = MPI_REQUEST_NULL;
  if (rank == 0) {
    memset(message, 7, LONG_MESSAGE);
    MPI_Isend(message, LONG_MESSAGE, MPI_CHAR, 1, 0, MPI_COMM_WORLD, &request);
  } else if (rank == 1) {
    MPI_Recv(message, LONG_MESSAGE, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    EXPECT(message[LONG_MESSAGE - 1] == 7);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  free(message);
}

/* The error's text has those words. */
static void expect_text(int code, const char* words) {
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  EXPECT(MPI_Error_string(code, text, &length) == MPI_SUCCESS && length == (int)strlen(text));
  EXPECT(strstr(text, words) != NULL);
}

/* Ranks that disagree are told so, in place of the collective's result. */
static void mismatch(void) {
  warm_up(MPI_COMM_WORLD);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  int in[2] = {1, 1}, out[2];
  const int code = MPI_Allreduce(in, out, rank == 0 ? 1 : 2, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  EXPECT(error_class(code) == MPI_ERR_ARG);
  expect_text(code, "cause=ranks-differ");
  /* And from then on: nothing goes back to MPI. */
  EXPECT(MPI_Barrier(MPI_COMM_WORLD) != MPI_SUCCESS);
  printf("rank %d was told\n", rank);
}

/* Other communicators than the one that failed go on. */
static void mismatch_on_dup(void) {
  MPI_Comm dup;
  MPI_Comm_dup(MPI_COMM_WORLD, &dup);
  warm_up(dup);
  warm_up(MPI_COMM_WORLD);
  MPI_Comm_set_errhandler(dup, MPI_ERRORS_RETURN);
  int in[2] = {1, 1}, out[2], sum = 0;
  EXPECT(MPI_Allreduce(in, out, rank == 0 ? 1 : 2, MPI_INT, MPI_SUM, dup) != MPI_SUCCESS);
  EXPECT(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD) == MPI_SUCCESS);
  EXPECT(sum == size * (size - 1) / 2);
  MPI_Comm_free(&dup);
}

/* None leaves before all have got there: a launcher may kill the others when one does. Rank 0 tells whoever waits at
 * the pipe. */
static void leave_together(void) {
  int other = 0;
  printf("rank %d survives\n", rank);
  fflush(stdout);
  if (rank == 0) {
    for (int peer = 1; peer < size - 1; ++peer) {
      MPI_Recv(&other, 1, MPI_INT, peer, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    FILE* pipe = fopen(*pipe_name, "w");
    EXPECT(pipe != NULL && fputs("all survive\n", pipe) >= 0 && fclose(pipe) == 0);
    for (int peer = 1; peer < size - 1; ++peer) MPI_Send(&rank, 1, MPI_INT, peer, 0, MPI_COMM_WORLD);
  } else {
    MPI_Send(&rank, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
    MPI_Recv(&other, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  _exit(0);
}

/* The last rank is killed in mid-call; the others get an error instead of waiting. */
static void dies(void) {
  warm_up(MPI_COMM_WORLD);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  if (rank == size - 1) kill(getpid(), SIGKILL);
  const double start = MPI_Wtime();
  const int code = MPI_Barrier(MPI_COMM_WORLD);
  EXPECT(error_class(code) == MPI_ERR_OTHER && MPI_Wtime() - start < 20);
  leave_together();
}

/* The last rank makes no call while the others wait, with a time-out. */
static void one_is_late(void) {
  warm_up(MPI_COMM_WORLD);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  int sum = 0;
  if (rank == size - 1) {
    for (int peer = 0; peer < size - 1; ++peer) {
      MPI_Recv(&sum, 1, MPI_INT, peer, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    return;
  }
  EXPECT(error_class(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD)) == MPI_ERR_OTHER);
  printf("rank %d was told\n", rank);
  MPI_Send(&rank, 1, MPI_INT, size - 1, 0, MPI_COMM_WORLD);
}

/* The last rank goes to MPI_Finalize without a call that the others make. */
static void finalizes_early(void) {
  MPI_Comm dup;
  MPI_Comm_dup(MPI_COMM_WORLD, &dup);
  warm_up(MPI_COMM_WORLD);
  warm_up(dup);
  if (rank == size - 1) return;
  for (int i = 0; i < 2; ++i) {
    const MPI_Comm comm = i == 0 ? dup : MPI_COMM_WORLD;
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    const int code = MPI_Barrier(comm);
    EXPECT(error_class(code) == MPI_ERR_OTHER);
    char name[32];
    snprintf(name, sizeof(name), "rank=%d", size - 1);
    expect_text(code, name);
    expect_text(code, "cause=member-left");
  }
  printf("rank %d was told\n", rank);
}

/* The byte at `place` of what rank `from` sends rank `to`. */
static char byte_of(int from, int to, int place) { return (char)(from * 31 + to * 7 + place); }
static char* block_of(int from, int to, int bytes, char* at) {
  for (int i = 0; i < bytes; ++i) at[i] = byte_of(from, to, i);
  return at;
}
static void expect_block(int from, int to, int bytes, const char* at) {
  for (int i = 0; i < bytes; ++i) EXPECT(at[i] == byte_of(from, to, i));
}

/* Collectives of which a rank alone knows that it copies more than may be kept: the root, or who gets most. */
static void long_blocks(void) {
  warm_up(MPI_COMM_WORLD);
  const int mine = LONG_DATA + rank;
  int counts[size], places[size], ones[size], offsets[size];
  MPI_Datatype types[size];
  for (int i = 0, next = 0; i < size; ++i) {
    counts[i] = LONG_DATA + i;
    places[i] = next;
    next += counts[i] + 1;
    types[i] = MPI_CHAR;
  }
  char *all = calloc((size_t)size, LONG_DATA + size + 1), *own = calloc(1, LONG_DATA + size),
       *sent = calloc((size_t)size, LONG_DATA + size + 1);
  MPI_Gatherv(block_of(rank, 0, mine, own), mine, MPI_CHAR, all, counts, places, MPI_CHAR, 0, MPI_COMM_WORLD);
  for (int i = 0; rank == 0 && i < size; ++i) expect_block(i, 0, counts[i], all + places[i]);
  for (int i = 0; i < size; ++i) block_of(0, i, counts[i], all + places[i]);
  MPI_Scatterv(all, counts, places, MPI_CHAR, own, mine, MPI_CHAR, 0, MPI_COMM_WORLD);
  expect_block(0, rank, mine, own);
  /* To rank 0 all send long blocks, to others a byte. */
  for (int call = 0; call < 3; ++call) {
    memset(all, 0, (size_t)size * (LONG_DATA + (size_t)size + 1));
    for (int i = 0, next = 0; i < size; ++i) {
      ones[i] = i == 0 ? mine : 1;
      offsets[i] = next;
      block_of(rank, i, ones[i], sent + next);
      next += ones[i];
      if (rank != 0) counts[i] = 1;
    }
    MPI_Request request = MPI_REQUEST_NULL;
    if (call == 0) {
      MPI_Alltoallv(sent, ones, offsets, MPI_CHAR, all, counts, places, MPI_CHAR, MPI_COMM_WORLD);
    } else if (call == 1) {
      MPI_Alltoallw(sent, ones, offsets, types, all, counts, places, types, MPI_COMM_WORLD);
    } else {
      MPI_Ialltoallv(sent, ones, offsets, MPI_CHAR, all, counts, places, MPI_CHAR, MPI_COMM_WORLD, &request);
    }
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int i = 0; i < size; ++i) expect_block(i, rank, counts[i], all + places[i]);
  }
  free(all);
  free(own);
  free(sent);
}

static void say_going(void) {
  FILE* pipe = fopen(*pipe_name, "w");
  EXPECT(pipe != NULL && fputs("going\n", pipe) >= 0 && fclose(pipe) == 0);
}

/* Calls until one fails, here and everywhere: after some have gone by MPI, too, where the daemons need not take all. */
static void call_until_failure(void) {
  int code = MPI_SUCCESS;
  for (int i = 0; code == MPI_SUCCESS; ++i) {
    /* The others are in the last call by now, but need not have been told of its end. */
    if (rank == 0 && i == CALLS_TO_MPI) say_going();
    code = MPI_Barrier(MPI_COMM_WORLD);
    EXPECT(code == MPI_SUCCESS || i >= CALLS_TO_MPI - 1);
  }
  EXPECT(error_class(code) == MPI_ERR_OTHER);
  printf("rank %d was told\n", rank);
  fflush(stdout);
}

static void until_it_fails(void) {
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  call_until_failure();
}

/* The same, but a failure ends the job. */
static void until_it_ends(void) { call_until_failure(); }

/* More calls than it takes to find out by which way they are faster, and again. */
static void kinds_of_calls(void) {
  double first[3];
  int* all = malloc((size_t)size * 3 * sizeof(int));
  for (int i = 0; i < KIND_CALLS; ++i) {
    int sum = 0, root = i % size, word = rank == root ? i : -1;
    double mine = 0.1 * (rank + 1), total = 0, mean[3] = {1.0 / (rank + 3), mine, 1e17 * (rank - 1)};
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Allreduce(&i, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    EXPECT(sum == i * size);
    MPI_Bcast(&word, 1, MPI_INT, root, MPI_COMM_WORLD);
    EXPECT(word == i);
    int part[3] = {rank, i, -1}, root_sum = rank;
    MPI_Gather(part, 3, MPI_INT, all, 3, MPI_INT, root, MPI_COMM_WORLD);
    for (int j = 0; rank == root && j < size; ++j)
      EXPECT(all[3 * j] == j && all[3 * j + 1] == i && all[3 * j + 2] == -1);
    memset(all, 0, (size_t)size * 3 * sizeof(int));
    all[3 * rank] = rank + i;
    MPI_Allgather(MPI_IN_PLACE, 0, MPI_INT, all, 3, MPI_INT, MPI_COMM_WORLD);
    for (int j = 0; j < size; ++j) EXPECT(all[3 * j] == j + i);
    MPI_Reduce(rank == root ? MPI_IN_PLACE : &rank, &root_sum, 1, MPI_INT, MPI_SUM, root, MPI_COMM_WORLD);
    EXPECT(root_sum == (rank == root ? size * (size - 1) / 2 : rank));
    MPI_Reduce(&mine, &total, 1, MPI_DOUBLE, MPI_SUM, root, MPI_COMM_WORLD);
    EXPECT(rank != root || (total > 0.0999 * size * (size + 1) / 2 && total < 0.1001 * size * (size + 1) / 2));
    MPI_Allreduce(MPI_IN_PLACE, mean, 3, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    if (i == 0) memcpy(first, mean, sizeof(first));
    EXPECT(memcmp(first, mean, sizeof(first)) == 0); /* to the last bit, by whichever way */
    MPI_Reduce(rank == 0 ? MPI_IN_PLACE : long_sum, long_sum, LONG_SUM, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Request request;
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  free(all);
}
static void kinds_of_calls_handled(void) {
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  kinds_of_calls();
}
/* Some rank begins to handle errors when there is a team. */
static void kinds_of_calls_handled_later(void) {
  warm_up(MPI_COMM_WORLD);
  if (rank == 1) MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  kinds_of_calls();
}

/* Calls that take each rank long enough for a team to be worth its while, and as many again. */
static void calls_that_cost(void) {
  const double enough_s = 2.5;
  double spent = 0, least = 0;
  int calls = 0;
  int* const data = calloc(LONG_DATA, sizeof(int));
  while (least < enough_s) {
    const double start = MPI_Wtime();
    MPI_Allreduce(MPI_IN_PLACE, data, LONG_DATA, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    MPI_Allreduce(&spent, &least, 1, MPI_DOUBLE, MPI_MIN, MPI_COMM_WORLD);
    spent += MPI_Wtime() - start;
    calls += 2;
  }
  free(data);
  for (int i = 0; i < calls; ++i) MPI_Barrier(MPI_COMM_WORLD);
}

/* Sums whose result depends on the order, on a communicator that gets a team some time or other. */
static void long_sums_on(MPI_Comm comm) {
  for (int i = 0; i < SUM_CALLS; ++i) MPI_Allreduce(MPI_IN_PLACE, long_sum, LONG_SUM, MPI_DOUBLE, MPI_SUM, comm);
}
static void long_sums(void) { long_sums_on(MPI_COMM_WORLD); }
static void long_sums_on_dup(void) {
  MPI_Comm dup;
  MPI_Comm_dup(MPI_COMM_WORLD, &dup);
  long_sums_on(dup);
  MPI_Comm_free(&dup);
}

/* The last rank leaves while the others wait for it. */
static void leave(void (*how)(void)) {
  warm_up(MPI_COMM_WORLD);
  if (rank == size - 1) how();
  MPI_Barrier(MPI_COMM_WORLD);
  printf("rank %d went on\n", rank);
}
static void abort_all(void) { MPI_Abort(MPI_COMM_WORLD, 5); }
/* With a status: hydra may pass on 0 of a job one of whose ranks left with 0. */
static void exit_at_once(void) { _exit(3); }
static void become_another(void) { execl("/bin/false", "false", (char*)NULL); }
static void kill_self(void) { kill(getpid(), SIGKILL); }
/* Whoever notices first, launcher or library, the job ends. */
static void dies_fatally(void) { leave(kill_self); }
static void aborts(void) { leave(abort_all); }
static void exits(void) { leave(exit_at_once); }
static void execs(void) { leave(become_another); }

/* Types with addresses in them. */
static void bottom(void) {
  warm_up(MPI_COMM_WORLD);
  int near = rank == 0 ? 7 : -1, far[3] = {rank, rank, rank};
  MPI_Aint places[2];
  const int lengths[2] = {1, 2};
  MPI_Get_address(&near, &places[0]);
  MPI_Get_address(&far[1], &places[1]);
  MPI_Datatype absolute;
  MPI_Type_create_hindexed(2, lengths, places, MPI_INT, &absolute);
  MPI_Type_commit(&absolute);
  MPI_Bcast(MPI_BOTTOM, 1, absolute, 0, MPI_COMM_WORLD);
  EXPECT(near == 7 && far[0] == rank && far[1] == 0 && far[2] == 0);
  far[1] = rank;
  int* all = malloc((size_t)size * 3 * sizeof(int));
  MPI_Allgather(MPI_BOTTOM, 1, absolute, all, 3, MPI_INT, MPI_COMM_WORLD);
  for (int i = 0; i < size; ++i) EXPECT(all[3 * i] == 7 && all[3 * i + 1] == i && all[3 * i + 2] == 0);
  free(all);
  MPI_Type_free(&absolute);
}

static int copied, deleted;
static int on_copy(MPI_Comm comm, int keyval, void* extra, void* in, void* out, int* flag) {
  (void)comm, (void)keyval, (void)extra;
  *(void**)out = in;
  *flag = 1;
  ++copied;
  return MPI_SUCCESS;
}
static int on_delete(MPI_Comm comm, int keyval, void* attribute, void* extra) {
  (void)comm, (void)keyval, (void)attribute, (void)extra;
  ++deleted;
  return MPI_SUCCESS;
}

/* What the program keeps with a communicator is as without Copse. */
static void attributes(void) {
  int keyval, value = 3, found = 0, length = 0;
  int* got = NULL;
  char name[MPI_MAX_OBJECT_NAME] = "";
  MPI_Comm named, dup;
  MPI_Comm_create_keyval(on_copy, on_delete, &keyval, NULL);
  MPI_Comm_dup(MPI_COMM_WORLD, &named);
  MPI_Comm_set_attr(named, keyval, &value);
  MPI_Comm_set_name(named, "mine");
  warm_up(named);
  MPI_Comm_dup(named, &dup);
  warm_up(dup);
  MPI_Comm_get_name(named, name, &length);
  EXPECT(strcmp(name, "mine") == 0);
  MPI_Comm_get_attr(dup, keyval, &got, &found);
  EXPECT(found && got == &value && copied == 1);
  MPI_Comm_free(&dup);
  MPI_Comm_free(&named);
  EXPECT(deleted == 2);
  MPI_Comm_free_keyval(&keyval);
}

/* The default handler ends the job. */
static void fatal(void) {
  warm_up(MPI_COMM_WORLD);
  int value = 0;
  MPI_Bcast(&value, rank == 0 ? 1 : 2, MPI_INT, 0, MPI_COMM_WORLD);
  MPI_Barrier(MPI_COMM_WORLD);
  printf("rank %d went on\n", rank);
}

/* Communicators come and go, with and without a team. */
static void many_communicators(void) {
  for (int i = 0; i < COMMUNICATORS; ++i) {
    MPI_Comm made;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, i % 3 == 0 ? -rank : rank, &made);
    int ranks, sum = 0, one = 1;
    MPI_Comm_size(made, &ranks);
    for (int call = 0; call < i % 10; ++call) {
      MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, made);
      EXPECT(sum == ranks);
    }
    MPI_Comm_free(&made);
  }
  /* Some are left for MPI_Finalize. */
  MPI_Comm left;
  MPI_Comm_dup(MPI_COMM_WORLD, &left);
  warm_up(left);
}

/* As many calls of the world as of another communicator. */
static void calls_on_two(void) {
  MPI_Comm dup;
  MPI_Comm_dup(MPI_COMM_WORLD, &dup);
  for (int i = 0; i < 100; ++i) {
    int sum = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, dup);
    EXPECT(sum == size * (size - 1) / 2);
  }
  MPI_Comm_free(&dup);
}

/* Communicators one after the other, with calls of each. */
static void calls_on_dups(void) {
  for (int i = 0; i < DUPS; ++i) {
    MPI_Comm dup;
    MPI_Comm_dup(MPI_COMM_WORLD, &dup);
    for (int j = 0; j < CALLS_ON_DUP; ++j) MPI_Barrier(dup);
    MPI_Comm_free(&dup);
  }
}

/* Calls until the pipe is gone. */
static void until_told(void) {
  for (int told = 0, calls = 0; told == 0; ++calls) {
    if (rank == 0 && calls == CALLS_ON_DUP) say_going();
    if (rank == 0) told = access(*pipe_name, F_OK) != 0;
    MPI_Bcast(&told, 1, MPI_INT, 0, MPI_COMM_WORLD);
  }
  ++pipe_name;
}

/* Returns the sum over `comm` of what its ranks give. */
static int sum_of(int mine, MPI_Comm comm) {
  int sum = -1;
  MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, comm);
  return sum;
}

/* Communicators of many kinds that have the ranks of one with a team, or some of them, after the pipe is gone. */
static void derived_communicators(void) {
  MPI_Comm half, dup, dup_of_dup, grid;
  const int dims[1] = {size}, is_periodic[1] = {1};
  warm_up(MPI_COMM_WORLD);
  MPI_Comm_split(MPI_COMM_WORLD, rank < size / 2, -rank, &half); /* only the first one needs new plans */
  warm_up(half);
  MPI_Comm_free(&half);
  until_told();
  for (int i = 0; i < DUPS; ++i) {
    MPI_Comm_dup(MPI_COMM_WORLD, &dup);
    warm_up(dup);
    EXPECT(sum_of(rank, dup) == size * (size - 1) / 2);
    MPI_Comm_split(dup, rank < size / 2, -rank, &half);
    warm_up(half);
    EXPECT(sum_of(rank < size / 2, half) == (rank < size / 2 ? size / 2 : 0));
    MPI_Comm_dup(dup, &dup_of_dup);
    MPI_Comm_free(&dup); /* before its duplicate has a team */
    MPI_Cart_create(MPI_COMM_WORLD, 1, dims, is_periodic, 0, &grid);
    warm_up(dup_of_dup);
    warm_up(grid);
    EXPECT(sum_of(1, dup_of_dup) == size);
    EXPECT(sum_of(2, grid) == 2 * size);
    MPI_Comm_free(&half);
    MPI_Comm_free(&grid);
    MPI_Comm_free(&dup_of_dup);
  }
}

/* Communicators that MPI_Comm_split and MPI_Comm_dup make, and who has to be in them. */
struct group {
  MPI_Comm comm; /* MPI_COMM_NULL: this rank is not in it */
  int count;
  int ranks[SPLIT_RANKS_MAX]; /* in MPI_COMM_WORLD */
};

static struct group everybody(void) {
  struct group made = {.comm = MPI_COMM_WORLD, .count = size};
  EXPECT(size <= SPLIT_RANKS_MAX);
  for (int i = 0; i < size; ++i) made.ranks[i] = i;
  return made;
}

static struct group duplicate(const struct group* of) {
  struct group made = *of;
  if (of->comm != MPI_COMM_NULL) MPI_Comm_dup(of->comm, &made.comm);
  return made;
}

static struct group split(const struct group* of, int (*color)(int), int (*key)(int)) {
  struct group made = {.comm = MPI_COMM_NULL};
  if (of->comm == MPI_COMM_NULL) return made;
  MPI_Comm_split(of->comm, color(rank), key(rank), &made.comm);
  EXPECT((made.comm == MPI_COMM_NULL) == (color(rank) == MPI_UNDEFINED));
  for (int i = 0; made.comm != MPI_COMM_NULL && i < of->count; ++i) {
    const int other = of->ranks[i];
    if (color(other) != color(rank)) continue;
    int at = made.count++;
    for (; at > 0 && key(made.ranks[at - 1]) > key(other); --at) made.ranks[at] = made.ranks[at - 1];
    made.ranks[at] = other;
  }
  return made;
}

static int parity(int of) { return of % 2; }
static int half(int of) { return of < size / 2; }
static int pair(int of) { return of / 2; }
static int inner(int of) { return of < 2 || of >= size - 2 ? MPI_UNDEFINED : 0; }
static int up(int of) { return of; }
static int down(int of) { return -of; }

static int sums_made;

/* Gives the communicator a team, whose calls have to bring what its ranks give. */
static void expect_calls(const struct group* of) {
  int own = MPI_UNDEFINED, count = 0, sum = 0;
  if (of->comm == MPI_COMM_NULL) return;
  warm_up(of->comm);
  MPI_Comm_rank(of->comm, &own);
  MPI_Comm_size(of->comm, &count);
  EXPECT(count == of->count && of->ranks[own] == rank);
  for (int i = 0; i < count; ++i) sum += of->ranks[i];
  EXPECT(sum_of(rank, of->comm) == sum);
  for (int root = 0; root < count; ++root) {
    int word = rank, total = 0;
    MPI_Bcast(&word, 1, MPI_INT, root, of->comm);
    EXPECT(word == of->ranks[root]);
    MPI_Reduce(&rank, &total, 1, MPI_INT, MPI_SUM, root, of->comm);
    EXPECT(own != root || total == sum);
  }
  ++sums_made;
}

/* The kinds of calls whose teams the planner forms. */
static void expect_calls_by_planner(const struct group* of) {
  int all[SPLIT_RANKS_MAX];
  if (of->comm == MPI_COMM_NULL) return;
  MPI_Allgather(&rank, 1, MPI_INT, all, 1, MPI_INT, of->comm);
  EXPECT(memcmp(all, of->ranks, (size_t)of->count * sizeof(int)) == 0);
}

enum { GROUPS = 9 };

/* Makes communicators of two ranks or more of MPI_COMM_WORLD and of each other, and calls on them. */
static void make_groups(struct group* made) {
  const struct group world = everybody();
  made[0] = duplicate(&world);
  made[1] = split(&world, parity, down);
  made[2] = split(&world, half, up);
  made[3] = split(&world, inner, down);
  made[4] = split(&world, pair, down);
  made[5] = duplicate(&made[2]);
  made[6] = split(&made[2], parity, down);
  made[7] = split(&made[1], half, up);
  made[8] = duplicate(&made[7]);
  for (int i = 0; i < GROUPS; ++i) expect_calls(&made[i]);
}

static void free_groups(struct group* made, int count) {
  for (int i = 0; i < count; ++i) {
    if (made[i].comm != MPI_COMM_NULL) MPI_Comm_free(&made[i].comm);
  }
}

/* In three phases: the planner is away, is back, and has seen that no other communicator is left. */
static void splits_of_new_shapes(void) {
  struct group made[GROUPS];
  warm_up(MPI_COMM_WORLD);
  until_told();
  make_groups(made);
  free_groups(made, GROUPS);
  make_groups(made);
  until_told();
  for (int i = 0; i < GROUPS; ++i) expect_calls(&made[i]);
  for (int i = 0; i < GROUPS; ++i) expect_calls_by_planner(&made[i]);
  free_groups(made, GROUPS);
  printf("rank %d made sums=%d\n", rank, sums_made);
  until_told();
}

static void splits_of_known_shapes(void) {
  struct group made[GROUPS];
  warm_up(MPI_COMM_WORLD);
  make_groups(made);
  free_groups(made, GROUPS);
  splits_of_new_shapes();
}

static int storm;
static int storm_color(int of) { return storm % 5 == 0 && of == storm % size ? MPI_UNDEFINED : (of >> storm % 3) & 1; }
static int storm_key(int of) { return (of * 3 + storm) % size; }

/* Communicators that come and go while the planner is away, and when it is back. */
static void splits_storm(void) {
  const struct group world = everybody();
  warm_up(MPI_COMM_WORLD);
  until_told();
  for (storm = 0; storm < STORM; ++storm) {
    struct group made[2];
    made[0] = storm % 4 == 3 ? duplicate(&world) : split(&world, storm_color, storm_key);
    made[1] = duplicate(&made[0]);
    if (rank == 0 && storm == CALM) say_going();
    expect_calls(&made[0]);
    if (storm % 2 == 0) free_groups(made, 1);
    expect_calls(&made[1]);
    free_groups(made, 2);
  }
  printf("rank %d made sums=%d\n", rank, sums_made);
  ++pipe_name;
  until_told();
}

/* A child that forgets to exec is none of the job's. */
static void forks(void) {
  warm_up(MPI_COMM_WORLD);
  const pid_t child = fork();
  if (child == 0) {
    int is_initialized = 0;
    MPI_Initialized(&is_initialized);
    /* By MPI, in the child: of itself alone, which needs no messages. */
    int sum = 0;
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF);
    _exit(sum == rank && is_initialized ? 0 : 1);
  }
  int status = 1;
  EXPECT(waitpid(child, &status, 0) == child && status == 0);
  int sum = 0;
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  EXPECT(sum == size * (size - 1) / 2);
}

/* Bad arguments are MPI's to refuse, as without Copse. */
static void bad_arguments(void) {
  warm_up(MPI_COMM_WORLD);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  int value = 0;
  EXPECT(error_class(MPI_Bcast(&value, -1, MPI_INT, 0, MPI_COMM_WORLD)) == MPI_ERR_COUNT);
  EXPECT(error_class(MPI_Bcast(&value, 1, MPI_INT, size, MPI_COMM_WORLD)) == MPI_ERR_ROOT);
  EXPECT(error_class(MPI_Bcast(&value, 1, MPI_DATATYPE_NULL, 0, MPI_COMM_WORLD)) == MPI_ERR_TYPE);
  EXPECT(error_class(MPI_Allreduce(&rank, &value, 1, MPI_INT, MPI_OP_NULL, MPI_COMM_WORLD)) == MPI_ERR_OP);
  EXPECT(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS);
}

/* An inter-communicator's collectives are others than those of Copse. */
static void inter_communicator(void) {
  MPI_Comm half, inter;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 0, &inter);
  for (int i = 0; i < INTER_CALLS; ++i) {
    int ranks, sum = 0, one = 1;
    MPI_Comm_remote_size(inter, &ranks);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, inter);
    EXPECT(sum == ranks);
  }
  MPI_Comm merged;
  MPI_Intercomm_merge(inter, rank % 2, &merged);
  warm_up(merged);
  MPI_Comm_free(&merged);
  MPI_Comm_free(&inter);
  MPI_Comm_free(&half);
}

/* Threads, each on a communicator of its own. */
static void* call_in_thread(void* argument) {
  const MPI_Comm comm = *(MPI_Comm*)argument;
  for (int i = 0; i < THREAD_CALLS; ++i) {
    int mine = rank + i, sum = 0;
    MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, comm);
    EXPECT(sum == size * (size - 1) / 2 + size * i);
  }
  return NULL;
}
static void threads(void) { on_threads(call_in_thread); }

/* Returns this thread's time slice in microseconds (sched_getattr(2)); 0 where the kernel does not tell it. */
static unsigned long long time_slice(void) {
  unsigned long long attributes[6] = {0}; /* of which the fourth is the slice, ns */
  return syscall(SYS_sched_getattr, 0, attributes, sizeof(attributes), 0) == 0 ? attributes[3] / 1000 : 0;
}

static unsigned long long slice_before;
static void print_time_slice(void) {
  warm_up(MPI_COMM_WORLD);
  if (rank == 0) printf("slices: %llu before, %llu now\n", slice_before, time_slice());
}

SITUATIONS(SITUATION(pending_send), SITUATION(mismatch), SITUATION(mismatch_on_dup), SITUATION(dies),
           SITUATION(dies_fatally), SITUATION(finalizes_early), SITUATION(one_is_late), SITUATION(fatal),
           SITUATION(until_it_fails), SITUATION(until_it_ends), SITUATION(kinds_of_calls),
           SITUATION(kinds_of_calls_handled), SITUATION(kinds_of_calls_handled_later), SITUATION(print_time_slice),
           SITUATION(long_blocks), SITUATION(long_sums), SITUATION(long_sums_on_dup), SITUATION(calls_that_cost),
           SITUATION(aborts), SITUATION(exits), SITUATION(execs), SITUATION(bottom), SITUATION(attributes),
           SITUATION(many_communicators), SITUATION(calls_on_two), SITUATION(calls_on_dups), SITUATION(until_told),
           SITUATION(derived_communicators), SITUATION(splits_of_new_shapes), SITUATION(splits_of_known_shapes),
           SITUATION(splits_storm), SITUATION(forks), SITUATION(bad_arguments), SITUATION(inter_communicator),
           SITUATION(threads));

int main(int argc, char** argv) {
  slice_before = time_slice();
  const char* name = argc > 1 ? argv[1] : NULL;
  start_mpi(&argc, &argv, name != NULL && strcmp(name, "threads") == 0);
  if (argc > 2 && (freopen(argv[2], "a", stdout) == NULL || dup2(fileno(stdout), STDERR_FILENO) < 0)) return 3;
  if (argc > 3) pipe_name = argv + 3;
  return run_situation(name, kSituations, sizeof(kSituations) / sizeof(kSituations[0]));
}
