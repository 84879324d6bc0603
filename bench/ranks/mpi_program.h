/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program of MPI ranks that measures cells of its own, started as rank_main.c is and speaking as it does
 * (rank_talk.h):
 *
 *     PROGRAM_LIBRARY BUDGET_MS CALLS_MAX CELL...
 *
 * mpi_program.c has its main.
 */
#ifndef COPSE_BENCH_RANKS_MPI_PROGRAM_H_
#define COPSE_BENCH_RANKS_MPI_PROGRAM_H_

#include <mpi.h>
#include <stdint.h>

#include "bench/ranks/rank_talk.h"

/* The program's name in its error messages. */
extern const char program_name[];

extern int mpi_rank, mpi_size;

/* Called on all ranks after MPI_Init. */
void prepare_cells(void);
/* Measures a cell on all ranks; rank 0 prints the samples. Returns 0 if the text is no cell. */
int measure_cell(int index, const char* text, double budget_us, int calls_max);
/* Called on all ranks before MPI_Finalize. */
void release_cells(void);

#endif /* COPSE_BENCH_RANKS_MPI_PROGRAM_H_ */
