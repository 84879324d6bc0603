#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# systemd understands the units, and finds them closed. Arguments: the units, and a drop-in for the daemon's.
set -euo pipefail
command -v systemd-analyze >/dev/null || { echo "SKIPPED: no systemd-analyze"; exit 0; }
export SYSTEMD_COLORS=0 SYSTEMD_EMOJI=0

# Programs that exist, in place of ours.
prefix=$TEST_TMPDIR/prefix
mkdir -p "$prefix/bin" "$prefix/units"
for program in copsed copse-planner copse-exporter copse-web; do
  printf '#!/bin/sh\n' >"$prefix/bin/$program"
  chmod +x "$prefix/bin/$program"
done
for unit in "${@:1:$#-1}"; do sed "s|/usr/local/|$prefix/|" "$unit" >"$prefix/units/$(basename "$unit")"; done
drop_in=$(readlink -e "${!#}")
cd "$prefix/units"

# Whatever verify has to say is a mistake of ours; it does not always set its exit code.
said=$(systemd-analyze verify --man=no --recursive-errors=no ./* 2>&1) || { echo "$said"; exit 1; }
[ -z "$said" ] || { echo "$said"; exit 1; }

# Exposure as systemd counts it, of 10; what is left is told in the units.
for unit in *.service; do
  systemd-analyze security --offline=true --threshold=20 "./$unit" | tail -1
done

# A program that could not start is started again, for ever, unless its configuration makes no sense.
for unit in *.service; do
  for line in StartLimitIntervalSec=0 Restart=on-failure RestartSec=5s RestartPreventExitStatus=2; do
    grep -qx "$line" "$unit" || { echo "$unit: not there: $line"; exit 1; }
  done
done
# Jobs do not survive the end of the daemon.
for unit in copsed.service copse-planner.service; do
  grep -qx OOMScoreAdjust=-900 "$unit" || { echo "$unit: not there: OOMScoreAdjust=-900"; exit 1; }
done

# The drop-in is understood, and opens the devices. In the folder of its name it is read with the unit.
mkdir copsed.service.d
cp "$drop_in" copsed.service.d/verbs.conf
said=$(systemd-analyze verify --man=no --recursive-errors=no ./copsed.service 2>&1) || { echo "$said"; exit 1; }
[ -z "$said" ] || { echo "$said"; exit 1; }
sed -i 's/^DeviceAllow/DevicesAllow/' copsed.service.d/verbs.conf
said=$(systemd-analyze verify --man=no --recursive-errors=no ./copsed.service 2>&1) || true
grep -q DevicesAllow <<<"$said" || { echo "the drop-in was not read: $said"; exit 1; }
rm -r copsed.service.d

# The test sees mistakes.
sed 's/^NoNewPrivileges/NoNewPrivilege/' copsed.service >broken.service
said=$(systemd-analyze verify --man=no --recursive-errors=no ./broken.service 2>&1) || true
grep -q NoNewPrivilege <<<"$said" || { echo "a mistake went unseen: $said"; exit 1; }
