/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One rank of a team whose blocking calls may return early, as a program of libcopse's:
 *
 *     early_client RANK SIZE results|results_once|results_of_child|member_dies
 *
 * Exit code 0; 1 with a line on standard error that says what was wrong.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "client/copse.h"

enum { kBlockWords = 40000, kLongBlockBytes = 4 << 20, kPageBytes = 4096 };

static uint32_t rank, size;
static copse_context_t* context;
static copse_team_t* team;

static void expect(int condition, const char* what) {
  if (condition) return;
  fprintf(stderr, "early_client: rank %u: %s (%s)\n", rank, what, copse_last_error());
  exit(1);
}

static void* new_pages(uint64_t bytes) {
  void* at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  expect(at != MAP_FAILED, "mmap");
  return at;
}

/* What rank `from` sends to rank `to`, at `word`, in a call. */
static uint64_t value(uint64_t call, uint64_t from, uint64_t to, uint64_t word) {
  return call * 1000003 + from * 10007 + to * 101 + word * 7;
}

/* --- All collectives that return early, looked at in several orders --- */

enum look { FORWARDS, BACKWARDS, JUMPING, AWAITED, BY_A_CHILD, BY_THE_KERNEL, LOOKS };

/* Of `words`, the i-th that is looked at. */
static uint64_t place(enum look look, uint64_t i, uint64_t words) {
  if (look == BACKWARDS) return words - 1 - i;
  return look == JUMPING ? i * 12347 % words : i;
}

static int is_right(enum look look, const uint64_t* got, const uint64_t* wanted, uint64_t words) {
  for (uint64_t i = 0; i < words; ++i) {
    const uint64_t at = place(look, i, words);
    if (got[at] != wanted[at]) return 0;
  }
  return 1;
}

static void look_at(enum look look, const uint64_t* got, const uint64_t* wanted, uint64_t words) {
  const uint64_t bytes = words * sizeof(*got);
  if (look == AWAITED) expect(copse_await(context, got, bytes) == COPSE_OK, "await");
  if (look == BY_A_CHILD) {
    int status = 0;
    const pid_t child = fork();
    if (child == 0) _exit(is_right(look, got, wanted, words) ? 0 : 1);
    expect(waitpid(child, &status, 0) == child && status == 0, "what the child saw");
  }
  if (look == BY_THE_KERNEL) {
    FILE* file = tmpfile();
    uint64_t* again = malloc(bytes);
    expect(copse_await(context, NULL, 0) == COPSE_OK, "await all");
    expect(file != NULL && write(fileno(file), got, bytes) == (ssize_t)bytes, "write");
    expect(pread(fileno(file), again, bytes, 0) == (ssize_t)bytes && memcmp(again, wanted, bytes) == 0,
           "what it wrote");
    free(again);
    fclose(file);
  }
  expect(is_right(look, got, wanted, words), "the result");
}

static void make(copse_collective_t collective, uint64_t call, enum look look) {
  const uint64_t words = (uint64_t)size * kBlockWords, bytes = words * sizeof(uint64_t);
  uint64_t *send = new_pages(bytes), *got = new_pages(bytes), *wanted = new_pages(bytes);
  uint64_t counts[64], displacements[64];
  const uint32_t root = (uint32_t)(call % size);
  uint64_t result = 0; /* words of it */
  copse_status_t status = COPSE_OK;
  const int has_blocks =
      collective == COPSE_COLL_SCATTER || collective == COPSE_COLL_ALLTOALL || collective == COPSE_COLL_ALLTOALLV;
  for (uint32_t to = 0; to < size; ++to) {
    counts[to] = kBlockWords;
    displacements[to] = (uint64_t)(size - 1 - to) * kBlockWords; /* backwards */
  }
  for (uint64_t i = 0; i < words; ++i) send[i] = value(call, rank, has_blocks ? i / kBlockWords : 0, i % kBlockWords);
  switch (collective) {
    case COPSE_COLL_BCAST:
      result = words;
      for (uint64_t i = 0; i < words; ++i) wanted[i] = value(call, root, 0, i % kBlockWords);
      if (rank == root) memcpy(got, send, bytes);
      status = copse_bcast(team, got, words, COPSE_DT_UINT64, root);
      break;
    case COPSE_COLL_REDUCE:
    case COPSE_COLL_ALLREDUCE:
      for (uint64_t i = 0; i < words; ++i) {
        for (uint32_t from = 0; from < size; ++from) wanted[i] += value(call, from, 0, i % kBlockWords);
      }
      if (collective == COPSE_COLL_REDUCE) {
        result = rank == root ? words : 0;
        status = copse_reduce(team, send, got, words, COPSE_DT_UINT64, COPSE_OP_SUM, root);
      } else {
        result = words;
        status = copse_allreduce(team, send, got, words, COPSE_DT_UINT64, COPSE_OP_SUM);
      }
      break;
    case COPSE_COLL_SCATTER:
      result = kBlockWords;
      for (uint64_t i = 0; i < result; ++i) wanted[i] = value(call, root, rank, i);
      status = copse_scatter(team, send, got, kBlockWords, COPSE_DT_UINT64, root);
      break;
    case COPSE_COLL_GATHER:
    case COPSE_COLL_ALLGATHER:
      for (uint64_t i = 0; i < words; ++i) wanted[i] = value(call, i / kBlockWords, 0, i % kBlockWords);
      if (collective == COPSE_COLL_GATHER) {
        result = rank == root ? words : 0;
        status = copse_gather(team, send, got, kBlockWords, COPSE_DT_UINT64, root);
      } else {
        result = words;
        status = copse_allgather(team, send, got, kBlockWords, COPSE_DT_UINT64);
      }
      break;
    case COPSE_COLL_ALLTOALL:
      result = words;
      for (uint64_t i = 0; i < words; ++i) wanted[i] = value(call, i / kBlockWords, rank, i % kBlockWords);
      status = copse_alltoall(team, send, got, kBlockWords, COPSE_DT_UINT64);
      break;
    default:
      result = words;
      for (uint64_t i = 0; i < words; ++i) {
        wanted[i] = value(call, size - 1 - i / kBlockWords, rank, i % kBlockWords);
      }
      status = copse_alltoallv(team, send, counts, NULL, got, counts, displacements, COPSE_DT_UINT64);
  }
  expect(status == COPSE_OK, "a call");
  if (collective != COPSE_COLL_BCAST) memset(send, 0xee, bytes); /* it is the program's again */
  look_at(look, got, wanted, result);
  expect(copse_await(context, got, bytes) == COPSE_OK, "await before munmap");
  munmap(send, bytes);
  munmap(got, bytes);
  munmap(wanted, bytes);
}

/* A later call sends what an earlier one brings, without a look at it; and a request does. */
static void chain(uint64_t call) {
  const uint64_t words = (uint64_t)size * kBlockWords, bytes = words * sizeof(uint64_t);
  uint64_t *a = new_pages(bytes), *b = new_pages(bytes), *c = new_pages(bytes);
  copse_coll_args_t args;
  copse_request_t* request = NULL;
  for (uint64_t i = 0; i < words; ++i) a[i] = value(call, rank, 0, i);
  expect(copse_allreduce(team, a, b, words, COPSE_DT_UINT64, COPSE_OP_SUM) == COPSE_OK, "the first");
  expect(copse_allreduce(team, b, c, words, COPSE_DT_UINT64, COPSE_OP_MAX) == COPSE_OK, "the second");
  memset(&args, 0, sizeof(args));
  args.collective = COPSE_COLL_ALLREDUCE;
  args.type = COPSE_DT_UINT64;
  args.op = COPSE_OP_SUM;
  args.send = c;
  args.recv = a;
  args.count = words;
  expect(copse_collective_init(team, &args, &request) == COPSE_OK && copse_post(request) == COPSE_OK &&
             copse_wait(request, -1) == COPSE_OK && copse_finalize(request) == COPSE_OK,
         "the request");
  for (uint64_t i = 0; i < words; ++i) {
    uint64_t sum = 0;
    for (uint32_t from = 0; from < size; ++from) sum += value(call, from, 0, i);
    expect(a[i] == size * sum, "the sum");
  }
  munmap(a, bytes);
  munmap(b, bytes);
  munmap(c, bytes);
}

static void results(int looks) {
  static const copse_collective_t kCollectives[] = {COPSE_COLL_BCAST,    COPSE_COLL_REDUCE,   COPSE_COLL_ALLREDUCE,
                                                    COPSE_COLL_SCATTER,  COPSE_COLL_GATHER,   COPSE_COLL_ALLGATHER,
                                                    COPSE_COLL_ALLTOALL, COPSE_COLL_ALLTOALLV};
  uint64_t call = 0;
  for (int look = 0; look < looks; ++look) {
    for (size_t i = 0; i < sizeof(kCollectives) / sizeof(kCollectives[0]); ++i) {
      make(kCollectives[i], ++call, (enum look)look);
    }
    chain(++call);
    expect(copse_barrier(team) == COPSE_OK, "barrier");
  }
  expect(copse_team_destroy(team) == COPSE_OK, "team_destroy");
}

/* --- What a process has prepared is no use to its child, which has memory of its own --- */

static void become_child(void) {
  int status = 0;
  const pid_t child = fork();
  if (child != 0) {
    expect(waitpid(child, &status, 0) == child && status == 0, "the child");
    expect(copse_fini(context) == COPSE_OK, "fini");
    exit(0);
  }
  expect(copse_fini(context) == COPSE_OK, "fini of the parent's");
  expect(copse_init(NULL, &context) == COPSE_OK, "init in the child");
}

/* --- The last rank stops behind its call, before it has sent all, and is killed --- */

static void member_dies(void) {
  const uint64_t bytes = (uint64_t)size * kLongBlockBytes;
  char *send = new_pages(bytes), *got = new_pages(bytes);
  memset(send, 1, bytes);
  for (int i = 0; i < 2; ++i) { /* teams are formed, and an order agreed upon */
    expect(copse_alltoall(team, send, got, kLongBlockBytes, COPSE_DT_BYTE) == COPSE_OK, "alltoall");
    expect(copse_await(context, got, bytes) == COPSE_OK, "await");
  }
  expect(copse_alltoall(team, send, got, kLongBlockBytes, COPSE_DT_BYTE) == COPSE_OK, "the last alltoall");
  if (rank == size - 1) raise(SIGSTOP);
  puts("returned");
  fflush(stdout);
  if (rank == 0) { /* there is nothing right to read, so this is the end */
    const volatile char* last = got + bytes - kLongBlockBytes / 2;
    printf("read %d\n", *last);
    exit(1);
  }
  /* Told by the next call, whether that has buffers or not; and from then on. */
  if (rank == 1) expect(copse_await(context, got, bytes) == COPSE_ERR_MEMBER_LOST, "await tells");
  if (rank == 2) {
    copse_status_t status = COPSE_OK;
    while (status == COPSE_OK) status = copse_bcast(team, got, 1, COPSE_DT_BYTE, 2);
    expect(status == COPSE_ERR_MEMBER_LOST, "the next call tells");
  }
  expect(copse_barrier(team) == COPSE_ERR_MEMBER_LOST, "and so do others");
  expect(strstr(copse_last_error(), "copse: barrier: ") == copse_last_error(), "the text names the call");
  for (uint64_t i = 0; i < bytes; i += kPageBytes) got[i] = 1; /* it is the program's again */
  expect(copse_team_destroy(team) == COPSE_OK, "team_destroy");
}

int main(int argc, char** argv) {
  copse_team_params_t params;
  copse_context_attr_t attr;
  expect(argc == 4, "arguments: RANK SIZE results|results_once|results_of_child|member_dies");
  rank = (uint32_t)strtoul(argv[1], NULL, 10);
  size = (uint32_t)strtoul(argv[2], NULL, 10);
  memset(&params, 0, sizeof(params));
  memset(&attr, 0, sizeof(attr));
  params.mask = COPSE_TEAM_PARAM_FIELD_NAME | COPSE_TEAM_PARAM_FIELD_RANK | COPSE_TEAM_PARAM_FIELD_SIZE;
  params.name = "early";
  params.rank = rank;
  params.size = size;
  attr.mask = COPSE_CONTEXT_ATTR_FIELD_EARLY;
  expect(copse_init(NULL, &context) == COPSE_OK, "init");
  if (strcmp(argv[3], "results_of_child") == 0) become_child();
  expect(copse_context_get_attr(context, &attr) == COPSE_OK, "get_attr");
  printf("mode %d\n", (int)attr.early);
  fflush(stdout);
  expect(copse_team_create(context, &params, &team) == COPSE_OK, "team_create");
  if (strncmp(argv[3], "results", 7) == 0) results(strcmp(argv[3], "results") == 0 ? LOOKS : 1);
  if (strcmp(argv[3], "member_dies") == 0) member_dies();
  expect(copse_fini(context) == COPSE_OK, "fini");
  return 0;
}
