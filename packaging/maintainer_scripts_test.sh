#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# What Debian's maintainer scripts do to units and to folders that packages share. Arguments: the files of debian/.
set -euo pipefail
debian=$(dirname "$1")

fail() {
  echo "FAILED: $*"
  exit 1
}

for script in "$debian"/*.p*inst "$debian"/*.p*rm; do
  sh -n "$script" || fail "$script: syntax"
  grep -qx '#DEBHELPER#' "$script" || fail "$script: no #DEBHELPER#"
done

# Each unit is known to systemd once it is installed, and ends with its package.
units=0
for list in "$debian"/*.install; do
  while read -r unit; do
    units=$((units + 1))
    package=${list%.install}
    grep -q 'systemctl --system daemon-reload' "$package.postinst" || fail "$package.postinst: systemd does not learn of $unit"
    grep -q "deb-systemd-invoke stop .*\b$unit" "$package.prerm" || fail "$package.prerm: $unit runs on"
  done < <(sed -n 's|^lib/systemd/system/||p' "$list")
done
[ "$units" -ge 5 ] || fail "only $units units"

# purge PACKAGE: in a root of its own.
root=$TEST_TMPDIR/root
purge() {
  sed -e "s|/run/|$root/run/|g; s|/var/|$root/var/|g; s|/etc/|$root/etc/|g" "$debian/$1.postrm" >"$TEST_TMPDIR/postrm"
  sh "$TEST_TMPDIR/postrm" purge
}
fresh() {
  rm -rf "$root"
  mkdir -p "$root/run/copse" "$root/etc/copse" "$root/var/lib/copse"
  touch "$root"/run/copse/{copsed,admin,view}.sock
}

fresh
purge copse-daemon
[ "$(cd "$root/run/copse" && echo *)" = "admin.sock view.sock" ] || fail "the planner's sockets went with the daemon"
purge copse-planner
[ ! -e "$root/run/copse" ] || fail "the last package leaves a folder"

fresh
purge copse-planner
[ "$(cd "$root/run/copse" && echo *)" = copsed.sock ] || fail "the daemon's socket went with the planner"
purge copse-daemon
[ ! -e "$root/run/copse" ] || fail "the last package leaves a folder"
