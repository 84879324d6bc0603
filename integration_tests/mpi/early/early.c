/* SPDX-License-Identifier: Apache-2.0
 *
 * Arguments: [thorough] [repeats] NAME... [-- ARGUMENT...]; a name is that of a group, or GROUP/CASE. Names are printed
 * on standard error as their turn comes, and rank 0 prints "done" at the end. */
#define _GNU_SOURCE
#include "integration_tests/mpi/early/early.h"

#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "integration_tests/mpi/early/exchange.h"

enum { LATE_NS = 3000000, PENDING_BYTES = (2 << 20) + 3 * PAGE };

static const struct early_group* const kGroups[] = {
    &early_sizes,        &early_memory,           &early_touching,         &early_transfers,
    &early_memory_calls, &early_mpi_calls,        &early_processes,        &early_signals,
    &early_threads,      &early_threads_multiple, &early_threads_crossing, &early_order,
    &early_sends,        &early_traces,           &early_system_calls,     &early_accidents,
    &early_adoption,     &early_default,
};
enum { GROUPS = sizeof(kGroups) / sizeof(kGroups[0]) };

int rank, size, thorough, repeats;
const char* case_name = "";
char** more;
uint64_t luck;
int (*after_finalize)(void);

void fail(const char* format, ...) {
  char text[1024];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof(text), format, arguments);
  va_end(arguments);
  printf("%s, rank %d of %d: %s\n", case_name, rank, size, text);
  fflush(stdout);
  MPI_Abort(MPI_COMM_WORLD, 1);
  __builtin_unreachable();
}

int is_adopted(const void* address) {
  char line[8192];
  int found = 0;
  FILE* const maps = fopen("/proc/self/maps", "r");
  EXPECT(maps != NULL);
  while (fgets(line, sizeof(line), maps) != NULL) {
    unsigned long begin = 0, end = 0;
    if (sscanf(line, "%lx-%lx", &begin, &end) != 2) continue;
    if ((unsigned long)address >= begin && (unsigned long)address < end) found = strstr(line, "memfd:copse") != NULL;
  }
  fclose(maps);
  return found;
}

void shift(const void* from, void* to, size_t bytes) {
  enum { TAG = 7 };
  MPI_Sendrecv(from, (int)bytes, MPI_BYTE, next_rank(), TAG, to, (int)bytes, MPI_BYTE, previous_rank(), TAG,
               MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

void close_both(const int ends[2]) {
  close(ends[0]);
  close(ends[1]);
}

char* map_pages(size_t bytes) {
  char* at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  EXPECT(at != MAP_FAILED);
  return at;
}

int make_file(char name[FILE_NAME_BYTES]) {
  const char* folder = getenv("TMPDIR");
  snprintf(name, FILE_NAME_BYTES, "%s/early-XXXXXX", folder == NULL ? "/tmp" : folder);
  const int file = mkstemp(name);
  EXPECT(file >= 0);
  return file;
}

void expect_ends(pid_t child, int code) {
  int status = -1;
  EXPECT(child > 0 && waitpid(child, &status, 0) == child);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != code) fail("a child ended with status %x", (unsigned)status);
}

static int64_t now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

void be_late(void) {
  const int64_t start = now_ns();
  while (now_ns() - start < LATE_NS) {
  }
}

static uint64_t word_of(const struct data* data, uint64_t index) {
  uint64_t word = 0;
  for (int owner = data->first; owner < data->first + data->count; ++owner) {
    word ^= mix(index * 0x10001 + ((uint64_t)owner << 40) + ((uint64_t)data->round << 48));
  }
  return word;
}

void fill(void* to, size_t bytes, struct data data) {
  unsigned char* out = to;
  size_t done = 0;
  while (done < bytes) {
    const uint64_t at = data.at + done, word = word_of(&data, at / 8);
    const size_t skip = at % 8, some = bytes - done < 8 - skip ? bytes - done : 8 - skip;
    memcpy(out + done, (const char*)&word + skip, some);
    done += some;
  }
}

void broadcast_round(void* at, void* wanted, size_t bytes, int round) {
  fill(wanted, bytes, (struct data){0, 1, round, 0});
  if (rank == 0) be_late(), memcpy(at, wanted, bytes);
  EXPECT(MPI_Bcast(at, (int)bytes, MPI_BYTE, 0, MPI_COMM_WORLD) == MPI_SUCCESS);
}

size_t first_difference(const void* found, const void* expected, size_t bytes) {
  const unsigned char *a = found, *b = expected;
  size_t at = 0;
  if (memcmp(a, b, bytes) == 0) return bytes;
  while (a[at] == b[at]) ++at;
  return at;
}

void expect_same(const char* what, const void* found, const void* expected, size_t bytes) {
  const size_t at = first_difference(found, expected, bytes);
  if (at == bytes) return;
  fail("%s, offset %zu of %zu at %p: expected %02x, found %02x", what, at, bytes, found,
       ((const unsigned char*)expected)[at], ((const unsigned char*)found)[at]);
}

static int is_chosen(const struct early_group* group, const struct early_case* one, char** names) {
  char full[256];
  snprintf(full, sizeof(full), "%s/%s", group->name, one->name);
  for (; *names != NULL; ++names) {
    if (strcmp(*names, group->name) == 0 || strcmp(*names, full) == 0) return 1;
  }
  return 0;
}

/* Calls `visit` for each case that is chosen; returns how many. */
static int for_chosen(char** names, void (*visit)(const struct early_group*, const struct early_case*)) {
  int count = 0;
  for (int i = 0; i < GROUPS; ++i) {
    for (size_t j = 0; j < kGroups[i]->count; ++j) {
      if (!is_chosen(kGroups[i], &kGroups[i]->cases[j], names)) continue;
      visit(kGroups[i], &kGroups[i]->cases[j]);
      ++count;
    }
  }
  return count;
}

static int level = MPI_THREAD_SINGLE;
static void before_init(const struct early_group* group, const struct early_case* one) {
  if (level < group->level) level = group->level;
  if (one->before_init != NULL) one->before_init();
}

static void run_case(const struct early_group* group, const struct early_case* one) {
  static char name[256];
  snprintf(name, sizeof(name), "%s/%s", group->name, one->name);
  case_name = name;
  luck = 1;
  if (rank == 0) fprintf(stderr, "case %s\n", name);
  const size_t bytes = one->bytes != 0 ? one->bytes : PENDING_BYTES;
  if (one->run != NULL) one->run();
  if (one->pending != NULL) on_pending(bytes, one->pending);
  if (one->pending_heap != NULL) on_pending_heap(bytes, one->pending_heap);
}

int main(int argc, char** argv) {
  int provided = MPI_THREAD_SINGLE;
  char** names = argv + 1;
  if (*names != NULL && strcmp(*names, "thorough") == 0) thorough = 1, ++names;
  if (*names != NULL && strcmp(*names, "repeats") == 0) repeats = 1, ++names;
  for (more = names; *more != NULL && strcmp(*more, "--") != 0;) ++more;
  if (*more != NULL) *more++ = NULL;
  const int count = for_chosen(names, before_init);
  MPI_Init_thread(&argc, &argv, level, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  EXPECT(count > 0 && size > 1 && provided >= level);
  for_chosen(names, run_case);
  int code = MPI_Finalize() != MPI_SUCCESS;
  if (code == 0 && after_finalize != NULL) code = after_finalize();
  if (code == 0 && rank == 0) printf("done\n");
  return code;
}
