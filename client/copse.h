/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copse runs collectives in a daemon on every node, so that they make progress while the application computes.
 *
 * The API resembles UCC's: a context is this process's connection to the daemon of its node; a team is an ordered set
 * of ranks, like an MPI communicator; a request is one collective of a team, initialized once and posted any number of
 * times, like a persistent request of MPI. Blocking calls do all of this in one function.
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
 * - All handles may be used by several threads at once. If several threads post on one team, the application must give
 *   their posts the same order on all ranks. No thread may use a handle that another is destroying.
 * - A late rank is not a failure: without a time-out a call waits for it until a failure is detected.
 * - After a fork, the child's use of its parent's handles returns COPSE_ERR_INVALID_ARGUMENT (copse_fini only frees
 *   the child's copy). The child may call copse_init. Memory of copse_alloc stays shared with the parent.
 * - A failing function leaves one line in copse_last_error(). A new handle or memory that it should have returned is
 *   NULL then, or unchanged if the handle passed to the function is itself invalid; other outputs are unchanged.
 * - The library prints nothing unless COPSE_LOG_LEVEL asks, installs no signal handlers and never aborts.
 *
 * Environment: COPSE_SOCKET, COPSE_JOB, COPSE_TIMEOUT, COPSE_LOG_LEVEL, COPSE_LOG_FILE; see docs/reference/c-api.md.
 */
#ifndef COPSE_H_
#define COPSE_H_

#include <stddef.h>
#include <stdint.h>

/* These macros give this header's version; copse_get_version() returns the library's. */
#define COPSE_VERSION_MAJOR 0
#define COPSE_VERSION_MINOR 2
#define COPSE_VERSION_PATCH 0
#define COPSE_VERSION_STRING "0.2.0"

#if defined(__GNUC__)
#define COPSE_API __attribute__((visibility("default")))
#else
#define COPSE_API
#endif

/* Enumerations have the size of an int in C and in C++. */
#ifdef __cplusplus
#define COPSE_ENUM_INT : int
extern "C" {
#else
#define COPSE_ENUM_INT
#endif

/* ---- Status -------------------------------------------------------------------------------------------------- */

typedef enum copse_status COPSE_ENUM_INT {
  COPSE_OK = 0,
  COPSE_INPROGRESS = 1,            /* not complete yet; no error */
  COPSE_ERR_INVALID_ARGUMENT = -1, /* an argument that can never be right, or a handle in the wrong state */
  COPSE_ERR_NO_DAEMON = -2,        /* no daemon answers, or it went away */
  COPSE_ERR_VERSION = -3,          /* library and daemon, or this header and the library, are too far apart */
  COPSE_ERR_NO_RESOURCE = -4,      /* a queue, a pool or a quota is exhausted, or no planner; may succeed later */
  COPSE_ERR_TIMED_OUT = -5,        /* a limit of time is over: the caller's, a formation's or the daemon's answer's */
  COPSE_ERR_MEMBER_LOST = -6,      /* a member of the team died; the team is broken for good */
  COPSE_ERR_MISMATCH = -7,         /* the ranks' arguments differ; the team is broken for good */
  COPSE_ERR_CANCELED = -8,         /* canceled by copse_cancel or copse_fini, or the nodes could not prepare the call */
  COPSE_ERR_NOT_SUPPORTED = -9,    /* legal, but beyond this version or a limit, such as a message that is too long */
  COPSE_ERR_NO_MEMORY = -10,       /* the process is out of memory */
  COPSE_ERR_PERMISSION = -11,      /* the server is not trusted, or the daemon refuses this process */
  COPSE_ERR_INTERNAL = -12         /* a bug of Copse */
} copse_status_t;

/* Returns a constant text such as "COPSE_ERR_TIMED_OUT: the time is over"; never NULL, for any value. */
COPSE_API const char* copse_status_string(copse_status_t status);

/* Returns this thread's latest failure as one line, `copse: what: why (thing=value, limit=value)`; "" if it had none.
 * The text is valid until the thread's next call of this library. Success does not clear it. */
COPSE_API const char* copse_last_error(void);

/* A cause says what happened, while the status says what a program can do about it. */
typedef enum copse_cause COPSE_ENUM_INT {
  COPSE_CAUSE_UNKNOWN = 0,
  COPSE_CAUSE_PROCESS_DIED = 1,        /* a member's process ended without leaving its team */
  COPSE_CAUSE_MEMBER_LEFT = 2,         /* a member left the team, while others made further calls */
  COPSE_CAUSE_NODE_RESTARTED = 3,      /* the node's daemon was started anew */
  COPSE_CAUSE_CONNECTION_LOST = 4,     /* the connection to the node was reset or refused */
  COPSE_CAUSE_NODE_SILENT = 5,         /* nothing was received from the node for `limit` milliseconds */
  COPSE_CAUSE_NODE_REMOVED = 6,        /* an administrator removed the node */
  COPSE_CAUSE_TEAM_BROKEN = 7,         /* an administrator broke the team */
  COPSE_CAUSE_NODE_DRAINING = 8,       /* the node takes no new teams, or its daemon ends */
  COPSE_CAUSE_BAD_ARGUMENT = 9,        /* an argument that can never be right */
  COPSE_CAUSE_RANKS_DIFFER = 10,       /* the ranks' arguments do not match */
  COPSE_CAUSE_NOT_FORMED_IN_TIME = 11, /* ranks or nodes were missing after `limit` milliseconds */
  COPSE_CAUSE_CALLER_TIME_OUT = 12,    /* the caller's own limit, `limit` milliseconds */
  COPSE_CAUSE_QUOTA = 13,              /* a quota or queue of `limit` entries or bytes is exhausted; 0: not known */
  COPSE_CAUSE_NO_PLANNER = 14,         /* the node's daemon has no planner at the moment */
  COPSE_CAUSE_CANCELED_BY_CALLER = 15,
  COPSE_CAUSE_VERSIONS_DIFFER = 16,
  COPSE_CAUSE_NOT_PERMITTED = 17,
  COPSE_CAUSE_DAEMON_GONE = 18, /* this node's daemon ended, or none answers */
  COPSE_CAUSE_NOT_SUPPORTED = 19,
  COPSE_CAUSE_OUT_OF_MEMORY = 20,
  COPSE_CAUSE_FAULT = 21 /* a bug of Copse */
} copse_cause_t;

enum copse_failure_field {
  COPSE_FAILURE_FIELD_STATUS = 1 << 0,
  COPSE_FAILURE_FIELD_CAUSE = 1 << 1,
  COPSE_FAILURE_FIELD_NODE = 1 << 2,
  COPSE_FAILURE_FIELD_RANK = 1 << 3,
  COPSE_FAILURE_FIELD_LIMIT = 1 << 4
};

typedef struct copse_failure {
  uint64_t mask;         /* in: the fields to fill in */
  copse_status_t status; /* COPSE_OK: this thread had no failure */
  copse_cause_t cause;
  char node[128]; /* the node of the failure; "": no single node, or not known */
  int64_t rank;   /* the rank in the team that caused the failure; -1: none, or not known */
  uint64_t limit; /* in the unit of the cause; 0: none */
} copse_failure_t;

/* Fills in the fields of this thread's latest failure, the one that copse_last_error describes. Errors:
 * COPSE_ERR_INVALID_ARGUMENT if `failure` is NULL or the mask has unknown bits, which leaves the latest failure as it
 * is. */
COPSE_API copse_status_t copse_last_failure(copse_failure_t* failure);

/* Returns a constant name such as "process-died"; never NULL, for any value. */
COPSE_API const char* copse_cause_string(copse_cause_t cause);

/* Returns the library's version. Any pointer may be NULL. */
COPSE_API void copse_get_version(unsigned* major, unsigned* minor, unsigned* patch);

/* ---- Handles ------------------------------------------------------------------------------------------------- */

typedef struct copse_context copse_context_t;
typedef struct copse_team copse_team_t;
typedef struct copse_request copse_request_t;

/* Parameter structs start with a mask of the optional fields that are set; the others are not read. A mask with bits
 * unknown to the library is refused with COPSE_ERR_INVALID_ARGUMENT, so a program with a newer header than the library
 * does not run with its options ignored. Zero a struct before filling it in. */

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
  uint32_t dq_entries; /* limit of posts that the daemon has not read yet, a power of two. Default: the daemon's */
  uint32_t eq_entries; /* limit of calls in flight, a power of two. Default: the daemon's */
  uint64_t data_bytes; /* size of the shared memory for staging buffers. Default: the daemon's */
} copse_init_params_t;

/* Attaches to this node's daemon. `params` may be NULL. The daemon must run as root, as user `copse` or as this user
 * (else COPSE_ERR_PERMISSION). */
COPSE_API copse_status_t copse_init(const copse_init_params_t* params, copse_context_t** context);

/* Detaches from the daemon and destroys all teams and requests of the context: rounds in progress end with
 * COPSE_ERR_CANCELED, and all handles and memory of the context are invalid afterwards. In a forked child it only frees
 * the child's copy of a parent's context. */
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
  uint64_t mask;              /* in: the fields to fill in */
  char node[128];             /* the daemon's node name */
  uint64_t incarnation;       /* changes with every start of the daemon */
  uint64_t message_bytes_max; /* limit of one buffer of a call, with all its blocks */
  uint32_t dq_entries;
  uint32_t eq_entries;
  uint64_t data_bytes;
} copse_context_attr_t;

COPSE_API copse_status_t copse_context_get_attr(copse_context_t* context, copse_context_attr_t* attr);

/* Makes a round trip to the daemon through the queues, which takes at most `seconds` (< 0: no limit). Errors:
 * COPSE_ERR_TIMED_OUT; COPSE_ERR_NO_RESOURCE if a queue stays full; COPSE_ERR_NO_DAEMON. */
COPSE_API copse_status_t copse_ping(copse_context_t* context, double seconds);

/* ---- Teams --------------------------------------------------------------------------------------------------- */

/* A copse_oob_coll_t is an out-of-band allgather among the future members, like UCC's. Every rank contributes `msglen`
 * bytes at `sbuf`; `rbuf` receives all contributions, in order of `oob_ep`. It may be non-blocking: req_test is called
 * until it returns something other than COPSE_INPROGRESS, and then req_free. */
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
  COPSE_TEAM_PARAM_FIELD_TIMEOUT = 1 << 5,
  COPSE_TEAM_PARAM_FIELD_PARENT = 1 << 6
};

typedef struct copse_team_params {
  uint64_t mask;
  const char* name; /* 1 to 127 bytes of printable ASCII; optional with oob */
  uint32_t rank;
  uint32_t size;
  copse_oob_coll_t oob; /* instead of rank and size */
  uint64_t nonce;       /* distinguishes teams of the same name; equal on all members. With oob, rank 0's is used, or
                           a random one if it is 0 */
  double timeout;       /* seconds for the formation; <= 0: the cluster's default. Default: COPSE_TIMEOUT */
  copse_team_t* parent; /* a team that has all members, and is the same on all; it may be destroyed before this team.
                           Daemons form a sub-team faster than a team without a parent, and mostly without a planner */
} copse_team_params_t;

/* Forms a team. It is collective over the members: the processes of the same user and job that give the same name,
 * nonce and size, each with another rank in [0, size). Returns when all have called it, or on a time-out or refusal.
 *
 * COPSE_ERR_NO_RESOURCE with COPSE_CAUSE_NO_PLANNER: the node's daemon has had no connection to a planner for 5 s. Try
 * again later. */
COPSE_API copse_status_t copse_team_create(copse_context_t* context, const copse_team_params_t* params,
                                           copse_team_t** team);

/* Members of the parent that are in no sub-team have this color. */
#define COPSE_UNDEFINED INT64_MIN

enum copse_subteam_params_field {
  COPSE_SUBTEAM_PARAM_FIELD_INCLUDED = 1 << 0,
  COPSE_SUBTEAM_PARAM_FIELD_COLOR = 1 << 1,
  COPSE_SUBTEAM_PARAM_FIELD_KEY = 1 << 2,
  COPSE_SUBTEAM_PARAM_FIELD_RANKS = 1 << 3,
  COPSE_SUBTEAM_PARAM_FIELD_TIMEOUT = 1 << 4
};

/* These parameters select the new team's members in one of three ways, which is the same on all ranks of the parent:
 * - included: the ranks with a non-zero value are members, in the parent's order, as in UCC;
 * - color and key: the ranks of one color are members of one sub-team, ordered by key (default 0), then by the rank in
 *   the parent, as in MPI_Comm_split;
 * - ranks: the listed ranks are members, in the list's order, as in MPI_Comm_create. Members of one sub-team give the
 *   same list; a rank that is not in the list that it gives (an empty one, for example) is in no sub-team. */
typedef struct copse_subteam_params {
  uint64_t mask;
  int included;
  int64_t color; /* COPSE_UNDEFINED: in no sub-team */
  int64_t key;
  const uint32_t* ranks; /* ranks in the parent */
  uint32_t rank_count;
  double timeout; /* as in copse_team_params_t */
} copse_subteam_params_t;

/* Forms sub-teams. It is collective over the *whole* parent and has its place in the order of the parent's calls, since
 * the ranks agree on the members by an allreduce. A rank that is in no sub-team gets COPSE_OK and *team == NULL. The
 * parent may be destroyed before its sub-teams. */
COPSE_API copse_status_t copse_team_create_from_parent(copse_team_t* parent, const copse_subteam_params_t* params,
                                                       copse_team_t** team);

/* Leaves a team. It waits for nobody; the other members have to leave the team, too. This node's daemon leaves it
 * before it does what this process asks for later. Errors: COPSE_ERR_INVALID_ARGUMENT while calls of the team are in
 * progress. Its other requests cannot be posted any more, and still have to be finalized. */
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
  /* The types below are pairs for minloc and maxloc: struct { VALUE value; int32_t index; }, with C's padding. */
  COPSE_DT_FLOAT_INT = 15,
  COPSE_DT_DOUBLE_INT = 16,
  COPSE_DT_LONG_INT = 17, /* value: int64_t */
  COPSE_DT_2INT = 18,
  COPSE_DT_SHORT_INT = 19
} copse_datatype_t;

/* Operands are combined in an order that does not depend on their arrival. docs/reference/c-api.md says which operation
 * is defined on which type, and how NaNs, ties and overflow are handled. */
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

/* COPSE_IN_PLACE takes the place of a buffer, as MPI_IN_PLACE does. As the send buffer it means:
 * - reduce (root), allreduce, scan, exscan: the contribution is in the receive buffer, and the result replaces it;
 * - gather(v) (root), allgather(v): the contribution is already in this rank's block of the receive buffer;
 * - alltoall(v): the receive buffer's blocks are sent and replaced; the receive counts are the send counts, too;
 * - reduce_scatter(v): all blocks are in the receive buffer, which begins with the result afterwards.
 * As the receive buffer of scatter(v) at the root it means that the root's block stays in the send buffer. */
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

/* Flags are the same on all ranks. Those without a meaning for a collective are ignored. */
enum copse_coll_flag {
  COPSE_COLL_FLAG_COUNTS_KNOWN = 1 << 0, /* gatherv, scatterv: every rank gives all counts, not the root alone. This is
                                            faster, since the root need not send them */
  COPSE_COLL_FLAG_REPRODUCIBLE = 1 << 1  /* reductions: the result has the same bits for every tree, message size and
                                          placement of ranks. Sums and products of floating-point numbers are made in
                                          the order of ranks, which costs more; all others are reproducible anyway */
};

/* A copse_coll_args_t holds the arguments of one collective. Buffers must not overlap; an empty or unused one may be
 * NULL. In the table, `one` is a buffer of `count` elements, `blocks` has one block for each rank.
 *
 *   collective        send                  recv                   count of             type  op   root  counts
 *   barrier           -                     -                      -                    -     -    -     -
 *   bcast             NULL, COPSE_IN_PLACE  the buffer, everywhere the buffer           yes   -    yes   -
 *   reduce            one                   one, at the root       the buffer           yes   yes  yes   -
 *   allreduce         one                   one                    the buffer           yes   yes  -     -
 *   gather            one                   blocks, at the root    one block            yes   -    yes   -
 *   scatter           blocks, at the root   one                    one block            yes   -    yes   -
 *   allgather         one                   blocks                 one block            yes   -    -     -
 *   alltoall          blocks                blocks                 one block            yes   -    -     -
 *   reduce_scatter    blocks                one                    the result           yes   yes  -     -
 *   scan              one                   one                    the buffer           yes   yes  -     -
 *   exscan            one                   one, not at rank 0     the buffer           yes   yes  -     -
 *   gatherv           one                   blocks, at the root    the send buffer      yes   -    yes   recv (root)
 *   scatterv          blocks, at the root   one                    the receive buffer   yes   -    yes   send (root)
 *   allgatherv        one                   blocks                 the send buffer      yes   -    -     recv
 *   alltoallv         blocks                blocks                 -                    yes   -    -     send, recv
 *   reduce_scatterv   blocks                one                    -                    yes   yes  -     recv
 *
 * Fields with a dash are not read, nor is `count` where an irregular collective is in place. exscan does not change
 * rank 0's receive buffer.
 *
 * Counts and displacements have one entry for each rank, in elements. A displacement is the distance of the rank's
 * block from the buffer's address; without displacements, blocks lie one after another in the order of ranks. Blocks of
 * a reduce_scatterv always do. The arrays are read by copse_collective_init alone. Blocks of a send buffer may overlap,
 * those of a receive buffer must not. Sender and receiver of a block give the same length. */
typedef struct copse_coll_args {
  uint64_t mask; /* says which of the fields from `flags` on are set */
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

/* Checks the arguments and makes a persistent request of them, without communication. The buffers are read and written
 * between post and completion, in every round. */
COPSE_API copse_status_t copse_collective_init(copse_team_t* team, const copse_coll_args_t* args,
                                               copse_request_t** request);

/* Starts a round, which is the team's next call. The request must not be in progress. The contribution has been copied
 * when the function returns, except from memory of copse_alloc, which must not be changed until the round is complete.
 * COPSE_ERR_NO_RESOURCE: a queue or the memory for copies stayed full for 10 ms; nothing was posted, try again after
 * some completions. */
COPSE_API copse_status_t copse_post(copse_request_t* request);

/* Returns COPSE_INPROGRESS, or the result of the latest round. It does not wait for other ranks or the daemon. Errors
 * besides the round's: COPSE_ERR_INVALID_ARGUMENT if the request was never posted. */
COPSE_API copse_status_t copse_test(copse_request_t* request);

/* Waits for the latest round at most `seconds` (< 0: no limit; 0: as copse_test), and returns its result.
 * COPSE_ERR_TIMED_OUT: the round is not complete yet; it continues, and may be waited for again. */
COPSE_API copse_status_t copse_wait(copse_request_t* request, double seconds);

/* Cancels a round in progress: it ends with COPSE_ERR_CANCELED, and its receive buffer will not be written unless it is
 * in memory of copse_alloc. Other ranks are not affected: they still get this rank's contribution, and the round keeps
 * its place in the order of the team's calls. A completed round stays as it is. */
COPSE_API copse_status_t copse_cancel(copse_request_t* request);

/* Frees a request that is not in progress. */
COPSE_API copse_status_t copse_finalize(copse_request_t* request);

/* These functions block: each does copse_collective_init, copse_post, copse_wait and copse_finalize. COPSE_TIMEOUT
 * limits their time in seconds: then they return COPSE_ERR_TIMED_OUT and the call is canceled as by copse_cancel, or
 * COPSE_ERR_NO_RESOURCE if it could not be posted. */
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
/* If displacements are NULL, blocks lie one after another. Counts may be NULL where they are not read. */
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

/* ---- Operations of the application --------------------------------------------------------------------------- */

/* Combines `count` elements: inout[i] = in[i] op inout[i], where `in` comes from the lower ranks. The library calls it
 * in the thread that waits for or tests the call; it must not call the library. */
typedef void (*copse_op_function_t)(const void* in, void* inout, uint64_t count, copse_datatype_t type, void* argument);

/* Makes an operation for this process, on any type; use COPSE_DT_BYTE for elements that no type describes. It is not
 * offloaded: all contributions are sent to every rank that gets a result, which combines them in the order of ranks
 * when the call is tested or waited for. So a call's message is longer by a factor of the number of ranks, and must not
 * exceed 1 GiB (else COPSE_ERR_NO_RESOURCE). `commutes` is a hint that this version ignores: non-zero if the order of
 * operands does not matter. All ranks use equivalent operations. */
COPSE_API copse_status_t copse_op_create(copse_op_function_t function, void* argument, int commutes, copse_op_t* op);

/* Frees an operation of copse_op_create. Requests that were initialized with it stay valid. */
COPSE_API copse_status_t copse_op_free(copse_op_t op);

/* ---- Memory -------------------------------------------------------------------------------------------------- */

/* Allocates zeroed memory, aligned to 64 bytes, that the daemon reads and writes itself, so that calls with buffers in
 * it are zero-copy. If the daemon refuses to register it (for a quota, say), calls copy. */
COPSE_API copse_status_t copse_alloc(copse_context_t* context, uint64_t bytes, void** memory);

/* Frees memory of copse_alloc; NULL is allowed. No request that uses it may be in progress. */
COPSE_API copse_status_t copse_free(copse_context_t* context, void* memory);

/* Registers memory of the caller that calls will often use. It is a hint: in this version such memory is still copied.
 * Registered and allocated ranges must not overlap (else COPSE_ERR_INVALID_ARGUMENT). */
COPSE_API copse_status_t copse_register(copse_context_t* context, void* memory, uint64_t bytes);
COPSE_API copse_status_t copse_deregister(copse_context_t* context, void* memory);

#ifdef __cplusplus
}
#endif

#endif /* COPSE_H_ */
