#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A rank for bench/control/failover.py, whose results are checked.

Arguments: libcopse.so.0, the daemon's socket, `load` or `teams`, rank, size. `load` makes allreduces until it ends, and
writes their number; `teams` reads names, forms a team of each, makes an allreduce, destroys it, and writes "formed" or
why not. Exit codes: 1 the team broke, 3 a result was wrong.
"""

import ctypes
import os
import sys
import time

from barrier_rank import TeamParams

COUNT = 64
DOUBLE, SUM = 9, 0
PAUSE_S = 0.005  # of rank 0 between its calls; the other ranks wait in theirs


def main(library, socket_name, kind, rank, size):
    rank, size = int(rank), int(size)
    os.environ["COPSE_SOCKET"] = socket_name
    copse = ctypes.CDLL(library)
    copse.copse_last_error.restype = ctypes.c_char_p
    context = ctypes.c_void_p()
    if copse.copse_init(None, ctypes.byref(context)) != 0:
        sys.exit(copse.copse_last_error().decode())
    send, receive = (ctypes.c_double * COUNT)(), (ctypes.c_double * COUNT)()

    def create(name):
        team = ctypes.c_void_p()
        params = TeamParams(mask=7, name=name.encode(), rank=rank, size=size)
        return team if copse.copse_team_create(context, ctypes.byref(params), ctypes.byref(team)) == 0 else None

    def call(team, number):
        for i in range(COUNT):
            send[i] = (rank + 1) * (number % 1000) + i
        if copse.copse_allreduce(team, send, receive, ctypes.c_uint64(COUNT), DOUBLE, SUM) != 0:
            return False
        for i in range(COUNT):
            if receive[i] != size * (size + 1) / 2 * (number % 1000) + size * i:
                print(f"wrong: call {number}, element {i} (value={receive[i]})", file=sys.stderr)
                sys.exit(3)
        return True

    if kind == "load":
        team = create("load")
        number = 0
        while team is not None and call(team, number):
            number += 1
            if rank == 0:
                time.sleep(PAUSE_S)  # tidy: allow(sleep) because it leaves processors to others
            if number == 1 or (rank == 0 and number % 50 == 0):
                print(number, flush=True)
        sys.exit(copse.copse_last_error().decode())
    print("ready", flush=True)
    for line in sys.stdin:
        team = create(line.strip())
        formed = team is not None and call(team, 7)
        why = copse.copse_last_error().decode()
        if team is not None:
            copse.copse_team_destroy(team)
        print("formed" if formed else f"failed: {why}", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
