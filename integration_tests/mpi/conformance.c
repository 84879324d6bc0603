/* SPDX-License-Identifier: Apache-2.0
 *
 * Every intercepted collective in every mode, by MPI's names and again, blocking, by the MPI library's own functions,
 * which are looked up past whatever was preloaded: results and all else in the receive buffers have to be the same
 * bytes. Values are small whole numbers, so that no order of operands makes a difference.
 *
 * Arguments: "quick", fewer lengths; "by-mpi", the same, and there are no daemons. Prints "conformance: N cases, M
 * wrong" and fails if M is not 0. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "integration_tests/mpi/collectives.h"
#include "integration_tests/mpi/elements.h"
#include "integration_tests/mpi/modes.h"

enum { RANKS_MAX = 16, SLACK = 64 };

struct test {
  enum kind collective;
  MPI_Datatype send_type, recv_type;
  int send_count, recv_count; /* elements of one block */
  MPI_Op op;
  int root;
  int in_place;
  MPI_Comm comm;
  const char* comm_name;
  int mode;
};

/* Past what was preloaded. */
static struct {
#define POINTER(kind, name, function, ...) __typeof__(&MPI_##function) function;
  __typeof__(&MPI_Barrier) Barrier;
  COLLECTIVES(POINTER)
} plain;
static MPI_Op sum_of_program, composition;
static int world_rank;
static int cases, wrong;
static int all_by_mpi; /* nothing is offloaded, so that the library's own faults are to be kept away from */

static void look_up(void) {
#ifdef OPEN_MPI
  void* library = dlopen("libmpi.so.40", RTLD_LAZY | RTLD_NOLOAD);
#else
  void* library = dlopen("libmpich.so.12", RTLD_LAZY | RTLD_NOLOAD);
#endif
  if (library == NULL) abort();
#define LOOK_UP(kind, name, function, ...)                      \
  *(void**)&plain.function = dlsym(library, "PMPI_" #function); \
  if (plain.function == NULL) abort();
  LOOK_UP(BARRIER, "barrier", Barrier)
  COLLECTIVES(LOOK_UP)
}

static int call_plain(enum kind kind, const struct collective_arguments* a) {
#define PLAIN_CASE(kind, name, function, ifunction, ...) \
  case kind:                                             \
    return plain.function(__VA_ARGS__, a->comm);
  switch (kind) {
    COLLECTIVES(PLAIN_CASE)
    default:
      return plain.Barrier(a->comm);
  }
}

static int is_by_mpi(const struct test* t) {
  int size;
  MPI_Comm_size(t->comm, &size);
  return all_by_mpi || size == 1 || t->op == sum_of_program || t->op == composition || t->send_type == MPI_LONG_DOUBLE;
}

/* Bytes of a buffer of `blocks` blocks, with room between those of irregular calls. */
static size_t room(int blocks, int count, MPI_Datatype type) {
  MPI_Aint lower, extent;
  MPI_Type_get_extent(type, &lower, &extent);
  return (size_t)(blocks + 1) * (size_t)(count + 2) * (size_t)extent + SLACK;
}

/* Irregular blocks: lengths by the two ranks, in reverse order, with a gap of one element. */
static int length(int count, int from, int to) { return count == 0 ? 0 : (count * ((from + 2 * to) % 3) + 1) / 2; }
static void lay_out(int size, int count, int stride, int* displacements) {
  for (int rank = 0; rank < size; ++rank) displacements[rank] = (size - 1 - rank) * (count + 2) * stride;
}

/* Each other block of an alltoallw is of the type's like. */
static void take_turns(int size, MPI_Datatype type, MPI_Datatype copy, MPI_Datatype* types) {
  for (int i = 0; i < size; ++i) types[i] = i % 2 == 0 ? type : copy;
}

static int call(collective_function by, const struct test* t, void* send, void* recv) {
  int size, rank, s = t->send_count, r = t->recv_count;
  int send_counts[RANKS_MAX], recv_counts[RANKS_MAX], send_at[RANKS_MAX], recv_at[RANKS_MAX];
  MPI_Datatype send_types[RANKS_MAX], recv_types[RANKS_MAX], send_copy, recv_copy;
  MPI_Comm_size(t->comm, &size);
  MPI_Comm_rank(t->comm, &rank);
  const int is_root = rank == t->root;
  const int ratio = s == 0 ? 1 : r / s; /* elements received for one that was sent */
  struct collective_arguments a = {.send = t->in_place && (is_root || t->root < 0) ? MPI_IN_PLACE : send,
                                   .send_count = s,
                                   .send_counts = send_counts,
                                   .send_at = send_at,
                                   .send_type = t->send_type,
                                   .send_types = send_types,
                                   .receive = recv,
                                   .receive_count = r,
                                   .receive_counts = recv_counts,
                                   .receive_at = recv_at,
                                   .receive_type = t->recv_type,
                                   .receive_types = recv_types,
                                   .op = t->op,
                                   .root = t->root,
                                   .comm = t->comm};
  /* MPICH 4.0.2 reads from the address MPI_IN_PLACE in reduce at other roots than 0, and aborts in reduce_scatter. */
  if ((by == call_plain || is_by_mpi(t)) && a.send == MPI_IN_PLACE &&
      (t->collective >= REDUCE_SCATTER || t->collective == REDUCE)) {
    a.send = memcpy(send, recv, room(size, s, t->send_type));
  }
  if (t->collective == SCATTER || t->collective == SCATTERV) {
    a.send = send;
    if (t->in_place && is_root) a.receive = MPI_IN_PLACE;
  }
  MPI_Aint lower, send_stride = 1, recv_stride = 1;
  if (t->collective == ALLTOALLW) {
    MPI_Type_get_extent(t->send_type, &lower, &send_stride);
    MPI_Type_get_extent(t->recv_type, &lower, &recv_stride);
  }
  lay_out(size, s, (int)send_stride, send_at);
  lay_out(size, r, (int)recv_stride, recv_at);
  switch (t->collective) {
    case BCAST:
      if (is_root) a.receive_count = s, a.receive_type = t->send_type;
      break;
    case GATHERV:
    case ALLGATHERV: {
      const int to = t->collective == GATHERV ? t->root : 0;
      a.send_count = length(s, rank, to);
      for (int i = 0; i < size; ++i) recv_counts[i] = ratio * length(s, i, to);
      break;
    }
    case SCATTERV:
      for (int i = 0; i < size; ++i) send_counts[i] = length(s, t->root, i);
      a.receive_count = ratio * length(s, t->root, rank);
      break;
    case ALLTOALLV:
    case ALLTOALLW:
      for (int i = 0; i < size; ++i) {
        /* In place, what two ranks exchange is equally long. */
        send_counts[i] = t->in_place ? length(s, rank + i, rank + i) : length(s, rank, i);
        recv_counts[i] = t->in_place ? send_counts[i] : ratio * length(s, i, rank);
      }
      break;
    case REDUCE_SCATTER:
      for (int i = 0; i < size; ++i) recv_counts[i] = length(s, i, 0);
      break;
    default:
      break;
  }
  MPI_Type_dup(t->send_type, &send_copy);
  MPI_Type_dup(t->recv_type, &recv_copy);
  take_turns(size, t->send_type, send_copy, send_types);
  take_turns(size, t->recv_type, recv_copy, recv_types);
  const int code = by(t->collective, &a);
  MPI_Type_free(&send_copy);
  MPI_Type_free(&recv_copy);
  return code;
}

/* The result of reduce_scatter in place is where the contribution begins; the rest of it is MPI's to use. */
static size_t compared(const struct test* t, size_t bytes) {
  if (!t->in_place || (t->collective != REDUCE_SCATTER && t->collective != REDUCE_SCATTER_BLOCK)) return bytes;
  int rank;
  MPI_Aint lower, extent;
  MPI_Comm_rank(t->comm, &rank);
  MPI_Type_get_extent(t->send_type, &lower, &extent);
  const int count = t->collective == REDUCE_SCATTER ? length(t->send_count, rank, 0) : t->send_count;
  return (size_t)count * (size_t)extent;
}

static void check(const struct test* t) {
  int size, rank;
  MPI_Comm_size(t->comm, &size);
  MPI_Comm_rank(t->comm, &rank);
  const struct mode* mode = &kModes[t->mode];
#ifndef OPEN_MPI
  /* MPICH 4.0.2 has faults in persistent calls and in non-blocking reductions of its own. */
  if (is_by_mpi(t) && (mode->persistent || reduces(t->collective))) mode = &kModes[0];
#endif
  start_once = t->in_place;
  const size_t send_bytes = room(size, t->send_count, t->send_type);
  const size_t in_recv = room(size, t->recv_count, t->recv_type);
  const size_t recv_bytes = in_recv > send_bytes ? in_recv : send_bytes;
  char* send = malloc(send_bytes);
  char* results[2];
  int codes[2];
  for (int run = 0; run < 2; ++run) {
    results[run] = malloc(recv_bytes);
    fill_elements(send, send_bytes, t->send_type, rank, (uint64_t)rank);
    fill_elements(results[run], recv_bytes, t->recv_type, 50 + rank, 50 + (uint64_t)rank);
    codes[run] = call(run == 0 ? mode->call : call_plain, t, send, results[run]);
  }
  ++cases;
  const size_t bytes = compared(t, recv_bytes);
  if (codes[0] != MPI_SUCCESS || codes[1] != MPI_SUCCESS || memcmp(results[0], results[1], bytes) != 0) {
    size_t at = 0;
    while (at < bytes && results[0][at] == results[1][at]) ++at;
    if (++wrong < 10) {
      char type_name[MPI_MAX_OBJECT_NAME] = "";
      int name_length;
      MPI_Type_get_name(t->send_type, type_name, &name_length);
      printf("wrong: %s %s of %d %s, root %d, in place %d, on %s, rank %d of %d: codes %d %d, byte %zu of %zu\n",
             mode->name, name_of(t->collective), t->send_count, type_name, t->root, t->in_place, t->comm_name, rank,
             size, codes[0], codes[1], at, bytes);
    }
  }
  free(send);
  free(results[0]);
  free(results[1]);
}

static int has_root(enum kind collective) {
  return collective == BCAST || collective == REDUCE || collective == GATHER || collective == GATHERV ||
         collective == SCATTER || collective == SCATTERV;
}

/* Modes in turn, the same on all ranks. */
static int next_mode(void) {
  static int turn = 0;
  return turn++ % kModeCount;
}

/* One collective with all roots, in place and not. */
static void check_all(struct test t) {
  int size;
  const int first_mode = next_mode();
  MPI_Comm_size(t.comm, &size);
  for (int root = has_root(t.collective) ? 0 : -1; root < (has_root(t.collective) ? size : 0); ++root) {
    for (int in_place = 0; in_place < (t.collective == BARRIER || t.collective == BCAST ? 1 : 2); ++in_place) {
      t.root = root;
      t.in_place = in_place;
      t.mode = (first_mode + in_place + (root < 0 ? 0 : root)) % kModeCount;
      /* In place there is one type. */
      if (in_place && t.send_type != t.recv_type) continue;
      check(&t);
    }
  }
}

static void reductions(MPI_Comm comm, const char* name, const int* counts, int count_count) {
  const MPI_Datatype integers[] = {MPI_INT,      MPI_LONG,    MPI_UNSIGNED_CHAR, MPI_SHORT,
                                   MPI_UINT64_T, MPI_INTEGER, MPI_UNSIGNED,      MPI_AINT};
  const MPI_Datatype floats[] = {MPI_FLOAT, MPI_DOUBLE, MPI_REAL, MPI_DOUBLE_PRECISION, MPI_LONG_DOUBLE};
  const MPI_Datatype complexes[] = {MPI_C_FLOAT_COMPLEX, MPI_C_DOUBLE_COMPLEX, MPI_COMPLEX, MPI_DOUBLE_COMPLEX};
  const MPI_Datatype logicals[] = {MPI_C_BOOL, MPI_LOGICAL};
  const MPI_Datatype bytes[] = {MPI_BYTE};
  const MPI_Datatype pairs[] = {MPI_FLOAT_INT, MPI_DOUBLE_INT, MPI_LONG_INT, MPI_2INT, MPI_SHORT_INT, MPI_2INTEGER};
  const MPI_Op arithmetic[] = {MPI_SUM, MPI_PROD, MPI_MIN, MPI_MAX}, sums[] = {MPI_SUM, MPI_PROD};
  const MPI_Op logical[] = {MPI_LAND, MPI_LOR, MPI_LXOR}, bitwise[] = {MPI_BAND, MPI_BOR, MPI_BXOR};
  const MPI_Op places[] = {MPI_MINLOC, MPI_MAXLOC};
#define LENGTH(array) ((int)(sizeof(array) / sizeof((array)[0])))
  const struct {
    const MPI_Datatype* types;
    int type_count;
    const MPI_Op* ops;
    int op_count;
  } tables[] = {
      {integers, LENGTH(integers), arithmetic, LENGTH(arithmetic)},
      {integers, 2, logical, LENGTH(logical)},
      {integers, LENGTH(integers), bitwise, LENGTH(bitwise)},
      {floats, LENGTH(floats), arithmetic, LENGTH(arithmetic)},
      {complexes, LENGTH(complexes), sums, LENGTH(sums)},
      {logicals, LENGTH(logicals), logical, LENGTH(logical)},
      {bytes, LENGTH(bytes), bitwise, LENGTH(bitwise)},
      {pairs, LENGTH(pairs), places, LENGTH(places)},
  };
  /* Every operation on every type by allreduce; each collective with one of each table. */
  for (int table = 0; table < LENGTH(tables); ++table) {
    for (int type = 0; type < tables[table].type_count; ++type) {
      for (int op = 0; op < tables[table].op_count; ++op) {
        const MPI_Datatype handle = tables[table].types[type];
        check(&(struct test){ALLREDUCE, handle, handle, 17, 17, tables[table].ops[op], -1, op % 2, comm, name,
                             next_mode()});
      }
    }
    for (enum kind collective = BARRIER; collective < KINDS; ++collective) {
      if (!reduces(collective)) continue;
      const MPI_Datatype handle = tables[table].types[0];
      for (int i = 0; i < count_count; ++i) {
        if (table != 0 && table != 3 && counts[i] > 1) continue;
        check_all((struct test){collective, handle, handle, counts[i], counts[i], tables[table].ops[0], -1, 0, comm,
                                name, 0});
      }
    }
  }
}

static void data(MPI_Comm comm, const char* name, const int* counts, int count_count) {
  MPI_Datatype vector, spread, reversed, nested, copy;
  const int lengths[] = {2, 1}, places[] = {3, 0};
  MPI_Type_vector(3, 2, 4, MPI_INT, &vector); /* 6 ints in 10 */
  MPI_Type_create_resized(MPI_INT, 0, 3 * sizeof(int), &spread);
  MPI_Type_indexed(2, lengths, places, MPI_INT, &reversed); /* 3 ints, the last first */
  MPI_Type_dup(MPI_INT, &copy);
  MPI_Type_contiguous(3, copy, &nested);
  MPI_Datatype* const made[] = {&vector, &spread, &reversed, &nested};
  const int signature[] = {6, 1, 3, 3}; /* ints in each */
  for (int i = 0; i < LENGTH(made); ++i) MPI_Type_commit(made[i]);
  for (enum kind collective = BARRIER; collective < KINDS; ++collective) {
    if (reduces(collective)) continue;
    for (int i = 0; i < count_count; ++i) {
      const int n = counts[i];
      check_all((struct test){collective, MPI_INT, MPI_INT, n, n, MPI_OP_NULL, -1, 0, comm, name, 0});
      if (n > 1000 || collective == BARRIER) continue;
      /* MPICH 4.0.2 cuts long messages of types with gaps at their ends. */
      const int few = n < 100 ? n : 100;
      check_all((struct test){collective, MPI_DOUBLE_INT, MPI_DOUBLE_INT, few, few, MPI_OP_NULL, -1, 0, comm, name, 0});
      for (int type = 0; type < LENGTH(made); ++type) {
        const MPI_Datatype handle = *made[type];
        check_all((struct test){collective, handle, handle, n, n, MPI_OP_NULL, -1, 0, comm, name, 0});
        /* One kind of elements at either end. */
        check_all(
            (struct test){collective, handle, MPI_INT, n, n * signature[type], MPI_OP_NULL, -1, 0, comm, name, 0});
      }
    }
  }
  for (int i = 0; i < LENGTH(made); ++i) MPI_Type_free(made[i]);
  MPI_Type_free(&copy);
}

static void add(void* in, void* inout, int* length_of, MPI_Datatype* type) {
  (void)type;
  for (int i = 0; i < *length_of; ++i) ((int*)inout)[i] += ((int*)in)[i];
}

/* Elements are maps i -> factor i + constant, of which the lower rank's comes first: an operation that does not
 * commute. */
static void compose(void* in, void* inout, int* length_of, MPI_Datatype* type) {
  MPI_Aint lower, extent;
  MPI_Type_get_extent(*type, &lower, &extent);
  for (int i = 0; i < *length_of; ++i) {
    const int* first = (const int*)((char*)in + i * extent);
    int* second = (int*)((char*)inout + i * extent);
    second[1] += second[0] * first[1];
    second[0] *= first[0];
  }
}

/* MPICH 4.0.2 writes past buffers of its own. */
static int faults_on_gaps(enum kind collective, int count) {
#ifdef OPEN_MPI
  (void)collective, (void)count;
  return 0;
#else
  return count > 10 || collective == REDUCE_SCATTER || collective == REDUCE_SCATTER_BLOCK;
#endif
}

/* The program's own operations, which no daemon has, and predefined ones on types that none has. */
static void operations(MPI_Comm comm, const char* name) {
  MPI_Datatype map, spread_map;
  MPI_Op_create(add, 1, &sum_of_program);
  MPI_Op_create(compose, 0, &composition);
  MPI_Type_contiguous(2, MPI_INT, &map);
  MPI_Type_create_resized(map, 0, 4 * sizeof(int), &spread_map);
  MPI_Type_commit(&map);
  MPI_Type_commit(&spread_map);
  const int counts[] = {0, 1, 10, 20000}; /* the last one is too long to travel to everybody */
  for (int i = 0; i < LENGTH(counts); ++i) {
    const int n = counts[i];
    for (enum kind collective = BARRIER; collective < KINDS; ++collective) {
      if (!reduces(collective)) continue;
      check_all((struct test){collective, MPI_INT, MPI_INT, n, n, sum_of_program, -1, 0, comm, name, 0});
      check_all((struct test){collective, map, map, n, n, composition, -1, 0, comm, name, 0});
      if (!faults_on_gaps(collective, n)) {
        check_all((struct test){collective, spread_map, spread_map, n, n, composition, -1, 0, comm, name, 0});
      }
      check_all((struct test){collective, MPI_LONG_DOUBLE, MPI_LONG_DOUBLE, n, n, MPI_SUM, -1, 0, comm, name, 0});
    }
  }
  MPI_Type_free(&spread_map);
  MPI_Type_free(&map);
  MPI_Op_free(&composition);
  MPI_Op_free(&sum_of_program);
}

/* Each collective in each mode. */
static void modes(MPI_Comm comm, const char* name) {
  for (enum kind collective = BARRIER; collective < KINDS; ++collective) {
    for (int mode = 0; mode < kModeCount; ++mode) {
      check_all((struct test){collective, MPI_INT, MPI_INT, 100, 100, MPI_SUM, -1, 0, comm, name, 0});
    }
  }
}

/* Enough calls for the communicator to have a team. */
static void warm_up(MPI_Comm comm) {
  for (int i = 0; i < 8; ++i) MPI_Barrier(comm);
}

/* What goes to MPI gives right results too. */
static void passed_through(void) {
  check_all((struct test){ALLREDUCE, MPI_INT, MPI_INT, 10, 10, MPI_SUM, -1, 0, MPI_COMM_SELF, "self", 0});
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  look_up();
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  const int all_counts[] = {0, 1, 1000, 30000}, few_counts[] = {1, 1000};
  all_by_mpi = argc > 1 && strcmp(argv[1], "by-mpi") == 0;
  const int quick = all_by_mpi || (argc > 1 && strcmp(argv[1], "quick") == 0);
  MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
  const int* counts = quick ? few_counts : all_counts;
  const int count_count = quick ? LENGTH(few_counts) : LENGTH(all_counts);
  warm_up(MPI_COMM_WORLD);
  reductions(MPI_COMM_WORLD, "world", counts, count_count);
  data(MPI_COMM_WORLD, "world", counts, count_count);
  operations(MPI_COMM_WORLD, "world");
  passed_through();
  MPI_Comm made[3];
  const char* const names[] = {"dup", "split", "reversed"};
  MPI_Comm_dup(MPI_COMM_WORLD, &made[0]);
  MPI_Comm_split(MPI_COMM_WORLD, world_rank % 2, 0, &made[1]);
  MPI_Comm_split(MPI_COMM_WORLD, 0, -world_rank, &made[2]);
  for (int i = 0; i < 3; ++i) {
    warm_up(made[i]);
    modes(made[i], names[i]);
    MPI_Comm_free(&made[i]);
  }
  int all_wrong = 0;
  plain.Allreduce(&wrong, &all_wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (world_rank == 0) printf("conformance: %d cases, %d wrong\n", cases, all_wrong);
  MPI_Finalize();
  return all_wrong != 0;
}
