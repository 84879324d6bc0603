/* SPDX-License-Identifier: Apache-2.0
 *
 * A random program: collectives (blocking, not blocking, persistent), messages between ranks, communicators and
 * threads, all by one seed, which all ranks draw from alike. What each rank does at its own discretion, such as how it
 * waits, does not change what it receives: a hash of that is the same with any MPI library that is right.
 *
 * Arguments: SEED [STEPS [trace] [persistent]]. Prints "seed SEED: N calls, hash H"; with `trace`, each step and each
 * hash on standard error, so that two runs can be compared. With `persistent`, persistent collectives are such; else
 * each of their starts is a non-blocking call, with the same hash, since those of MPICH 4.0.2 and Open MPI 4.1.4 end
 * with wrong data, errors or not at all when others run beside them. Values are small whole numbers, so that no order
 * of operands makes a difference. */
#define _GNU_SOURCE
#include <mpi.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#if defined(OPEN_MPI)
#include <mpi-ext.h>
#endif

enum {
  SLOTS = 6,    /* communicators of a thread at a time */
  PENDING = 16, /* operations of a thread at a time */
  THREADS = 3,
  STEPS = 80,
  RANKS_MAX = 64,
  GUARD = 64, /* bytes around received data */
};

#define CHECK(condition)                                                  \
  do {                                                                    \
    if (!(condition)) {                                                   \
      printf("rank %d, line %d: " #condition "\n", world_rank, __LINE__); \
      fflush(stdout);                                                     \
      MPI_Abort(MPI_COMM_WORLD, 1);                                       \
    }                                                                     \
  } while (0)

static int world_rank, world_size, threads, tracing, persistent;

/* Faults of MPICH 4.0.2: with MPI_IN_PLACE it reads from that address in reduce at other roots than 0, aborts in
 * reduce_scatter, and finds messages too long in gather and alltoallv. With several threads, messages of types with
 * gaps may count as too long. Of Open MPI 4.1.4: with several threads, collectives that do not block may never end. */
#ifdef OPEN_MPI
#define IN_PLACE_WORKS 1
#define GAPS_WORK_WITH_THREADS 1
#define STARTED_WORKS_WITH_THREADS 0
#else
#define IN_PLACE_WORKS 0
#define GAPS_WORK_WITH_THREADS 0
#define STARTED_WORKS_WITH_THREADS 1
#endif

/* --- Chance (SplitMix64) --- */

static uint64_t mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}
static uint64_t mix2(uint64_t a, uint64_t b) { return mix(mix(a) ^ b); }
static unsigned draw(uint64_t* state, unsigned below) {
  *state = mix(*state);
  return (unsigned)(*state >> 33) % below;
}
static int chance(uint64_t* state, unsigned percent) { return draw(state, 100) < percent; }

/* --- Types and operations --- */

enum class { INTEGERS, REALS, COMPLEX, BITS, TRUTH, PAIRS, MAPS, DATA };
struct type {
  MPI_Datatype type;
  enum class class;
  int parts; /* elements of `part` in one, if that is another way to say the same */
  MPI_Datatype part;
  size_t bytes; /* extent */
  int has_gaps;
};
enum { TYPES_MAX = 24 };
static struct type types[TYPES_MAX];
static int type_count, reducible_count; /* the first ones */
static MPI_Op op_product, op_compose;   /* (1 + a)(1 + b) - 1; maps x -> a x + b of remainders, one after the other */

static void multiply(void* in, void* inout, int* count, MPI_Datatype* type) {
  (void)type;
  const unsigned* a = in;
  unsigned* b = inout;
  for (int i = 0; i < *count; ++i) b[i] += a[i] + a[i] * b[i];
}
static void compose(void* in, void* inout, int* count, MPI_Datatype* type) {
  (void)type;
  const unsigned* first = in;
  unsigned* then = inout;
  for (int i = 0; i < 2 * *count; i += 2) {
    then[i + 1] = (then[i] * first[i + 1] + then[i + 1]) % 65521;
    then[i] = then[i] * first[i] % 65521;
  }
}

static void add_type(MPI_Datatype type, enum class class, int parts, MPI_Datatype part) {
  MPI_Aint lower, extent;
  int size;
  MPI_Type_get_extent(type, &lower, &extent);
  MPI_Type_size(type, &size);
  CHECK(lower == 0 && type_count < TYPES_MAX);
  types[type_count++] = (struct type){type, class, parts, part, (size_t)extent, size != extent};
}
static MPI_Datatype committed(MPI_Datatype type) {
  MPI_Type_commit(&type);
  return type;
}

static void make_types(void) {
  add_type(MPI_INT, INTEGERS, 1, MPI_INT);
  add_type(MPI_DOUBLE, REALS, 1, MPI_DOUBLE);
  add_type(MPI_FLOAT, REALS, 1, MPI_FLOAT);
  add_type(MPI_LONG, INTEGERS, 1, MPI_LONG);
  add_type(MPI_SHORT, INTEGERS, 1, MPI_SHORT);
  add_type(MPI_UNSIGNED_CHAR, INTEGERS, 1, MPI_UNSIGNED_CHAR);
  add_type(MPI_UINT64_T, INTEGERS, 1, MPI_UINT64_T);
  add_type(MPI_BYTE, BITS, 1, MPI_BYTE);
  add_type(MPI_C_BOOL, TRUTH, 1, MPI_C_BOOL);
  add_type(MPI_C_DOUBLE_COMPLEX, COMPLEX, 1, MPI_C_DOUBLE_COMPLEX);
  add_type(MPI_DOUBLE_INT, PAIRS, 1, MPI_DOUBLE_INT);
  add_type(MPI_2INT, PAIRS, 1, MPI_2INT);
  MPI_Datatype t, u;
  MPI_Type_contiguous(2, MPI_UNSIGNED, &t);
  add_type(committed(t), MAPS, 2, MPI_UNSIGNED);
  reducible_count = type_count;
  MPI_Type_vector(3, 2, 5, MPI_INT, &t);
  add_type(committed(t), DATA, 6, MPI_INT);
  MPI_Type_create_resized(MPI_INT, 0, 12, &t);
  add_type(committed(t), DATA, 1, MPI_INT);
  MPI_Type_indexed(3, (int[]){2, 1, 3}, (int[]){6, 0, 2}, MPI_DOUBLE, &t);
  add_type(committed(t), DATA, 6, MPI_DOUBLE);
  MPI_Type_create_struct(2, (int[]){1, 2}, (MPI_Aint[]){0, 8}, (MPI_Datatype[]){MPI_INT, MPI_DOUBLE}, &t);
  add_type(committed(t), DATA, 0, t);
  MPI_Type_create_subarray(2, (int[]){4, 5}, (int[]){2, 3}, (int[]){1, 1}, MPI_ORDER_C, MPI_SHORT, &t);
  add_type(committed(t), DATA, 6, MPI_SHORT);
  MPI_Type_vector(2, 1, 2, MPI_LONG, &u);
  MPI_Type_contiguous(2, u, &t);
  MPI_Type_free(&u);
  add_type(committed(t), DATA, 4, MPI_LONG);
  MPI_Op_create(multiply, 1, &op_product);
  MPI_Op_create(compose, 0, &op_compose);
}

/* One of the first `count` types. */
static const struct type* draw_type(uint64_t* state, int count) {
  const struct type* type = &types[draw(state, (unsigned)count)];
  return type->has_gaps && threads > 1 && !GAPS_WORK_WITH_THREADS ? &types[0] : type;
}

static MPI_Op draw_op(uint64_t* state, const struct type* type) {
  static const MPI_Op kOps[] = {MPI_SUM, MPI_MIN,  MPI_MAX,  MPI_PROD, MPI_LAND,
                                MPI_LOR, MPI_LXOR, MPI_BAND, MPI_BOR,  MPI_BXOR};
  switch (type->class) {
    case INTEGERS:
      return type->type == MPI_INT && chance(state, 15) ? op_product : kOps[draw(state, 10)];
    case REALS:
      return kOps[draw(state, 4)];
    case COMPLEX:
      return chance(state, 50) ? MPI_SUM : MPI_PROD;
    case BITS:
      return kOps[7 + draw(state, 3)];
    case TRUTH:
      return kOps[4 + draw(state, 3)];
    case PAIRS:
      return chance(state, 50) ? MPI_MINLOC : MPI_MAXLOC;
    default:
      return op_compose;
  }
}

/* --- Data --- */

struct pair {
  double value;
  int index;
};

/* Elements from 1 to 3, or any bytes where nobody counts with them. */
static void fill(void* buffer, size_t count, const struct type* type, uint64_t seed) {
  uint64_t state = seed;
#define FILL(kind, per) \
  for (size_t i = 0; i < (per)*count; ++i) ((kind*)buffer)[i] = (kind)(1 + draw(&state, 3))
  if (type->type == MPI_INT || type->class == MAPS) {
    FILL(int, (size_t)type->parts);
  } else if (type->type == MPI_DOUBLE || type->class == COMPLEX) {
    FILL(double, type->bytes / sizeof(double));
  } else if (type->type == MPI_FLOAT) {
    FILL(float, 1);
  } else if (type->type == MPI_LONG || type->type == MPI_UINT64_T) {
    FILL(int64_t, 1);
  } else if (type->type == MPI_SHORT) {
    FILL(short, 1);
  } else if (type->class == TRUTH) {
    for (size_t i = 0; i < count; ++i) ((unsigned char*)buffer)[i] = (unsigned char)draw(&state, 2);
  } else if (type->type == MPI_DOUBLE_INT) {
    memset(buffer, 0, count * sizeof(struct pair));
    for (size_t i = 0; i < count; ++i) {
      ((struct pair*)buffer)[i].value = 1 + draw(&state, 3);
      ((struct pair*)buffer)[i].index = world_rank;
    }
  } else if (type->type == MPI_2INT) {
    for (size_t i = 0; i < count; ++i) {
      ((int*)buffer)[2 * i] = (int)(1 + draw(&state, 3));
      ((int*)buffer)[2 * i + 1] = world_rank;
    }
  } else {
    for (size_t i = 0; i < count * type->bytes; ++i) ((unsigned char*)buffer)[i] = (unsigned char)(1 + draw(&state, 3));
  }
}

/* What lies between the members of a pair is nobody's, and the sign of a zero depends on the order of factors. */
static uint64_t hash_of(const void* buffer, size_t bytes, const struct type* type, uint64_t hash) {
  const unsigned char* at = buffer;
  for (size_t i = 0; i < bytes; ++i) {
    if (type->type == MPI_DOUBLE_INT && i % sizeof(struct pair) >= 12) continue;
    double number;
    if (type->class == COMPLEX && i % sizeof(number) == 0) {
      memcpy(&number, at + i, sizeof(number));
      if (number == 0) {
        hash = (hash ^ 1) * 0x100000001b3;
        i += sizeof(number) - 1;
        continue;
      }
    }
    hash = (hash ^ at[i]) * 0x100000001b3;
  }
  return hash;
}

/* --- A thread's program --- */

struct slot {
  int used; /* by the program; a rank that is no member has MPI_COMM_NULL */
  MPI_Comm comm;
  int size, rank;
  int born; /* at which step, or -1 */
};

enum kind {
  BARRIER,
  BCAST,
  REDUCE,
  ALLREDUCE,
  GATHER,
  GATHERV,
  SCATTER,
  SCATTERV,
  ALLGATHER,
  ALLGATHERV,
  ALLTOALL,
  ALLTOALLV,
  REDUCE_SCATTER,
  REDUCE_SCATTER_BLOCK,
  SCAN,
  EXSCAN,
  KINDS,
  SEND,
  RECEIVE
};
static const char* const kNames[] = {
    "barrier",  "bcast",     "reduce",     "allreduce", "gather",    "gatherv",        "scatter",
    "scatterv", "allgather", "allgatherv", "alltoall",  "alltoallv", "reduce_scatter", "reduce_scatter_block",
    "scan",     "exscan",    "",           "send",      "receive"};

enum mode { BLOCKING, STARTED, PERSISTENT };

/* One collective or message at this rank, until its result has been counted. */
struct operation {
  struct slot on; /* as it was when it began */
  int slot;       /* its number */
  int step;
  enum kind kind;
  enum mode mode;
  int due;    /* at which step it is completed */
  int starts; /* that a persistent one still has after this one */
  MPI_Request request;
  const struct type *type, *peer_type; /* of what is sent, and received */
  int count, peer_count;               /* elements of a block, of the one type and of the other */
  MPI_Op op;
  int root; /* of a message: the other rank */
  int in_place;
  int late; /* a receive that is posted when it is due */
  uint64_t seed;
  char *send, *receive; /* with a guard on either side */
  size_t send_bytes, receive_bytes;
  int *send_counts, *send_at, *receive_counts, *receive_at;
};

struct thread {
  int number;
  uint64_t seed;
  int steps;
  int now;      /* step */
  uint64_t own; /* chance of this rank alone */
  struct slot slots[SLOTS];
  struct operation* pending[PENDING];
  int pending_count;
  uint64_t hash;
  long calls;
};

static void trace(const struct thread* t, const char* what, const struct operation* o, uint64_t hash) {
  if (!tracing) return;
  fprintf(stderr,
          "trace rank %d thread %d step %d: %s %s of step %d mode %d slot %d size %d count %d root %d%s: %016llx\n",
          world_rank, t->number, t->now, what, o == NULL ? "" : kNames[o->kind], o == NULL ? t->now : o->step,
          o == NULL ? 0 : (int)o->mode, o == NULL ? -1 : o->slot, o == NULL ? 0 : o->on.size, o == NULL ? 0 : o->count,
          o == NULL ? 0 : o->root, o != NULL && o->in_place ? " in place" : "", (unsigned long long)hash);
}
static void count_in(struct thread* t, const char* what, const struct operation* o, uint64_t hash) {
  trace(t, what, o, hash);
  t->hash += mix2(hash, mix2((uint64_t)t->now, (uint64_t)world_rank));
  ++t->calls;
}

static void* new_buffer(size_t bytes) {
  char* buffer = malloc(bytes + 2 * GUARD);
  CHECK(buffer != NULL);
  memset(buffer, 0x5a, bytes + 2 * GUARD);
  return buffer;
}

/* Elements that rank `from` has for `to` in an irregular call. */
static int block_of(const struct operation* o, int from, int to) {
  switch (o->kind) {
    case GATHERV:
    case ALLGATHERV:
      to = 0;
      break;
    case SCATTERV:
    case REDUCE_SCATTER:
      from = 0;
      break;
    case ALLTOALLV:
      /* In place, two ranks have the same for each other. */
      if (o->in_place && from > to) return block_of(o, to, from);
      break;
    default:
      return o->count;
  }
  const unsigned part = (unsigned)mix2(o->seed, (uint64_t)(from * 1000 + to)) % 5;
  return part == 0 ? 0 : (int)((unsigned)o->count * part / 4);
}
/* The same as elements of the receiver's type. */
static int as_received(const struct operation* o, int count) {
  return o->peer_type == o->type ? count : count * o->type->parts;
}

/* Blocks for or from all ranks, in an order of the rank's own, with gaps. Returns elements from the first to behind
 * the last. */
static size_t lay_out(struct thread* t, const struct operation* o, int sends, int** counts, int** at) {
  const int n = o->on.size, gap = (int)draw(&t->own, 3), reverse = chance(&t->own, 50);
  *counts = malloc((size_t)n * sizeof(int));
  *at = malloc((size_t)n * sizeof(int));
  int end = 0;
  for (int i = 0; i < n; ++i) {
    const int other = reverse ? n - 1 - i : i;
    const int block = sends ? block_of(o, o->on.rank, other) : as_received(o, block_of(o, other, o->on.rank));
    (*counts)[other] = block;
    (*at)[other] = end;
    end += block + gap;
  }
  return (size_t)end;
}

static int has_send_lists(const struct operation* o) {
  return o->kind == ALLTOALLV || (o->kind == SCATTERV && o->on.rank == o->root);
}
static int has_receive_lists(const struct operation* o) {
  return o->kind == ALLTOALLV || o->kind == ALLGATHERV || (o->kind == GATHERV && o->on.rank == o->root);
}

static uint64_t seed_of(const struct operation* o) { return mix2(o->seed, (uint64_t)(world_rank * 64 + o->starts)); }

/* Buffers for a collective. What is not received stays as it is, and is looked at, too. */
static void prepare(struct thread* t, struct operation* o) {
  const size_t n = (size_t)o->on.size, s = (size_t)o->count, r = (size_t)as_received(o, o->count);
  const int is_root = o->on.rank == o->root;
  size_t sends = s, receives = r;
  switch (o->kind) {
    case BARRIER:
      sends = receives = 0;
      break;
    case BCAST:
      sends = 0;
      break;
    case GATHER:
      receives = is_root ? n * r : 0;
      break;
    case GATHERV:
      sends = (size_t)block_of(o, o->on.rank, 0);
      receives = 0;
      break;
    case SCATTER:
      sends = is_root ? n * s : 0;
      break;
    case SCATTERV:
      sends = 0;
      receives = (size_t)as_received(o, block_of(o, 0, o->on.rank));
      break;
    case ALLGATHER:
      receives = n * r;
      break;
    case ALLGATHERV:
      sends = (size_t)block_of(o, o->on.rank, 0);
      break;
    case ALLTOALL:
      sends = n * s;
      receives = n * r;
      break;
    case REDUCE_SCATTER: {
      o->receive_counts = malloc(n * sizeof(int));
      sends = 0;
      for (int i = 0; i < o->on.size; ++i) sends += (size_t)(o->receive_counts[i] = block_of(o, 0, i));
      /* In place, all that is combined lies there. */
      receives = o->in_place ? sends : (size_t)o->receive_counts[o->on.rank];
      break;
    }
    case REDUCE_SCATTER_BLOCK:
      sends = n * s;
      receives = o->in_place ? n * s : s;
      break;
    default:
      break;
  }
  if (has_send_lists(o)) sends = lay_out(t, o, 1, &o->send_counts, &o->send_at);
  if (has_receive_lists(o)) receives = lay_out(t, o, 0, &o->receive_counts, &o->receive_at);
  o->send_bytes = sends * o->type->bytes;
  o->receive_bytes = receives * o->peer_type->bytes;
  o->send = new_buffer(o->send_bytes);
  o->receive = new_buffer(o->receive_bytes);
}

/* What the rank contributes, for a start of the call. */
static void contribute(struct operation* o) {
  const uint64_t seed = seed_of(o);
  memset(o->receive, 0x5a, o->receive_bytes + 2 * GUARD);
  fill(o->send + GUARD, o->send_bytes / o->type->bytes, o->type, seed);
  const int everything = o->kind == BCAST ? o->on.rank == o->root : o->in_place;
  if (everything && o->kind != SCATTER && o->kind != SCATTERV) {
    /* A block of the receive buffer, or all of it; the same bytes for every rank and how its blocks lie do not matter,
     * since each is filled by what it is. */
    const size_t count = o->receive_bytes / o->peer_type->bytes;
    if (o->receive_counts != NULL && o->receive_at != NULL) {
      for (int i = 0; i < o->on.size; ++i) {
        fill(o->receive + GUARD + (size_t)o->receive_at[i] * o->peer_type->bytes, (size_t)o->receive_counts[i],
             o->peer_type, mix2(seed, (uint64_t)i));
      }
    } else {
      fill(o->receive + GUARD, count, o->peer_type, seed);
    }
  } else if (o->send_at != NULL) {
    for (int i = 0; i < o->on.size; ++i) {
      fill(o->send + GUARD + (size_t)o->send_at[i] * o->type->bytes, (size_t)o->send_counts[i], o->type,
           mix2(seed, (uint64_t)i));
    }
  }
}

/* By MPI_X, MPI_IX or MPI_X_init, and the latter's start. */
#if MPI_VERSION >= 4
#define INIT(name, ...) MPI_##name##_init(__VA_ARGS__, o->on.comm, MPI_INFO_NULL, &o->request)
#elif defined(OPEN_MPI) && defined(OMPI_HAVE_MPI_EXT_PCOLLREQ)
#define INIT(name, ...) MPIX_##name##_init(__VA_ARGS__, o->on.comm, MPI_INFO_NULL, &o->request)
#endif
#define CALL(name, lower, ...)                                                              \
  (o->mode == BLOCKING                 ? MPI_##name(__VA_ARGS__, o->on.comm)                \
   : o->mode == STARTED || !persistent ? MPI_I##lower(__VA_ARGS__, o->on.comm, &o->request) \
                                       : INIT(name, __VA_ARGS__))

static void begin(struct thread* t, struct operation* o) {
  const int s = o->count, r = as_received(o, o->count);
  const MPI_Datatype st = o->type->type, rt = o->peer_type->type;
  void* const receive = o->receive + GUARD;
  void* const send = o->in_place && o->kind != SCATTER && o->kind != SCATTERV ? MPI_IN_PLACE : o->send + GUARD;
  void* const kept = o->in_place ? MPI_IN_PLACE : receive; /* of a scatter's root */
  trace(t, "begins", o, 0);
  int code = MPI_SUCCESS;
  switch (o->kind) {
    case BARRIER:
      if (o->mode == BLOCKING) {
        code = MPI_Barrier(o->on.comm);
      } else if (o->mode == STARTED || !persistent) {
        code = MPI_Ibarrier(o->on.comm, &o->request);
      } else {
#if MPI_VERSION >= 4
        code = MPI_Barrier_init(o->on.comm, MPI_INFO_NULL, &o->request);
#else
        code = MPIX_Barrier_init(o->on.comm, MPI_INFO_NULL, &o->request);
#endif
      }
      break;
    case BCAST:
      code = CALL(Bcast, bcast, receive, r, rt, o->root);
      break;
    case REDUCE:
      code = CALL(Reduce, reduce, send, receive, s, st, o->op, o->root);
      break;
    case ALLREDUCE:
      code = CALL(Allreduce, allreduce, send, receive, s, st, o->op);
      break;
    case GATHER:
      code = CALL(Gather, gather, send, s, st, receive, r, rt, o->root);
      break;
    case GATHERV:
      code = CALL(Gatherv, gatherv, send, block_of(o, o->on.rank, 0), st, receive, o->receive_counts, o->receive_at, rt,
                  o->root);
      break;
    case SCATTER:
      code = CALL(Scatter, scatter, send, s, st, kept, r, rt, o->root);
      break;
    case SCATTERV:
      code = CALL(Scatterv, scatterv, send, o->send_counts, o->send_at, st, kept,
                  as_received(o, block_of(o, 0, o->on.rank)), rt, o->root);
      break;
    case ALLGATHER:
      code = CALL(Allgather, allgather, send, s, st, receive, r, rt);
      break;
    case ALLGATHERV:
      code = CALL(Allgatherv, allgatherv, send, block_of(o, o->on.rank, 0), st, receive, o->receive_counts,
                  o->receive_at, rt);
      break;
    case ALLTOALL:
      code = CALL(Alltoall, alltoall, send, s, st, receive, r, rt);
      break;
    case ALLTOALLV:
      code = CALL(Alltoallv, alltoallv, send, o->send_counts, o->send_at, st, receive, o->receive_counts, o->receive_at,
                  rt);
      break;
    case REDUCE_SCATTER:
      code = CALL(Reduce_scatter, reduce_scatter, send, receive, o->receive_counts, st, o->op);
      break;
    case REDUCE_SCATTER_BLOCK:
      code = CALL(Reduce_scatter_block, reduce_scatter_block, send, receive, s, st, o->op);
      break;
    case SCAN:
      code = CALL(Scan, scan, send, receive, s, st, o->op);
      break;
    default:
      code = CALL(Exscan, exscan, send, receive, s, st, o->op);
      break;
  }
  CHECK(code == MPI_SUCCESS);
  if (o->mode == PERSISTENT && persistent) MPI_Start(&o->request);
}

/* The operation is complete: what came of it counts. */
static void note(struct thread* t, struct operation* o) {
  uint64_t hash = mix2((uint64_t)o->step, (uint64_t)o->kind);
  const int undefined = o->kind == EXSCAN && o->on.rank == 0;
  /* In place, the other blocks than the own one are scratch. */
  const int partly = o->in_place && (o->kind == REDUCE_SCATTER || o->kind == REDUCE_SCATTER_BLOCK);
  const size_t bytes =
      partly ? (size_t)(o->kind == REDUCE_SCATTER ? o->receive_counts[o->on.rank] : o->count) * o->peer_type->bytes
             : o->receive_bytes;
  if (o->receive != NULL && !undefined && !(o->in_place && (o->kind == SCATTER || o->kind == SCATTERV))) {
    if (o->receive_at != NULL) {
      /* How blocks lie is the rank's own affair. */
      for (int i = 0; i < o->on.size; ++i) {
        hash = hash_of(o->receive + GUARD + (size_t)o->receive_at[i] * o->peer_type->bytes,
                       (size_t)o->receive_counts[i] * o->peer_type->bytes, o->peer_type, hash);
      }
    } else {
      hash = hash_of(o->receive + GUARD, bytes, o->peer_type, hash);
    }
  }
  for (int i = 0; o->receive != NULL && i < GUARD; ++i) {
    CHECK(o->receive[i] == 0x5a && o->receive[GUARD + o->receive_bytes + (size_t)i] == 0x5a);
  }
  count_in(t, "ends", o, hash);
}

static void release(struct operation* o) {
  free(o->send);
  free(o->receive);
  free(o->send_counts);
  free(o->send_at);
  free(o->receive_counts);
  free(o->receive_at);
  free(o);
}

/* --- Waiting --- */

static void check_status(const struct operation* o, const MPI_Status* status) {
  if (o->kind != RECEIVE) return;
  int count = -1;
  MPI_Get_count(status, o->peer_type->type, &count);
  CHECK(status->MPI_SOURCE == o->root && status->MPI_TAG == o->step && count == as_received(o, o->count));
}

/* Completes all of `operations`, each in one of MPI's ways. */
static void await(struct thread* t, struct operation** operations, int count) {
  MPI_Request requests[PENDING];
  MPI_Status statuses[PENDING];
  int indices[PENDING];
  for (int i = 0; i < count; ++i) requests[i] = operations[i]->request;
  const unsigned way = draw(&t->own, 8);
  int left = count, flag = 0, done = 0;
  switch (way) {
    case 0:
      MPI_Waitall(count, requests, statuses);
      for (int i = 0; i < count; ++i) check_status(operations[i], &statuses[i]);
      break;
    case 1:
      while (!flag) MPI_Testall(count, requests, &flag, statuses);
      for (int i = 0; i < count; ++i) check_status(operations[i], &statuses[i]);
      break;
    case 2:
    case 3:
      while (left > 0) {
        flag = 1;
        if (way == 2) {
          MPI_Waitany(count, requests, &done, &statuses[0]);
        } else {
          MPI_Testany(count, requests, &done, &flag, &statuses[0]);
        }
        if (!flag) continue;
        CHECK(done >= 0 && done < count);
        check_status(operations[done], &statuses[0]);
        --left;
      }
      MPI_Waitany(count, requests, &done, &statuses[0]);
      CHECK(done == MPI_UNDEFINED);
      break;
    case 4:
    case 5:
      while (left > 0) {
        if (way == 4) {
          MPI_Waitsome(count, requests, &done, indices, statuses);
        } else {
          MPI_Testsome(count, requests, &done, indices, statuses);
        }
        CHECK(done >= 0 && done <= left);
        for (int i = 0; i < done; ++i) check_status(operations[indices[i]], &statuses[i]);
        left -= done;
      }
      break;
    case 6:
      for (int i = count; i-- > 0;) {
        if (chance(&t->own, 30)) MPI_Request_get_status(requests[i], &flag, &statuses[0]);
        MPI_Wait(&requests[i], &statuses[0]);
        check_status(operations[i], &statuses[0]);
      }
      break;
    default:
      for (int i = 0; i < count; ++i) {
        for (flag = 0; !flag;) MPI_Test(&requests[i], &flag, &statuses[0]);
        check_status(operations[i], &statuses[0]);
      }
      break;
  }
  for (int i = 0; i < count; ++i) {
    CHECK(operations[i]->mode == PERSISTENT || requests[i] == MPI_REQUEST_NULL);
    operations[i]->request = requests[i];
  }
}

static void post_receive(struct operation* o) {
  if (o->mode == PERSISTENT) {
    MPI_Recv_init(o->receive + GUARD, as_received(o, o->count), o->peer_type->type, o->root, o->step, o->on.comm,
                  &o->request);
    MPI_Start(&o->request);
  } else {
    MPI_Irecv(o->receive + GUARD, as_received(o, o->count), o->peer_type->type, o->root, o->step, o->on.comm,
              &o->request);
  }
}

/* Completes what is due, or all that runs on a slot (-1: on any), and starts again what is to be started again. */
static void complete(struct thread* t, int slot, int everything) {
  struct operation* due[PENDING];
  int count = 0, kept = 0;
  for (int i = 0; i < t->pending_count; ++i) {
    struct operation* const o = t->pending[i];
    if (o->due <= t->now || (everything && (slot < 0 || o->slot == slot))) {
      due[count++] = o;
    } else {
      t->pending[kept++] = o;
    }
  }
  t->pending_count = kept;
  if (count == 0) return;
  for (int i = 0; i < count; ++i) {
    struct operation* const o = due[i];
    if (!o->late) continue;
    o->late = 0;
    /* Whoever sends it has begun to, or will without us. */
    if (chance(&t->own, 40)) {
      MPI_Status status;
      int flag = 0;
      if (chance(&t->own, 50)) {
        MPI_Probe(o->root, o->step, o->on.comm, &status);
      } else {
        while (!flag) MPI_Iprobe(o->root, o->step, o->on.comm, &flag, &status);
      }
      check_status(o, &status);
    }
    post_receive(o);
  }
  await(t, due, count);
  for (int i = 0; i < count; ++i) {
    struct operation* const o = due[i];
    note(t, o);
    if (o->starts > 0 && !everything) {
      --o->starts;
      o->due = t->now + 1 + o->starts % 3;
      if (o->kind < KINDS) contribute(o);
      if (o->kind < KINDS && !persistent) {
        begin(t, o);
      } else {
        MPI_Start(&o->request);
      }
      t->pending[t->pending_count++] = o;
      continue;
    }
    if (o->request != MPI_REQUEST_NULL) MPI_Request_free(&o->request);
    release(o);
  }
}

/* --- Steps --- */

static int draw_count(uint64_t* state) {
  const unsigned how = draw(state, 100);
  if (how < 8) return 0;
  if (how < 40) return 1 + (int)draw(state, 8);
  if (how < 80) return 1 + (int)draw(state, 300);
  if (how < 96) return 1 + (int)draw(state, 4000);
  return 1 + (int)draw(state, 30000);
}

static struct operation* new_operation(struct thread* t, int slot, uint64_t* state) {
  struct operation* o = calloc(1, sizeof(*o));
  CHECK(o != NULL);
  o->on = t->slots[slot];
  o->slot = slot;
  o->step = t->now;
  o->seed = mix(*state);
  o->request = MPI_REQUEST_NULL;
  o->due = t->now + 1 + (int)draw(state, 12);
  return o;
}

/* Of what is moved and not counted with. */
static void draw_types(uint64_t* state, struct operation* o) {
  o->type = o->peer_type = draw_type(state, type_count);
  if (o->type->parts == 0 || !chance(state, 40)) return;
  for (int i = 0; i < type_count; ++i) {
    if (types[i].type == o->type->part) o->peer_type = &types[i];
  }
}

static void collective(struct thread* t, int slot, uint64_t* state, enum mode mode) {
  struct operation* o = new_operation(t, slot, state);
  if (threads > 1 && !STARTED_WORKS_WITH_THREADS) mode = BLOCKING;
  o->mode = mode;
  o->kind = (enum kind)draw(state, KINDS);
  o->root = (int)draw(state, (unsigned)o->on.size);
  o->count = draw_count(state);
  const int reduces = o->kind == REDUCE || o->kind == ALLREDUCE || o->kind >= REDUCE_SCATTER;
  if (reduces) {
    o->type = o->peer_type = draw_type(state, reducible_count);
    o->op = draw_op(state, o->type);
  } else {
    draw_types(state, o);
    /* Everybody gives the whole buffer the same type: one that is sent and received. */
    if (o->kind == BCAST) o->peer_type = o->type;
  }
  /* Blocks are many. */
  if (o->kind >= GATHER && o->kind <= REDUCE_SCATTER_BLOCK) o->count /= 4;
  o->starts = mode == PERSISTENT ? (int)draw(state, 3) : 0;
  const int rooted = o->kind == REDUCE || (o->kind >= GATHER && o->kind <= SCATTERV);
  int in_place = o->kind != BARRIER && o->kind != BCAST && o->peer_type == o->type && chance(state, 25);
  const int is_safe = o->kind == ALLREDUCE || o->kind == ALLGATHER || o->kind == ALLGATHERV;
  if (!IN_PLACE_WORKS && !is_safe) in_place = 0;
  o->in_place = in_place && (!rooted || o->on.rank == o->root);
  prepare(t, o);
  contribute(o);
  begin(t, o);
  if (mode != BLOCKING) {
    t->pending[t->pending_count++] = o;
    return;
  }
  note(t, o);
  release(o);
}

/* A message from one rank to another, that goes now and arrives later. */
static void message(struct thread* t, int slot, uint64_t* state) {
  struct operation* o = new_operation(t, slot, state);
  const int from = (int)draw(state, (unsigned)o->on.size), to = (int)draw(state, (unsigned)o->on.size);
  o->count = draw_count(state) * (chance(state, 10) ? 8 : 1);
  draw_types(state, o);
  o->mode = chance(state, 20) ? PERSISTENT : STARTED;
  o->starts = o->mode == PERSISTENT ? (int)draw(state, 3) : 0;
  o->late = o->mode == STARTED && chance(state, 50);
  const int synchronous = chance(state, 20);
  if (o->on.rank == to) {
    struct operation* r = malloc(sizeof(*r));
    *r = *o;
    r->kind = RECEIVE;
    r->root = from;
    r->receive_bytes = (size_t)as_received(o, o->count) * o->peer_type->bytes;
    r->receive = new_buffer(r->receive_bytes);
    if (!r->late) post_receive(r);
    t->pending[t->pending_count++] = r;
  }
  if (o->on.rank != from) {
    free(o);
    return;
  }
  o->kind = SEND;
  o->root = to;
  o->late = 0;
  o->send_bytes = (size_t)o->count * o->type->bytes;
  o->send = new_buffer(o->send_bytes);
  fill(o->send + GUARD, (size_t)o->count, o->type, o->seed);
  if (o->mode == PERSISTENT) {
    MPI_Send_init(o->send + GUARD, o->count, o->type->type, to, o->step, o->on.comm, &o->request);
    MPI_Start(&o->request);
  } else {
    (synchronous ? MPI_Issend : MPI_Isend)(o->send + GUARD, o->count, o->type->type, to, o->step, o->on.comm,
                                           &o->request);
  }
  t->pending[t->pending_count++] = o;
}

/* Everybody to the next one, at once. */
static void shift(struct thread* t, int slot, uint64_t* state) {
  const struct slot* on = &t->slots[slot];
  const struct type* type = draw_type(state, type_count);
  const int by = (int)draw(state, (unsigned)on->size), count = draw_count(state);
  const size_t bytes = (size_t)count * type->bytes;
  char *send = new_buffer(bytes), *receive = new_buffer(bytes);
  fill(send, (size_t)count, type, mix2(*state, (uint64_t)world_rank));
  MPI_Sendrecv(send, count, type->type, (on->rank + by) % on->size, t->now, receive, count, type->type,
               (on->rank + on->size - by) % on->size, t->now, on->comm, MPI_STATUS_IGNORE);
  count_in(t, "shifts", NULL, hash_of(receive, bytes, type, (uint64_t)by));
  free(send);
  free(receive);
}

static int copy_attribute(MPI_Comm comm, int key, void* extra, void* in, void* out, int* flag) {
  (void)comm, (void)key, (void)extra;
  *(void**)out = (char*)in + 1;
  *flag = 1;
  return MPI_SUCCESS;
}
static int attribute_key;

/* What is kept with a communicator is still there. */
static void look_at(struct thread* t, int slot) {
  const struct slot* on = &t->slots[slot];
  if (on->born < 0) return;
  char name[MPI_MAX_OBJECT_NAME], expected[MPI_MAX_OBJECT_NAME];
  int length, flag;
  void* value = NULL;
  snprintf(expected, sizeof(expected), "born at %d", on->born);
  MPI_Comm_get_name(on->comm, name, &length);
  MPI_Comm_get_attr(on->comm, attribute_key, &value, &flag);
  CHECK(strcmp(name, expected) == 0 && flag && (intptr_t)value == on->born);
  (void)t;
}

/* Two halves that meet, and become one again. */
static MPI_Comm through_halves(struct thread* t, const struct slot* parent, uint64_t* state) {
  const int half = 1 + (int)draw(state, (unsigned)parent->size - 1), low = parent->rank < half;
  const int high_first = chance(state, 30);
  MPI_Comm own, both, merged;
  MPI_Comm_split(parent->comm, low, parent->rank, &own);
  MPI_Intercomm_create(own, 0, parent->comm, low ? half : 0, t->now, &both);
  int value = world_rank + 1, sum = 0;
  MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, both); /* of the others */
  count_in(t, "sums between halves", NULL, (uint64_t)sum);
  MPI_Intercomm_merge(both, high_first ? low : !low, &merged);
  MPI_Comm_free(&both);
  MPI_Comm_free(&own);
  return merged;
}

static MPI_Comm made_of(struct thread* t, const struct slot* parent, uint64_t* state) {
  MPI_Comm made = MPI_COMM_NULL, cart;
  MPI_Group all, some;
  const int n = parent->size;
  int members[RANKS_MAX];
  switch (draw(state, 10)) {
    case 0:
      MPI_Comm_dup(parent->comm, &made);
      break;
    case 1: {
      MPI_Request request;
      MPI_Comm_idup(parent->comm, &made, &request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      break;
    }
    case 2:
      MPI_Comm_dup_with_info(parent->comm, MPI_INFO_NULL, &made);
      break;
    case 3: {
      const uint64_t seed = mix2(*state, (uint64_t)parent->rank);
      MPI_Comm_split(parent->comm, seed % 8 == 0 ? MPI_UNDEFINED : (int)(seed % 2), (int)(seed >> 8) % 5, &made);
      break;
    }
    case 4:
      MPI_Comm_split_type(parent->comm, MPI_COMM_TYPE_SHARED, n - parent->rank, MPI_INFO_NULL, &made);
      break;
    case 5:
    case 6: {
      /* Some ranks, in reverse order. */
      const int by_members = chance(state, 50);
      int count = 0, is_member = 0;
      for (int i = n; i-- > 0;) {
        if (i > 0 && chance(state, 30)) continue;
        is_member |= i == parent->rank;
        members[count++] = i;
      }
      MPI_Comm_group(parent->comm, &all);
      MPI_Group_incl(all, count, members, &some);
      if (!by_members) {
        MPI_Comm_create(parent->comm, some, &made);
      } else if (is_member) {
        MPI_Comm_create_group(parent->comm, some, t->now, &made);
      }
      MPI_Group_free(&some);
      MPI_Group_free(&all);
      break;
    }
    case 7: {
      int dims[2] = {0, 0};
      MPI_Dims_create(n, 2, dims);
      MPI_Cart_create(parent->comm, 2, dims, (int[]){1, 0}, (int)draw(state, 2), &cart);
      if (chance(state, 50)) {
        made = cart;
        break;
      }
      MPI_Cart_sub(cart, (int[]){1, 0}, &made);
      MPI_Comm_free(&cart);
      break;
    }
    case 8: {
      int index[RANKS_MAX], edges[2 * RANKS_MAX];
      for (int i = 0; i < n; ++i) {
        index[i] = 2 * (i + 1);
        edges[2 * i] = (i + 1) % n;
        edges[2 * i + 1] = (i + n - 1) % n;
      }
      MPI_Graph_create(parent->comm, n, index, edges, 0, &made);
      break;
    }
    default:
      if (n < 2) {
        MPI_Comm_dup(parent->comm, &made);
      } else {
        made = through_halves(t, parent, state);
      }
      break;
  }
  return made;
}

static void make_communicator(struct thread* t, int from, uint64_t* state) {
  int place = 0;
  while (place < SLOTS && t->slots[place].used) ++place;
  if (place == SLOTS) return;
  struct slot* slot = &t->slots[place];
  *slot = (struct slot){.used = 1, .comm = MPI_COMM_NULL, .born = t->now};
  if (t->slots[from].comm == MPI_COMM_NULL) return;
  slot->comm = made_of(t, &t->slots[from], state);
  if (slot->comm == MPI_COMM_NULL) return;
  MPI_Comm_size(slot->comm, &slot->size);
  MPI_Comm_rank(slot->comm, &slot->rank);
  char name[MPI_MAX_OBJECT_NAME];
  snprintf(name, sizeof(name), "born at %d", t->now);
  MPI_Comm_set_name(slot->comm, name);
  MPI_Comm_set_attr(slot->comm, attribute_key, (void*)(intptr_t)t->now);
  count_in(t, "makes a communicator", NULL, (uint64_t)(slot->size * 1000 + slot->rank));
}

static void free_communicator(struct thread* t, int which, uint64_t* state) {
  struct slot* slot = &t->slots[which];
  const int disconnects = chance(state, 30);
  slot->used = 0;
  if (slot->comm == MPI_COMM_NULL) return;
  /* Both libraries may fail if a collective that was started on it still runs. */
  complete(t, which, 1);
  if (disconnects) {
    MPI_Comm_disconnect(&slot->comm);
  } else {
    MPI_Comm_free(&slot->comm);
  }
}

/* Microseconds, or some milliseconds. */
static void compute(uint64_t* state) {
  volatile uint64_t done = 0;
  for (unsigned left = draw(state, chance(state, 10) ? 1000000 : 50000); left > 0; --left) done = mix(done);
}

static void step(struct thread* t) {
  uint64_t state = mix2(mix2(t->seed, (uint64_t)t->number), (uint64_t)t->now);
  t->own = mix2(state, (uint64_t)world_rank + 1);
  if (chance(&t->own, 10)) compute(&t->own);
  complete(t, -1, 0);
  int slot = 0;
  for (int tries = 0; tries < 4; ++tries) {
    const int other = (int)draw(&state, SLOTS);
    if (slot == 0 && t->slots[other].used) slot = other;
  }
  const unsigned what = draw(&state, 100);
  if (what >= 90) {
    if (what < 96 || slot == 0) {
      make_communicator(t, slot, &state);
    } else {
      free_communicator(t, slot, &state);
    }
    return;
  }
  if (t->slots[slot].comm == MPI_COMM_NULL) return;
  if (what < 45) {
    collective(t, slot, &state, BLOCKING);
  } else if (what < 62) {
    collective(t, slot, &state, STARTED);
  } else if (what < 66) {
    collective(t, slot, &state, PERSISTENT);
  } else if (what < 84) {
    message(t, slot, &state);
  } else {
    shift(t, slot, &state);
  }
  look_at(t, slot);
}

static void* run(void* argument) {
  struct thread* t = argument;
  for (t->now = 0; t->now < t->steps; ++t->now) {
    /* Room for the two that a step may add, at every rank alike: it does not know how many the others have. */
    if (t->now % (PENDING / 2) == 0) complete(t, -1, 1);
    step(t);
  }
  complete(t, -1, 1);
  for (int i = 1; i < SLOTS; ++i) {
    if (t->slots[i].used && t->slots[i].comm != MPI_COMM_NULL) MPI_Comm_free(&t->slots[i].comm);
  }
  return NULL;
}

int main(int argc, char** argv) {
  const uint64_t seed = strtoull(argc > 1 ? argv[1] : "1", NULL, 0);
  const int steps = argc > 2 ? atoi(argv[2]) : STEPS;
  for (int i = 3; i < argc; ++i) {
    tracing |= strcmp(argv[i], "trace") == 0;
    persistent |= strcmp(argv[i], "persistent") == 0;
  }
  uint64_t state = mix(seed);
  int level = MPI_THREAD_SINGLE;
  threads = chance(&state, 30) ? 2 + (int)draw(&state, THREADS - 1) : 1;
  if (threads > 1) {
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  } else {
    MPI_Init(&argc, &argv);
  }
  MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &world_size);
  CHECK(threads == 1 || level == MPI_THREAD_MULTIPLE);
  CHECK(world_size <= RANKS_MAX);
  make_types();
  MPI_Comm_create_keyval(copy_attribute, MPI_COMM_NULL_DELETE_FN, &attribute_key, NULL);
  struct thread thread[THREADS];
  memset(thread, 0, sizeof(thread));
  for (int i = 0; i < threads; ++i) {
    struct slot* base = &thread[i].slots[0];
    thread[i].number = i;
    thread[i].seed = seed;
    thread[i].steps = steps;
    *base = (struct slot){.used = 1, .comm = MPI_COMM_WORLD, .size = world_size, .rank = world_rank, .born = -1};
    if (i > 0) MPI_Comm_dup(MPI_COMM_WORLD, &base->comm);
  }
  pthread_t ids[THREADS];
  for (int i = 1; i < threads; ++i) pthread_create(&ids[i], NULL, run, &thread[i]);
  run(&thread[0]);
  for (int i = 1; i < threads; ++i) pthread_join(ids[i], NULL);
  uint64_t sum[2] = {0, 0};
  for (int i = 0; i < threads; ++i) {
    sum[0] += mix2(thread[i].hash, (uint64_t)i);
    sum[1] += (uint64_t)thread[i].calls;
    if (i > 0) MPI_Comm_free(&thread[i].slots[0].comm);
  }
  /* Not by a collective: these may be what is wrong. */
  if (world_rank > 0) {
    MPI_Send(sum, 2, MPI_UINT64_T, 0, 0, MPI_COMM_WORLD);
  } else {
    for (int i = 1; i < world_size; ++i) {
      uint64_t other[2];
      MPI_Recv(other, 2, MPI_UINT64_T, i, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      sum[0] += mix2(other[0], (uint64_t)i);
      sum[1] += other[1];
    }
    printf("seed %llu: %llu calls, hash %016llx\n", (unsigned long long)seed, (unsigned long long)sum[1],
           (unsigned long long)sum[0]);
  }
  for (int i = reducible_count - 1; i < type_count; ++i) MPI_Type_free(&types[i].type);
  MPI_Op_free(&op_product);
  MPI_Op_free(&op_compose);
  MPI_Comm_free_keyval(&attribute_key);
  MPI_Finalize();
  return 0;
}
