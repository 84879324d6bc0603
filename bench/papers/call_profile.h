/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a program does between its MPI calls, as a profile of one rank: for each call how long it took, and the
 * computation until the next. The program says where it reads what it has received.
 *
 * Calls follow profile_start, (profile_enter, profile_leave, (profile_blocks, profile_blocks_read)?)*, profile_end.
 */
#ifndef COPSE_BENCH_PAPERS_CALL_PROFILE_H_
#define COPSE_BENCH_PAPERS_CALL_PROFILE_H_

enum { kProfileCallsMax = 1024 };

/* Microseconds. */
typedef struct {
  double call;
  double before; /* from the call's end to the first look at what was received; without blocks all is `after` */
  double blocks; /* from there until the last block has been read, one after the other */
  double after;  /* from there to the next call, or to the end */
} profile_call;

enum { kProfileFigures = 4 }; /* of a call, all doubles */

/* Forgets all calls. */
void profile_start(void);
/* Around an MPI call. */
void profile_enter(void);
void profile_leave(void);
/* Around the computation that reads what the last call has received, block by block in order of ranks. */
void profile_blocks(void);
void profile_blocks_read(void);
void profile_end(void);

/* The calls since profile_start, the first kProfileCallsMax of them. */
const profile_call* profile_calls(int* count);

#endif /* COPSE_BENCH_PAPERS_CALL_PROFILE_H_ */
