#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Checks the symbols that the preload and its back ends export, and what they need. Arguments: the lists of
# entries and of libc's functions, the preload, the back ends.
set -euo pipefail
list=$1 libc_list=$2 preload=$3
shift 3
failed=0
fail() { echo "$*" >&2; failed=1; }

exports() { nm -D --defined-only --extern-only "$1" | awk '$2 != "A" {print $3}' | sort; }
needs() { readelf -dW "$1" | sed -n 's/.*Shared library: \[\(.*\)\]/\1/p'; }

# The names that macro $2 of header $1 lists.
names() { { cat "$1" && echo "$2(NAME)"; } | cpp -P | grep -o 'NAME([A-Za-z0-9_]*' | sed 's/NAME(//'; }

entries=$(names "$list" COPSE_MPI_ENTRIES)
[ "$(wc -l <<<"$entries")" -ge 160 ] || fail "no list of entries in $list"
libc_calls=$(names "$libc_list" COPSE_LIBC_CALLS)
[ "$(wc -l <<<"$libc_calls")" -ge 100 ] || fail "no list of libc's functions in $libc_list"
expected=$({ sed 's/.*/MPI_&\nPMPI_&/' <<<"$entries"; echo "$libc_calls"; echo copse_preload_set_memory_hooks; } | sort)
[ "$(exports "$preload")" = "$expected" ] || fail "the preload's exports: $(diff <(exports "$preload") <(echo "$expected"))"

# It is in every process of a job, so it needs what every process has.
while read -r library; do
  [[ $library =~ ^(libc|ld-linux.*)\.so\.[0-9]+$ ]] || fail "the preload needs a library more: $library"
done < <(needs "$preload")

for back_end in "$@"; do
  [ "$(exports "$back_end")" = copse_mpi_start ] || fail "$back_end exports more: $(exports "$back_end")"
  while read -r library; do
    [[ $library =~ ^(libstdc\+\+|libgcc_s|libc|libm|ld-linux.*)\.so\.[0-9]+$ ]] ||
      fail "$back_end needs a library more: $library"
  done < <(needs "$back_end")
  # Of an MPI only what is looked up at run time.
  ! nm -D --undefined-only "$back_end" | grep -iE '(P?MPI_|ompi_|MPIR_)' || fail "$back_end wants an MPI"
done
for library in "$preload" "$@"; do
  # Back ends have a fault handler, which ends a process whose data is lost.
  not_of_preload='|_exit|sigaction'
  [ "$library" = "$preload" ] || not_of_preload=
  while read -r symbol; do
    [[ ! $symbol =~ ^(abort|exit|signal$not_of_preload|printf|puts|putchar|perror)@ ]] || fail "$library uses $symbol"
  done < <(nm -D --undefined-only "$library" | awk '{print $2}')
  ! readelf -dW "$library" | grep -q TEXTREL || fail "$library has text relocations"
done
exit $failed
