/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copse: collectives that a daemon on every node runs, so that applications need not.
 *
 * The shape is UCC's: a context is this process's connection to the daemon of its node; a team is an ordered set of
 * ranks (what MPI calls a communicator); a request is one collective of a team, initialised once and posted as often
 * as wanted. Blocking calls do all of it in one.
 *
 *     copse_context_t *context;
 *     copse_team_t *team;
 *     copse_team_params_t params = {0};
 *     params.mask = COPSE_TEAM_PARAM_FIELD_NAME | COPSE_TEAM_PARAM_FIELD_RANK | COPSE_TEAM_PARAM_FIELD_SIZE;
 *     params.name = "world";  params.rank = rank;  params.size = size;
 *     if (copse_init(NULL, &context) != COPSE_OK || copse_team_create(context, &params, &team) != COPSE_OK ||
 *         copse_allreduce(team, &mine, &sum, 1, COPSE_DT_DOUBLE, COPSE_OP_SUM) != COPSE_OK)
 *       fprintf(stderr, "%s\n", copse_last_error());
 *
 * Rules
 * - Every rank of a team makes the same calls in the same order: a team's calls are numbered in the order of their
 *   posts (a blocking call posts when it starts). Ranks that disagree get COPSE_ERR_MISMATCH.
 * - All handles may be used by several threads at once. Which of two threads posts first on one team is theirs to
 *   decide, and has to be the same on all ranks. No thread may use a handle that another is destroying.
 * - A late rank is not a failure: without a time-out a call waits for ever. Only evidence of a death ends it.
 * - After a fork, the child's use of its parent's handles returns COPSE_ERR_INVALID_ARGUMENT (copse_fini only frees
 *   the child's copy). The child may call copse_init. Memory of copse_alloc stays shared with the parent.
 * - A failing function sets its outputs to nothing and leaves one line in copse_last_error().
 * - The library prints nothing unless COPSE_LOG_LEVEL asks, installs no signal handlers and never aborts.
 *
 * Environment: COPSE_SOCKET, COPSE_JOB, COPSE_TIMEOUT, COPSE_LOG_LEVEL, COPSE_LOG_FILE; see docs/reference/c-api.md.
 */
#ifndef COPSE_H_
#define COPSE_H_

#include <stddef.h>
#include <stdint.h>

/* The version of this header; copse_get_version() tells the library's. */
#define COPSE_VERSION_MAJOR 0
#define COPSE_VERSION_MINOR 1
#define COPSE_VERSION_PATCH 0
#define COPSE_VERSION_STRING "0.1.0"

#if defined(__GNUC__)
#define COPSE_API __attribute__((visibility("default")))
#else
#define COPSE_API
#endif

/* Enumerations are of the size of an int in C and in C++. */
#ifdef __cplusplus
#define COPSE_ENUM_INT : int
extern "C" {
#else
#define COPSE_ENUM_INT
#endif

/* ---- Status -------------------------------------------------------------------------------------------------- */

typedef enum copse_status COPSE_ENUM_INT {
  COPSE_OK = 0,
  COPSE_INPROGRESS = 1,            /* not an error: ask again */
  COPSE_ERR_INVALID_ARGUMENT = -1, /* an argument that can never be right, or a handle in the wrong state */
  COPSE_ERR_NO_DAEMON = -2,        /* no daemon answers, or it went away */
  COPSE_ERR_VERSION = -3,          /* library and daemon, or this header and the library, are too far apart */
  COPSE_ERR_NO_RESOURCE = -4,      /* a queue, a pool or a quota is exhausted, or no planner; may succeed later */
  COPSE_ERR_TIMED_OUT = -5,        /* the caller's time is over */
  COPSE_ERR_MEMBER_LOST = -6,      /* a member of the team died; the team is broken for good */
  COPSE_ERR_MISMATCH = -7,         /* the ranks' arguments differ; the team is broken for good */
  COPSE_ERR_CANCELED = -8,         /* by copse_cancel, or as the team was destroyed */
  COPSE_ERR_NOT_SUPPORTED = -9,    /* legal, but not offered by this version: for example a message too long */
  COPSE_ERR_NO_MEMORY = -10,       /* the process is out of memory */
  COPSE_ERR_PERMISSION = -11,      /* the daemon is not to be trusted, or does not trust this process */
  COPSE_ERR_INTERNAL = -12         /* a fault of Copse's own */
} copse_status_t;

/* "COPSE_ERR_TIMED_OUT: the time is over"; never NULL, for any value. */
COPSE_API const char* copse_status_string(copse_status_t status);

/* This thread's latest failure as one line, `copse: what: why (thing=value, limit=value)`; "" if it had none. Valid
 * until the thread's next call of this library. Success does not clear it. */
COPSE_API const char* copse_last_error(void);

/* What happened, beside what a program can do about it. */
typedef enum copse_cause COPSE_ENUM_INT {
  COPSE_CAUSE_UNKNOWN = 0,
  COPSE_CAUSE_PROCESS_DIED = 1,        /* a member's process ended without leaving its team */
  COPSE_CAUSE_MEMBER_LEFT = 2,         /* a member left the team, and others called on */
  COPSE_CAUSE_NODE_RESTARTED = 3,      /* the node's daemon was started anew */
  COPSE_CAUSE_CONNECTION_LOST = 4,     /* the connection to the node was reset or refused */
  COPSE_CAUSE_NODE_SILENT = 5,         /* nothing was heard from the node for `limit` milliseconds */
  COPSE_CAUSE_NODE_REMOVED = 6,        /* by an administrator */
  COPSE_CAUSE_TEAM_BROKEN = 7,         /* by an administrator */
  COPSE_CAUSE_NODE_DRAINING = 8,       /* the node takes no new teams, or its daemon ends */
  COPSE_CAUSE_BAD_ARGUMENT = 9,        /* an argument that can never be right */
  COPSE_CAUSE_RANKS_DIFFER = 10,       /* ranks gave arguments that do not fit each other */
  COPSE_CAUSE_NOT_FORMED_IN_TIME = 11, /* ranks or nodes were missing after `limit` milliseconds */
  COPSE_CAUSE_CALLER_TIME_OUT = 12,    /* the caller's own limit, `limit` milliseconds */
  COPSE_CAUSE_QUOTA = 13,              /* more than `limit` of something */
  COPSE_CAUSE_NO_PLANNER = 14,         /* the node's daemon has no planner at the moment */
  COPSE_CAUSE_CANCELED_BY_CALLER = 15,
  COPSE_CAUSE_VERSIONS_DIFFER = 16,
  COPSE_CAUSE_NOT_PERMITTED = 17,
  COPSE_CAUSE_DAEMON_GONE = 18, /* this node's daemon ended, or none answers */
  COPSE_CAUSE_NOT_SUPPORTED = 19,
  COPSE_CAUSE_OUT_OF_MEMORY = 20,
  COPSE_CAUSE_FAULT = 21 /* of Copse's own */
} copse_cause_t;

enum copse_failure_field {
  COPSE_FAILURE_FIELD_STATUS = 1 << 0,
  COPSE_FAILURE_FIELD_CAUSE = 1 << 1,
  COPSE_FAILURE_FIELD_NODE = 1 << 2,
  COPSE_FAILURE_FIELD_RANK = 1 << 3,
  COPSE_FAILURE_FIELD_LIMIT = 1 << 4
};

typedef struct copse_failure {
  uint64_t mask;         /* in: what to fill in */
  copse_status_t status; /* COPSE_OK: this thread had no failure */
  copse_cause_t cause;
  char node[128]; /* where it happened; "": no single node, or not known */
  int64_t rank;   /* in the team, that brought it about; -1: none, or not known */
  uint64_t limit; /* as the cause says; 0: none */
} copse_failure_t;

/* This thread's latest failure, the one of copse_last_error, for programs. INVALID_ARGUMENT for unknown fields, which
 * does not count as a failure. */
COPSE_API copse_status_t copse_last_failure(copse_failure_t* failure);

/* "process-died"; never NULL, for any value. */
COPSE_API const char* copse_cause_string(copse_cause_t cause);

/* The library's version. Any pointer may be NULL. */
COPSE_API void copse_get_version(unsigned* major, unsigned* minor, unsigned* patch);

/* ---- Handles ------------------------------------------------------------------------------------------------- */

typedef struct copse_context copse_context_t;
typedef struct copse_team copse_team_t;
typedef struct copse_request copse_request_t;

/* Parameter structs start with a mask that says which of the optional fields are set; the rest is not read. Bits that
 * the library does not know are refused with COPSE_ERR_INVALID_ARGUMENT, so that a new header with an old library is
 * noticed. Zero a struct before you fill it. */

/* ---- Context ------------------------------------------------------------------------------------------------- */

enum copse_init_params_field {
  COPSE_INIT_PARAM_FIELD_SOCKET = 1 << 0,
  COPSE_INIT_PARAM_FIELD_JOB = 1 << 1,
  COPSE_INIT_PARAM_FIELD_DQ_ENTRIES = 1 << 2,
  COPSE_INIT_PARAM_FIELD_EQ_ENTRIES = 1 << 3,
  COPSE_INIT_PARAM_FIELD_DATA_BYTES = 1 << 4
};

typedef struct copse_init_params {
  uint64_t mask;
  const char* socket;  /* path, or `@name` of an abstract socket; %h: host name. Default: COPSE_SOCKET, else @copse,
                          else /run/copse/copsed.sock */
  const char* job;     /* at most 63 bytes. Default: COPSE_JOB, else the launcher's (Slurm, PMI, PMIx, Open MPI) */
  uint32_t dq_entries; /* power of two: posts that the daemon has not read yet. Default: the daemon's */
  uint32_t eq_entries; /* power of two: calls in flight. Default: the daemon's */
  uint64_t data_bytes; /* shared memory through which messages are copied. Default: the daemon's */
} copse_init_params_t;

/* Attaches to this node's daemon. `params` may be NULL. The server must run as root, as user `copse` or as this user
 * (else COPSE_ERR_PERMISSION). */
COPSE_API copse_status_t copse_init(const copse_init_params_t* params, copse_context_t** context);

/* Leaves the daemon. Destroys what the context still has: requests in progress end with COPSE_ERR_CANCELED, and all
 * handles and memory of the context are invalid afterwards. After a fork the child's copy is freed and nothing else. */
COPSE_API copse_status_t copse_fini(copse_context_t* context);

enum copse_context_attr_field {
  COPSE_CONTEXT_ATTR_FIELD_NODE = 1 << 0,
  COPSE_CONTEXT_ATTR_FIELD_INCARNATION = 1 << 1,
  COPSE_CONTEXT_ATTR_FIELD_MESSAGE_BYTES_MAX = 1 << 2,
  COPSE_CONTEXT_ATTR_FIELD_DQ_ENTRIES = 1 << 3,
  COPSE_CONTEXT_ATTR_FIELD_EQ_ENTRIES = 1 << 4,
  COPSE_CONTEXT_ATTR_FIELD_DATA_BYTES = 1 << 5
};

typedef struct copse_context_attr {
  uint64_t mask;              /* in: what to fill in */
  char node[128];             /* the daemon's node name */
  uint64_t incarnation;       /* changes with every start of the daemon */
  uint64_t message_bytes_max; /* of one call's buffer, all its blocks together */
  uint32_t dq_entries;
  uint32_t eq_entries;
  uint64_t data_bytes;
} copse_context_attr_t;

COPSE_API copse_status_t copse_context_get_attr(copse_context_t* context, copse_context_attr_t* attr);

/* Goes to the daemon and back through the queues. seconds < 0: for ever. */
COPSE_API copse_status_t copse_ping(copse_context_t* context, double seconds);

/* ---- Teams --------------------------------------------------------------------------------------------------- */

/* Out-of-band allgather among the future members, as UCC has it. Every rank contributes `msglen` bytes at `sbuf`;
 * `rbuf` receives them all, in order of `oob_ep`. It may finish later: req_test returns COPSE_INPROGRESS until then. */
typedef struct copse_oob_coll {
  copse_status_t (*allgather)(void* sbuf, void* rbuf, size_t msglen, void* coll_info, void** request);
  copse_status_t (*req_test)(void* request);
  copse_status_t (*req_free)(void* request);
  void* coll_info;
  uint32_t n_oob_eps; /* number of members: the team's size */
  uint32_t oob_ep;    /* this member: its rank */
} copse_oob_coll_t;

enum copse_team_params_field {
  COPSE_TEAM_PARAM_FIELD_NAME = 1 << 0,
  COPSE_TEAM_PARAM_FIELD_RANK = 1 << 1,
  COPSE_TEAM_PARAM_FIELD_SIZE = 1 << 2,
  COPSE_TEAM_PARAM_FIELD_OOB = 1 << 3,
  COPSE_TEAM_PARAM_FIELD_NONCE = 1 << 4,
  COPSE_TEAM_PARAM_FIELD_TIMEOUT = 1 << 5
};

typedef struct copse_team_params {
  uint64_t mask;
  const char* name; /* 1 to 127 bytes of printable ASCII; with oob it may be left out */
  uint32_t rank;
  uint32_t size;
  copse_oob_coll_t oob; /* instead of rank and size */
  uint64_t nonce;       /* tells teams of one name apart; all members give the same. oob agrees on one itself */
  double timeout;       /* seconds for the formation; <= 0: the cluster's default. Default: COPSE_TIMEOUT */
} copse_team_params_t;

/* Forms a team; collective over its members: those of the same user and job that give the same name, nonce and size,
 * each with a rank of its own in [0, size). Returns when all are there (or on a time-out, or a refusal).
 *
 * COPSE_ERR_NO_RESOURCE, of COPSE_CAUSE_NO_PLANNER: the node's daemon has no planner, and has had none for 5 s. Members
 * are waited for, a planner is not: try again later. */
COPSE_API copse_status_t copse_team_create(copse_context_t* context, const copse_team_params_t* params,
                                           copse_team_t** team);

/* A colour for members of the parent that are in no sub-team. */
#define COPSE_UNDEFINED INT64_MIN

enum copse_subteam_params_field {
  COPSE_SUBTEAM_PARAM_FIELD_INCLUDED = 1 << 0,
  COPSE_SUBTEAM_PARAM_FIELD_COLOR = 1 << 1,
  COPSE_SUBTEAM_PARAM_FIELD_KEY = 1 << 2,
  COPSE_SUBTEAM_PARAM_FIELD_RANKS = 1 << 3,
  COPSE_SUBTEAM_PARAM_FIELD_TIMEOUT = 1 << 4
};

/* Who is in the new team, in one of three ways, the same on all ranks of the parent:
 * - included: those who say non-zero, in the parent's order (UCC's);
 * - color and key: those with the same colour, ordered by key (default 0), then by parent's rank (MPI_Comm_split);
 * - ranks: those listed, in the list's order. Members of one sub-team give the same list; a rank that is not in its own
 *   list (an empty one, for example) is in no sub-team (MPI_Comm_create). */
typedef struct copse_subteam_params {
  uint64_t mask;
  int included;
  int64_t color; /* COPSE_UNDEFINED: in none */
  int64_t key;
  const uint32_t* ranks; /* of the parent */
  uint32_t rank_count;
  double timeout; /* as in copse_team_params_t */
} copse_subteam_params_t;

/* Forms sub-teams; collective over the *whole* parent, and one of its calls in order (the members are agreed by
 * allreduce on it). A rank that is in none gets COPSE_OK and *team == NULL. The parent may be destroyed before. */
COPSE_API copse_status_t copse_team_create_from_parent(copse_team_t* parent, const copse_subteam_params_t* params,
                                                       copse_team_t** team);

/* Leaves a team. Local, but all members have to do it sometime. COPSE_ERR_INVALID_ARGUMENT while requests of it are in
 * progress; requests that are merely initialised stay valid for copse_finalize alone. */
COPSE_API copse_status_t copse_team_destroy(copse_team_t* team);

COPSE_API copse_status_t copse_team_rank(copse_team_t* team, uint32_t* rank);
COPSE_API copse_status_t copse_team_size(copse_team_t* team, uint32_t* size);

/* ---- Collectives --------------------------------------------------------------------------------------------- */

/* reduce_scatter has equal blocks (MPI_Reduce_scatter_block), reduce_scatterv a count for each rank
 * (MPI_Reduce_scatter). */
typedef enum copse_collective COPSE_ENUM_INT {
  COPSE_COLL_BARRIER = 0,
  COPSE_COLL_BCAST = 1,
  COPSE_COLL_REDUCE = 2,
  COPSE_COLL_ALLREDUCE = 3,
  COPSE_COLL_GATHER = 4,
  COPSE_COLL_SCATTER = 5,
  COPSE_COLL_ALLGATHER = 6,
  COPSE_COLL_ALLTOALL = 7,
  COPSE_COLL_REDUCE_SCATTER = 8,
  COPSE_COLL_SCAN = 9,
  COPSE_COLL_EXSCAN = 10,
  COPSE_COLL_GATHERV = 11,
  COPSE_COLL_SCATTERV = 12,
  COPSE_COLL_ALLGATHERV = 13,
  COPSE_COLL_ALLTOALLV = 14,
  COPSE_COLL_REDUCE_SCATTERV = 15
} copse_collective_t;

typedef enum copse_datatype COPSE_ENUM_INT {
  COPSE_DT_INT8 = 0,
  COPSE_DT_INT16 = 1,
  COPSE_DT_INT32 = 2,
  COPSE_DT_INT64 = 3,
  COPSE_DT_UINT8 = 4,
  COPSE_DT_UINT16 = 5,
  COPSE_DT_UINT32 = 6,
  COPSE_DT_UINT64 = 7,
  COPSE_DT_FLOAT = 8,
  COPSE_DT_DOUBLE = 9,
  COPSE_DT_HALF = 10,     /* IEEE 754 binary16 */
  COPSE_DT_BFLOAT16 = 11, /* the upper half of a float */
  COPSE_DT_COMPLEX_FLOAT = 12,
  COPSE_DT_COMPLEX_DOUBLE = 13,
  COPSE_DT_BYTE = 14,
  /* Values with their places, for minloc and maxloc: struct { VALUE value; int32_t index; }, with C's padding. */
  COPSE_DT_FLOAT_INT = 15,
  COPSE_DT_DOUBLE_INT = 16,
  COPSE_DT_LONG_INT = 17, /* value: int64_t */
  COPSE_DT_2INT = 18,
  COPSE_DT_SHORT_INT = 19
} copse_datatype_t;

/* Operands combine in the same order in every run, not in order of arrival. What is defined on what, and what comes of
 * NaNs, ties and overflow: docs/reference/c-api.md. */
typedef enum copse_op COPSE_ENUM_INT {
  COPSE_OP_SUM = 0,
  COPSE_OP_PROD = 1,
  COPSE_OP_MIN = 2,
  COPSE_OP_MAX = 3,
  COPSE_OP_LAND = 4,
  COPSE_OP_LOR = 5,
  COPSE_OP_LXOR = 6,
  COPSE_OP_BAND = 7,
  COPSE_OP_BOR = 8,
  COPSE_OP_BXOR = 9,
  COPSE_OP_MINLOC = 10,
  COPSE_OP_MAXLOC = 11
} copse_op_t;

/* Instead of a buffer, as MPI has it. As the send buffer:
 * - reduce (root), allreduce, scan, exscan: the contribution is in the receive buffer, where the result goes;
 * - gather(v) (root), allgather(v): it is in the receive buffer already, in this rank's own block;
 * - alltoall(v): the receive buffer's blocks are sent and replaced; the receive counts are those of sending, too;
 * - reduce_scatter(v): all blocks are in the receive buffer, which begins with the result afterwards.
 * As the receive buffer of scatter(v) at the root: its own block stays where it is. */
#ifdef __cplusplus
#define COPSE_IN_PLACE (reinterpret_cast<void*>(1))
#else
#define COPSE_IN_PLACE ((void*)1)
#endif

enum copse_coll_args_field {
  COPSE_COLL_ARGS_FIELD_FLAGS = 1 << 0,
  COPSE_COLL_ARGS_FIELD_SEND_COUNTS = 1 << 1,
  COPSE_COLL_ARGS_FIELD_SEND_DISPLACEMENTS = 1 << 2,
  COPSE_COLL_ARGS_FIELD_RECV_COUNTS = 1 << 3,
  COPSE_COLL_ARGS_FIELD_RECV_DISPLACEMENTS = 1 << 4
};

/* The same on all ranks. Without a meaning for a collective they are ignored. */
enum copse_coll_flag {
  COPSE_COLL_FLAG_COUNTS_KNOWN = 1 << 0, /* gatherv, scatterv: every rank gives all counts, not the root alone. Faster:
                                            nobody has to be told */
  COPSE_COLL_FLAG_REPRODUCIBLE = 1 << 1  /* reductions: the same bits whatever the tree, the size and the placement.
                                          Sums and products of floating point are made in order of ranks, which
                                          costs more; all else has it anyway */
};

/* A collective's arguments. Buffers must not overlap unless COPSE_IN_PLACE says so; where nothing is sent or received
 * they may be NULL. `one` is one block of `count` elements, `blocks` are as many as there are ranks.
 *
 *   collective        send                  recv                   count of             type  op   root  counts
 *   barrier           -                     -                      -                    -     -    -     -
 *   bcast             NULL, COPSE_IN_PLACE  the buffer, everywhere the buffer           yes   -    yes   -
 *   reduce            one                   one, at the root       the buffer           yes   yes  yes   -
 *   allreduce         one                   one                    the buffer           yes   yes  -     -
 *   gather            one                   blocks, at the root    a rank's part        yes   -    yes   -
 *   scatter           blocks, at the root   one                    a rank's part        yes   -    yes   -
 *   allgather         one                   blocks                 a rank's part        yes   -    -     -
 *   alltoall          blocks                blocks                 one block            yes   -    -     -
 *   reduce_scatter    blocks                one                    the result           yes   yes  -     -
 *   scan              one                   one                    the buffer           yes   yes  -     -
 *   exscan            one                   one, but at rank 0     the buffer           yes   yes  -     -
 *   gatherv           one                   blocks, at the root    what it sends        yes   -    yes   recv (root)
 *   scatterv          blocks, at the root   one                    what it receives     yes   -    yes   send (root)
 *   allgatherv        one                   blocks                 what it sends        yes   -    -     recv
 *   alltoallv         blocks                blocks                 -                    yes   -    -     send, recv
 *   reduce_scatterv   blocks, by rank       one                    -                    yes   yes  -     recv
 *
 * Fields with a dash are not read, nor `count` in place. exscan leaves rank 0's receive buffer as it is.
 *
 * Counts have an entry a rank, and so have displacements: where the rank's block begins, in elements from the buffer's
 * address on; without them, blocks lie one after another. The arrays are read by copse_collective_init alone. Blocks to
 * send may overlap, blocks to receive must not. What one rank sends to another, both say to be as long. */
typedef struct copse_coll_args {
  uint64_t mask; /* the fields from `flags` on that are set */
  copse_collective_t collective;
  copse_datatype_t type;
  copse_op_t op;
  uint32_t root;
  const void* send;
  void* recv;
  uint64_t count; /* elements */
  uint64_t flags; /* copse_coll_flag */
  const uint64_t* send_counts;
  const uint64_t* send_displacements;
  const uint64_t* recv_counts;
  const uint64_t* recv_displacements;
} copse_coll_args_t;

/* Makes a request of the arguments, checked here. Local. The buffers are read and written between post and completion,
 * in every round. */
COPSE_API copse_status_t copse_collective_init(copse_team_t* team, const copse_coll_args_t* args,
                                               copse_request_t** request);

/* Starts a round: the team's next call. The request must not be in progress. The contribution has been copied when it
 * returns, unless it is in memory of copse_alloc, which has to be left alone until the round is complete.
 * COPSE_ERR_NO_RESOURCE: the queue or the memory for copies stayed full; nothing was posted, try again after some
 * completions. */
COPSE_API copse_status_t copse_post(copse_request_t* request);

/* COPSE_INPROGRESS, or the result of the latest round. Never blocks. */
COPSE_API copse_status_t copse_test(copse_request_t* request);

/* Waits for the latest round and returns its result. seconds < 0: for ever; 0: as copse_test. COPSE_ERR_TIMED_OUT: not
 * complete yet; the round goes on, and it may be waited for again. */
COPSE_API copse_status_t copse_wait(copse_request_t* request, double seconds);

/* Gives up a round in progress: the request ends with COPSE_ERR_CANCELED and its receive buffer, unless it is in memory
 * of copse_alloc, will not be written. The other ranks are not disturbed: this rank's contribution stands, and the
 * team's next call is the next one. A completed request stays as it is. */
COPSE_API copse_status_t copse_cancel(copse_request_t* request);

/* Frees a request that is not in progress. */
COPSE_API copse_status_t copse_finalize(copse_request_t* request);

/* Blocking calls: collective_init, post, wait, finalize in one. With COPSE_TIMEOUT set they end after so many seconds
 * with COPSE_ERR_TIMED_OUT; the call is then cancelled as by copse_cancel. */
COPSE_API copse_status_t copse_barrier(copse_team_t* team);
COPSE_API copse_status_t copse_bcast(copse_team_t* team, void* buffer, uint64_t count, copse_datatype_t type,
                                     uint32_t root);
COPSE_API copse_status_t copse_reduce(copse_team_t* team, const void* send, void* recv, uint64_t count,
                                      copse_datatype_t type, copse_op_t op, uint32_t root);
COPSE_API copse_status_t copse_allreduce(copse_team_t* team, const void* send, void* recv, uint64_t count,
                                         copse_datatype_t type, copse_op_t op);
COPSE_API copse_status_t copse_scan(copse_team_t* team, const void* send, void* recv, uint64_t count,
                                    copse_datatype_t type, copse_op_t op);
COPSE_API copse_status_t copse_exscan(copse_team_t* team, const void* send, void* recv, uint64_t count,
                                      copse_datatype_t type, copse_op_t op);
COPSE_API copse_status_t copse_reduce_scatter_block(copse_team_t* team, const void* send, void* recv, uint64_t count,
                                                    copse_datatype_t type, copse_op_t op);
COPSE_API copse_status_t copse_reduce_scatter(copse_team_t* team, const void* send, void* recv,
                                              const uint64_t* recv_counts, copse_datatype_t type, copse_op_t op);
COPSE_API copse_status_t copse_gather(copse_team_t* team, const void* send, void* recv, uint64_t count,
                                      copse_datatype_t type, uint32_t root);
COPSE_API copse_status_t copse_scatter(copse_team_t* team, const void* send, void* recv, uint64_t count,
                                       copse_datatype_t type, uint32_t root);
COPSE_API copse_status_t copse_allgather(copse_team_t* team, const void* send, void* recv, uint64_t count,
                                         copse_datatype_t type);
COPSE_API copse_status_t copse_alltoall(copse_team_t* team, const void* send, void* recv, uint64_t count,
                                        copse_datatype_t type);
/* Displacements may be NULL: blocks one after another. Counts may be NULL where they are not read. */
COPSE_API copse_status_t copse_gatherv(copse_team_t* team, const void* send, uint64_t count, void* recv,
                                       const uint64_t* recv_counts, const uint64_t* recv_displacements,
                                       copse_datatype_t type, uint32_t root);
COPSE_API copse_status_t copse_scatterv(copse_team_t* team, const void* send, const uint64_t* send_counts,
                                        const uint64_t* send_displacements, void* recv, uint64_t count,
                                        copse_datatype_t type, uint32_t root);
COPSE_API copse_status_t copse_allgatherv(copse_team_t* team, const void* send, uint64_t count, void* recv,
                                          const uint64_t* recv_counts, const uint64_t* recv_displacements,
                                          copse_datatype_t type);
COPSE_API copse_status_t copse_alltoallv(copse_team_t* team, const void* send, const uint64_t* send_counts,
                                         const uint64_t* send_displacements, void* recv, const uint64_t* recv_counts,
                                         const uint64_t* recv_displacements, copse_datatype_t type);

/* ---- Operations of the application's own --------------------------------------------------------------------- */

/* Combines `count` elements: inout[i] = in[i] op inout[i], where `in` comes from the lower ranks. It must not call this
 * library, and is called by the thread that waits for or tests the call. */
typedef void (*copse_op_function_t)(const void* in, void* inout, uint64_t count, copse_datatype_t type, void* argument);

/* Makes an operation for this process, for any type (what `in` and `inout` are made of is the function's to know; use
 * COPSE_DT_BYTE for elements of other sizes). Correct, but not offloaded: all contributions travel to every rank that
 * gets a result, which combines them in order of rank when it waits for the call. So a call is as many times longer as
 * there are ranks. `commutes`: non-zero if the order of operands does not matter; a hint,
 * which this version does not need. All ranks use an operation that does the same. */
COPSE_API copse_status_t copse_op_create(copse_op_function_t function, void* argument, int commutes, copse_op_t* op);

/* Requests that were initialised with it stay good. */
COPSE_API copse_status_t copse_op_free(copse_op_t op);

/* ---- Memory -------------------------------------------------------------------------------------------------- */

/* Memory that the daemon reads and writes itself, so that calls on it copy nothing. Aligned to 64 bytes, zeroed. */
COPSE_API copse_status_t copse_alloc(copse_context_t* context, uint64_t bytes, void** memory);

/* `memory` is what copse_alloc gave; NULL is fine. Not while a request on it is in progress. */
COPSE_API copse_status_t copse_free(copse_context_t* context, void* memory);

/* Announces memory of the caller's that calls will often use. A hint: in this version such memory is still copied.
 * Ranges must not overlap. */
COPSE_API copse_status_t copse_register(copse_context_t* context, void* memory, uint64_t bytes);
COPSE_API copse_status_t copse_deregister(copse_context_t* context, void* memory);

#ifdef __cplusplus
}
#endif

#endif /* COPSE_H_ */
