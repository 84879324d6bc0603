#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Checks that another preloaded library may call libc before the preload is initialized. Arguments: the preload, the
# other library.
set -euo pipefail
preload=$PWD/$1 other=$PWD/$2
failed=0
for order in "$preload" "$other" "$preload:$other" "$other:$preload"; do
  expected=hello
  [[ $order == *"$other"* ]] && expected=$'early calls: right\nhello'
  for environment in LD_BIND_NOW= LD_BIND_NOW=1 COPSE_TNBC=on 'COPSE_TNBC=auto COPSE_TNBC_SYSCALLS=strict'; do
    # shellcheck disable=SC2086 # several variables
    said=$(env $environment LD_PRELOAD="$order" /bin/echo hello 2>&1) || said+=" and exit code $?"
    [ "$said" = "$expected" ] || { echo "$environment LD_PRELOAD=$order: $said" >&2; failed=1; }
  done
done
exit $failed
