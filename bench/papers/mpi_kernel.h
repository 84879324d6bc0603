/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small application as mpi_kernel.c runs it: iterations of computation and collectives, around which it says what it
 * does.
 */
#ifndef COPSE_BENCH_PAPERS_MPI_KERNEL_H_
#define COPSE_BENCH_PAPERS_MPI_KERNEL_H_

#include <stddef.h>
#include <stdint.h>

/* Makes the data of a class, the same at every launch. 0: there is no such class, or it cannot be dealt to so many. */
int kernel_make(const char* class_name, int rank, int size);
void kernel_iterate(int iteration);
/* By its own knowledge of what is right; all ranks call it. */
int kernel_is_right(void);
/* Covers all that this rank has received and computed since kernel_make. The sum over ranks has to be the same whatever
 * carries the data. */
uint64_t kernel_hash(void);
void kernel_free(void);

/* Ends the program if there is none. */
void* kernel_memory(size_t bytes);

/* A hash that is a sum takes its parts in any order. */
static inline uint64_t mixed(uint64_t value) {
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9u;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebu;
  return value ^ (value >> 31);
}

/* The number of this index in a fixed random sequence. */
static inline uint64_t random_of(uint64_t index) { return mixed((index + 1) * 0x9e3779b97f4a7c15u); }

/* --- What a kernel does between its MPI calls ---
 *
 * A profile of one rank has for each call how long it took, and the computation until the next. The kernel says where
 * it reads what it has received.
 *
 * Calls follow profile_start, (profile_enter, profile_leave, (profile_blocks, profile_blocks_read)?)*, profile_end.
 */
/* Forgets all calls. */
void profile_start(void);
/* Around an MPI call. */
void profile_enter(void);
void profile_leave(void);
/* Around the computation that reads what the last call has received, block by block in order of ranks. */
void profile_blocks(void);
void profile_blocks_read(void);
void profile_end(void);

#endif /* COPSE_BENCH_PAPERS_MPI_KERNEL_H_ */
