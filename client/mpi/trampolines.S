/* SPDX-License-Identifier: Apache-2.0
 *
 * MPI_X and PMPI_X for every entry: a jump through a slot of copse_mpi_slots. Slots lie in the list's order, MPI_X before
 * PMPI_X. */
#include "client/mpi/api/entries.h"
#include "client/preload/trampolines.inc"

  .hidden copse_mpi_resolve
resolver .Lresolve, copse_mpi_resolve

slots copse_mpi_slots
#define ENTRY(name) intercept MPI_##name, .Lresolve; intercept PMPI_##name, .Lresolve;
COPSE_MPI_ENTRIES(ENTRY)

  .section .note.GNU-stack, "", %progbits
