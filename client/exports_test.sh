#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Checks the symbols that libcopse.so.0 exports and the libraries that it needs. Arguments: the library, the header,
# the symbols that the Debian package promises.
set -euo pipefail
library=$1 header=$2 promised=$3
failed=0
fail() { echo "$*" >&2; failed=1; }

exported=$(nm -D --defined-only "$library" | awk '$2 != "A" {print $3}' | sort)
[ -n "$exported" ] || fail "nothing is exported"
while read -r symbol; do
  [[ $symbol =~ ^copse_[a-z_]+@@COPSE_0$ ]] || fail "exported, but not ours or without its version: $symbol"
done <<<"$exported"

declared=$(grep -oE 'COPSE_API [^(]*\bcopse_[a-z_]+\(' "$header" | grep -oE 'copse_[a-z_]+\($' | tr -d '(' | sort)
[ "$(sed 's/@@.*//' <<<"$exported")" = "$declared" ] ||
  fail "exported and declared functions differ:"$'\n'"$(diff <(sed 's/@@.*//' <<<"$exported") <(echo "$declared"))"

# Debian's programs depend on the version of the package in which the newest function that they call came.
packaged=$(sed -n 's/^ \(.*\)@COPSE_0 [0-9.]*$/\1/p' "$promised" | sort)
to_package=$(printf '%s\n' COPSE_0 "$declared" | sort)
[ "$to_package" = "$packaged" ] ||
  fail "declared functions and $promised differ:"$'\n'"$(diff <(echo "$to_package") <(echo "$packaged"))"

dynamic=$(readelf -dW "$library")
grep -q 'Library soname: \[libcopse.so.0\]' <<<"$dynamic" || fail "the soname is not libcopse.so.0"
while read -r needed; do
  [[ $needed =~ ^(libstdc\+\+|libgcc_s|libc|libm|ld-linux.*)\.so\.[0-9]+$ ]] || fail "needs a library more: $needed"
done < <(grep -oP 'Shared library: \[\K[^]]+' <<<"$dynamic")
undefined=$(ldd -r "$library" | grep 'undefined symbol' || :)
[ -z "$undefined" ] || fail "$undefined"
! grep -q 'TEXTREL' <<<"$dynamic" || fail "it has text relocations"

# The library is loaded into users' processes, so it must not end them, print or handle signals.
while read -r symbol; do
  [[ ! $symbol =~ ^(abort|exit|_exit|signal|sigaction|printf|puts|putchar|perror)@ ]] || fail "it uses $symbol"
done < <(nm -D --undefined-only "$library" | awk '{print $2}')
exit $failed
