/* SPDX-License-Identifier: Apache-2.0
 *
 * Processes that a rank starts while data may be on its way to it: a child has the data, too, and what it does with its
 * own copy is its own affair. */
#define _GNU_SOURCE
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "integration_tests/mpi/early/early.h"
#include "integration_tests/mpi/early/exchange.h"

enum { SHORT_BYTES = 40 * PAGE, EXIT_CODE = 7 };

extern char** environ;

/* Forks a child that ends with code 0 if the data is right there. */
static pid_t fork_looker(const struct exchange* e) {
  const pid_t child = fork();
  if (child == 0) _exit(is_right(e) ? 0 : 1);
  return child;
}

static void child_looks(struct exchange* e) { expect_ends(fork_looker(e), 0); }
/* Both at once. */
static void both_look(struct exchange* e) {
  const pid_t child = fork_looker(e);
  check(e);
  expect_ends(child, 0);
}
/* The child's child, of a child that has not looked. */
static void grandchild_looks(struct exchange* e) {
  const pid_t child = fork();
  if (child == 0) {
    const pid_t grandchild = fork_looker(e);
    int status = 1;
    _exit(waitpid(grandchild, &status, 0) == grandchild && status == 0 ? 0 : 1);
  }
  expect_ends(child, 0);
}
static void several_look(struct exchange* e) {
  pid_t children[4];
  for (int i = 0; i < 4; ++i) children[i] = fork_looker(e);
  for (int i = 0; i < 4; ++i) expect_ends(children[i], 0);
}
/* What the one writes, the other does not see. */
static void child_writes(struct exchange* e) {
  const pid_t child = fork();
  if (child == 0) {
    memset(e->receive, 0x77, e->receive_bytes);
    memset(e->wanted, 0x77, e->receive_bytes);
    _exit(is_right(e) ? 0 : 1);
  }
  check(e);
  expect_ends(child, 0);
}
static void parent_writes(struct exchange* e) {
  int go[2];
  char byte = 0;
  EXPECT(pipe(go) == 0);
  const pid_t child = fork();
  if (child == 0) _exit(read(go[0], &byte, 1) == 1 && is_right(e) ? 0 : 1);
  e->receive[PAGE] = e->wanted[PAGE] = 0x66;
  EXPECT(write(go[1], &byte, 1) == 1);
  close_both(go);
  expect_ends(child, 0);
}
static void child_unmaps(struct exchange* e) {
  const pid_t child = fork();
  if (child == 0) _exit(munmap(e->base, e->base_bytes) == 0 ? 0 : 1);
  expect_ends(child, 0);
}
/* A child that does not look at all. */
static void child_leaves(struct exchange* e) {
  (void)e;
  const pid_t child = fork();
  if (child == 0) _exit(EXIT_CODE);
  expect_ends(child, EXIT_CODE);
}

/* --- Programs whose arguments come by a broadcast: whole pages, of which the texts are the beginning --- */

static char* text_of_root(const char* words, size_t bytes) {
  char* at = map_pages(SHORT_BYTES);
  if (rank == 0) be_late(), memcpy(at, words, bytes);
  EXPECT(MPI_Bcast(at, SHORT_BYTES, MPI_BYTE, 0, MPI_COMM_WORLD) == MPI_SUCCESS);
  return at;
}

static const char kShell[] = "/bin/sh\0-c\0exit 7";
static char* shell_words(char* words[4]) {
  char* at = text_of_root(kShell, sizeof(kShell));
  char* const start[] = {at, at + 8, at + 11, NULL};
  memcpy(words, start, sizeof(start));
  return at;
}

static void by_vfork(void) {
  char* words[4];
  char* at = shell_words(words);
  const pid_t child = vfork();
  if (child == 0) {
    execve(words[0], words, environ);
    _exit(1);
  }
  expect_ends(child, EXIT_CODE);
  munmap(at, SHORT_BYTES);
}
static void by_fork(void) {
  char* words[4];
  char* at = shell_words(words);
  const pid_t child = fork();
  if (child == 0) {
    execvp(words[0], words);
    _exit(1);
  }
  expect_ends(child, EXIT_CODE);
  munmap(at, SHORT_BYTES);
}
static void by_spawn(void) {
  for (int round = 0; round < 2; ++round) {
    char* words[4];
    char* at = shell_words(words);
    pid_t child = -1;
    EXPECT((round == 0 ? posix_spawn : posix_spawnp)(&child, words[0], NULL, NULL, words, environ) == 0);
    expect_ends(child, EXIT_CODE);
    munmap(at, SHORT_BYTES);
  }
}
static void by_shell(void) {
  char* at = text_of_root("exit 7", 7);
  const int status = system(at); /* tidy: allow(unsafe) because it is what is tested */
  EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == EXIT_CODE);
  munmap(at, SHORT_BYTES);
  at = text_of_root("echo 42", 8);
  FILE* stream = popen(at, "r");
  int answer = 0;
  EXPECT(stream != NULL && fscanf(stream, "%d", &answer) == 1 && answer == 42 && pclose(stream) == 0);
  munmap(at, SHORT_BYTES);
}

EARLY_GROUP(processes, MPI_THREAD_SINGLE, PENDING(child_looks), PENDING(both_look), PENDING(grandchild_looks),
            PENDING(several_look), PENDING(child_writes), PENDING(parent_writes), PENDING(child_unmaps),
            PENDING(child_leaves), RUN(by_fork), RUN(by_vfork), RUN(by_spawn), RUN(by_shell));
