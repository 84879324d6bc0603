#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Every function of an MPI's mpi.h that is given memory of the program's (a parameter `void *`) is intercepted, so that
# it waits for what is pending there, or is an exception with a reason. Arguments: the list of entries, MPIs' names.
set -euo pipefail
list=$1
shift
failed=0
fail() { echo "$*" >&2; failed=1; }

# Extended regular expressions, each with the reason behind it.
exceptions='
MPI_(Comm|Type|Win)_(get_attr|set_attr|create_keyval)   an attribute is a pointer, which is not followed
MPI_(Attr_get|Attr_put|Keyval_create)                   an attribute is a pointer, which is not followed
MPIX?_Grequest_(start|class_allocate)                   the state is a pointer, which is not followed
MPI_Register_datarep(_c)?                               the state is a pointer, which is not followed
MPI_(Get_address|Address)                               the address is the result
MPI_Buffer_detach(_c)?                                  the result is a pointer
MPI_Win_(shared_query(_c)?|detach)                      the result is a pointer, or nothing is accessed
MPI_Win_attach                                          no call returns early while there are windows
MPI_Neighbor_all(gatherv?|toall[vw]?)_init(_c)?         MPI_Start waits for everything
MPI_P(send|recv)_init                                   MPI_Start waits for everything, and so does MPI_Pready
MPI_T_(cvar|pvar)_(handle_alloc|read|readreset|write)   a variable of the MPI, of a few bytes
MPI_T_event_(handle_alloc|handle_free|register_callback|copy|read)   an event of the MPI, of a few bytes
'

intercepted=$({ cat "$list" && echo 'COPSE_MPI_ENTRIES(NAME)'; } | cpp -P | grep -o 'NAME([A-Za-z0-9_]*' | sed 's/NAME(/MPI_/')

all=
for library in "$@"; do
  # What the header declares, a declaration a line.
  with_buffers=$("mpicc.$library" -E -P -x c - <<<'#include <mpi.h>' | tr '\n' ' ' | tr ';' '\n' |
    grep -E '\bMPIX?_[A-Za-z0-9_]+ *\(.*\bvoid *\*' | grep -v typedef | grep -oE '\bMPIX?_[A-Za-z0-9_]+ *\(' |
    tr -d ' (' | sort -u)
  [ "$(wc -l <<<"$with_buffers")" -ge 100 ] || fail "$library: mpi.h was not understood: $with_buffers"
  all+="$with_buffers"$'\n'
  while read -r function; do
    grep -qx "$function" <<<"$intercepted" && continue
    while read -r pattern reason; do
      [ -z "$pattern" ] || ! [[ $function =~ ^$pattern$ ]] || [ -z "$reason" ] || continue 2
    done <<<"$exceptions"
    fail "$library: not intercepted, and no exception: function=$function"
  done <<<"$with_buffers"
done

# An exception that is none any more hides the next one.
while read -r pattern _; do
  [ -z "$pattern" ] || grep -Eqx "$pattern" < <(grep -vxF "$intercepted" <<<"$all") || fail "no such function: exception=$pattern"
done <<<"$exceptions"
exit $failed
