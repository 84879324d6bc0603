#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Installs into a prefix, and uses what is there: programs, units, the library's exports, the example by pkg-config, and
# a cluster of two nodes on which the example runs. Argument: tools/install.
set -euo pipefail
install=$PWD/$1
# Bazel's outputs, by their paths, are our own files.
built=$PWD
prefix=$TEST_TMPDIR/prefix
# A socket's name is at most 107 bytes, and Bazel's folders can be longer than that.
sockets=$(mktemp -d /tmp/copse-XXXXXX)
pids=()
trap 'kill "${pids[@]}" 2>/dev/null || true; wait; rm -rf "$sockets"' EXIT

fail() {
  echo "FAILED: $*"
  exit 1
}

# fails CODE COMMAND...: with one line on standard error.
fails() {
  local code=$1 status=0
  shift
  said=$("$@" 2>&1 >/dev/null) || status=$?
  [ "$status" = "$code" ] || fail "$*: exit code $status, not $code"
  [ "$(wc -l <<<"$said")" = 1 ] || fail "$*: not one line: $said"
}

echo "== usage"
fails 2 "$install" --frobnicate
fails 2 "$install" --prefix
fails 2 "$install" --prefix relative
fails 2 "$install" --prefix '/a b'
fails 2 "$install" --prefix '/a|b'
fails 2 "$install" --built /nonexistent
[ "$said" = "tools/install: --built: no such folder (value=/nonexistent)" ] || fail "--built: $said"
fails 2 env DESTDIR=relative "$install"
"$install" --help | grep -q -- --prefix || fail "no help"

echo "== files"
env -u DESTDIR "$install" --prefix "$prefix" --built "$built"
expected="bin/copse-ca bin/copse-exporter bin/copse-info bin/copse-perftest bin/copse-planner bin/copse-run bin/copse-sim bin/copse-slurm bin/copse-trace bin/copse-web bin/copsectl bin/copsed include/copse.h include/copse.hpp lib/copse/libcopse-mpi.so lib/copse/libcopse-mpi-mpich.so lib/copse/libcopse-mpi-openmpi.so lib/copse/spank_copse.so lib/copse/slurm/prolog lib/copse/slurm/epilog lib/copse/slurm/health lib/libcopse.so lib/libcopse.so.0
lib/pkgconfig/copse.pc lib/systemd/system/copse-exporter.service lib/systemd/system/copse-planner.service lib/systemd/system/copse-web.service lib/systemd/system/copsed.service
lib/systemd/system/copsed.socket lib/sysusers.d/copse.conf lib/tmpfiles.d/copse.conf share/copse/LICENSE
share/copse/README.md share/bash-completion/completions/copsectl share/fish/vendor_completions.d/copsectl.fish share/zsh/site-functions/_copsectl share/copse/alerts.yml share/copse/grafana.json share/copse/copsed.yaml share/copse/example/Makefile share/copse/example/allreduce.c
share/copse/planner.yaml share/copse/plugstack.conf share/copse/rules.schema.json share/copse/verbs.conf"
diff <(tr -s ' ' '\n' <<<"$expected" | sort) <(cd "$prefix" && find . ! -type d | cut -c3- | sort) || fail "other files"
for program in copsed copse-planner copsectl copse-ca copse-exporter copse-info copse-perftest copse-run copse-sim copse-slurm copse-trace copse-web; do
  "$prefix/bin/$program" --version | grep -Eq "^$program [0-9]+\.[0-9]+\.[0-9]+$" || fail "$program --version"
  "$prefix/bin/$program" --help | grep -qi "usage" || fail "$program --help"
done
"$prefix/bin/copsed" --config "$prefix/share/copse/copsed.yaml" --check-config
"$prefix/bin/copse-planner" --config "$prefix/share/copse/planner.yaml" --check-config
grep -rq @ "$prefix/lib/pkgconfig" && fail "copse.pc has placeholders"
grep -rhv '^#' "$prefix/lib/systemd" | grep -q /usr/local && fail "a unit has another prefix"

echo "== again, over files in use, and with DESTDIR"
before=$(stat -c %i "$prefix/lib/libcopse.so.0")
env -u DESTDIR "$install" --prefix="$prefix/" --built="$built" >/dev/null
[ "$(stat -c %i "$prefix/lib/libcopse.so.0")" != "$before" ] || fail "the library was written in place"
[ -z "$(find "$prefix" -name '*.new*')" ] || fail "unfinished files are left"
DESTDIR=$TEST_TMPDIR/package "$install" --prefix /opt/copse --built "$built" >/dev/null
grep -q '^prefix=/opt/copse$' "$TEST_TMPDIR/package/opt/copse/lib/pkgconfig/copse.pc" || fail "copse.pc has DESTDIR"
grep -q '^ExecStart=/opt/copse/bin/copsed$' "$TEST_TMPDIR/package/opt/copse/lib/systemd/system/copsed.service" ||
  fail "copsed.service has DESTDIR"

echo "== units"
if command -v systemd-analyze >/dev/null; then
  said=$(systemd-analyze verify --man=no --recursive-errors=no "$prefix"/lib/systemd/system/* 2>&1) || fail "$said"
  [ -z "$said" ] || fail "$said"
fi

echo "== exports"
foreign=$(nm -D --defined-only "$prefix/lib/libcopse.so" | awk '$2 != "A" && $3 !~ /^copse_[a-z_]+@@COPSE_0$/')
[ -z "$foreign" ] || fail "the library exports more than copse_*: $foreign"

echo "== copse-run"
said=$("$prefix/bin/copse-run" --dry-run --launcher hydra mpiexec -n 2 ./a)
[ "$said" = "mpiexec -genv LD_PRELOAD $prefix/lib/copse/libcopse-mpi.so -n 2 ./a" ] || fail "copse-run: $said"
fails 2 "$prefix/bin/copse-run"
fails 1 "$prefix/bin/copse-run" /no/such/launcher
fails 1 "$prefix/bin/copse-run" --library /no/such/library --launcher srun srun ./a
fails 1 "$prefix/bin/copse-run" --library "$prefix/lib/libcopse.so" --launcher srun srun ./a

echo "== slurm"
grep -qx "optional $prefix/lib/copse/spank_copse.so" "$prefix/share/copse/plugstack.conf" || fail "plugstack.conf has another prefix"
# No daemon is there, and the job runs all the same.
for verb in prolog epilog health; do
  said=$(env -i SLURM_JOB_ID=7 SLURM_JOB_UID=7 "COPSECTL_ENDPOINT=127.0.0.1:1" "COPSE_SLURM_DAEMON=127.0.0.1:1" "$prefix/lib/copse/slurm/$verb" 2>&1) || fail "$verb: $said"
  [ "$(wc -l <<<"$said")" = 1 ] || fail "$verb: not one line: $said"
done

echo "== example"
cp -r "$prefix/share/copse/example" "$TEST_TMPDIR/example"
make -C "$TEST_TMPDIR/example" PKG_CONFIG_PATH="$prefix/lib/pkgconfig"
printf '#include <copse.hpp>\nint main() { return 0; }\n' >"$TEST_TMPDIR/hpp.cc"
PKG_CONFIG_PATH=$prefix/lib/pkgconfig sh -c \
  'c++ -std=c++17 -Wall -Werror '"$TEST_TMPDIR/hpp.cc"' $(pkg-config --cflags --libs copse) -o '"$TEST_TMPDIR/hpp"

echo "== cluster"
# await FILE: until it is there and whole.
await() {
  local tries=0
  until [ -s "$1" ]; do
    [ $((tries += 1)) -lt 300 ] || { cat "$TEST_TMPDIR"/*.log; fail "no $1"; }
    sleep 0.1 # tidy: allow(sleep) because a file that another process writes gives no event here
  done
}
cd "$TEST_TMPDIR"
env -i "$prefix/bin/copse-planner" --set listen=127.0.0.1:0 --set "state=$TEST_TMPDIR/state" --port-file planner.port \
  >planner.log 2>&1 &
pids+=($!)
await planner.port
for node in n1 n2; do
  env -i "$prefix/bin/copsed" --set node=$node --set "planner=$(cat planner.port)" --set admin_listen=127.0.0.1:0 \
    --set "socket=$sockets/$node.sock" --port-file $node.port >$node.log 2>&1 &
  pids+=($!)
done
await n1.port
await n2.port
# The program that README.md prints.
sed -n '/^```c$/,/^```$/{/^```/!p}' "$prefix/share/copse/README.md" >first.c
PKG_CONFIG_PATH=$prefix/lib/pkgconfig sh -c 'cc -Wall -Werror first.c $(pkg-config --cflags --libs copse) -o first'
[ "$(env -i COPSE_TIMEOUT=30 "COPSE_SOCKET=$sockets/n1.sock" "LD_LIBRARY_PATH=$prefix/lib" ./first)" = "sum 1" ] ||
  fail "README.md's program"
ranks=()
for rank in 0 1 2 3; do
  env -i COPSE_TIMEOUT=30 "COPSE_SOCKET=$sockets/n$((rank / 2 + 1)).sock" example/allreduce $rank 4 >out.$rank 2>&1 &
  ranks+=($!)
done
for rank in 0 1 2 3; do
  wait "${ranks[rank]}" || { cat out.$rank ./*.log; fail "rank $rank"; }
  cat out.$rank
  grep -q "^rank $rank of 4: sum of ranks 6, " out.$rank || fail "rank $rank is wrong"
done
"$prefix/bin/copsectl" -e "$(cat planner.port)" node list
env -i "COPSE_SOCKET=$sockets/n1.sock" "$prefix/bin/copse-perftest" --local 2 -c all -e 64 -n 5 -w 1 --check --timeout 30 ||
  fail "copse-perftest"

echo "== end"
kill "${pids[@]}"
for pid in "${pids[@]}"; do wait "$pid" || { cat ./*.log; fail "a program did not end well"; }; done
pids=()
