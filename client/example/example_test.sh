#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs the library into a prefix, builds the example with its Makefile, and runs three ranks on a fake daemon.
# Arguments: libcopse.so.0, copse.h, copse.pc.in, Makefile, allreduce.c, the fake daemon.
set -euo pipefail
library=$1 header=$2 pc=$3 makefile=$4 example=$5 daemon=$6
command -v pkg-config make cc >/dev/null || { echo "SKIPPED: no pkg-config, make or cc"; exit 0; }

prefix=$TEST_TMPDIR/prefix
mkdir -p "$prefix"/{lib/pkgconfig,include} "$TEST_TMPDIR/example"
cp "$library" "$prefix/lib/libcopse.so.0"
ln -s libcopse.so.0 "$prefix/lib/libcopse.so"
cp "$header" "$prefix/include/copse.h"
sed -e "s|@PREFIX@|$prefix|; s|@VERSION@|0.0.0|" "$pc" >"$prefix/lib/pkgconfig/copse.pc"
cp "$makefile" "$example" "$TEST_TMPDIR/example"
make -C "$TEST_TMPDIR/example" PKG_CONFIG_PATH="$prefix/lib/pkgconfig" \
  CFLAGS="-O2 -std=c99 -Wall -Wextra -Werror -pedantic"

exec 3< <("$daemon")
daemon_pid=$!
read -r COPSE_SOCKET <&3
export COPSE_SOCKET COPSE_TIMEOUT=20
for rank in 0 1 2; do
  "$TEST_TMPDIR/example/allreduce" "$rank" 3 >"$TEST_TMPDIR/out.$rank" 2>&1 &
  pids[rank]=$!
done
failed=0
for rank in 0 1 2; do
  wait "${pids[rank]}" || failed=1
  cat "$TEST_TMPDIR/out.$rank"
  grep -q "^rank $rank of 3: sum of ranks 3, last round 9 " "$TEST_TMPDIR/out.$rank" || failed=1
done
kill "$daemon_pid"

"$TEST_TMPDIR/example/allreduce" 2>/dev/null && failed=1
[ $failed = 0 ]
