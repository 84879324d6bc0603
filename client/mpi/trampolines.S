/* SPDX-License-Identifier: Apache-2.0
 *
 * Defines MPI_X and PMPI_X for every entry as jumps through a slot of copse_mpi_slots. Slots are in the order of the
 * list, MPI_X before PMPI_X. */
#include "client/mpi/api/entries.h"
#include "client/preload/trampolines.inc"

  .hidden copse_mpi_resolve
resolver .Lresolve, copse_mpi_resolve

slots copse_mpi_slots
#define ENTRY(name) intercept MPI_##name, .Lresolve; intercept PMPI_##name, .Lresolve;
COPSE_MPI_ENTRIES(ENTRY)

  .section .note.GNU-stack, "", %progbits
