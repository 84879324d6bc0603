#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A rank of a team, for tests: makes as many barriers as each line of standard input says, and writes "done".

Arguments: libcopse.so.0, the daemon's socket, the team's name, rank, size. Writes "ready" when the team is formed.
"""

import ctypes
import os
import sys


class Oob(ctypes.Structure):
    _fields_ = [("calls", ctypes.c_void_p * 3), ("info", ctypes.c_void_p), ("n", ctypes.c_uint32),
                ("ep", ctypes.c_uint32)]


class TeamParams(ctypes.Structure):
    _fields_ = [("mask", ctypes.c_uint64), ("name", ctypes.c_char_p), ("rank", ctypes.c_uint32),
                ("size", ctypes.c_uint32), ("oob", Oob), ("nonce", ctypes.c_uint64), ("timeout", ctypes.c_double)]


def main(library, socket_name, team_name, rank, size):
    os.environ["COPSE_SOCKET"] = socket_name
    copse = ctypes.CDLL(library)
    copse.copse_last_error.restype = ctypes.c_char_p

    def check(status):
        if status != 0:
            sys.exit(copse.copse_last_error().decode())

    context, team = ctypes.c_void_p(), ctypes.c_void_p()
    check(copse.copse_init(None, ctypes.byref(context)))
    params = TeamParams(mask=7, name=team_name.encode(), rank=int(rank), size=int(size))
    check(copse.copse_team_create(context, ctypes.byref(params), ctypes.byref(team)))
    print("ready", flush=True)
    for line in sys.stdin:
        for _ in range(int(line)):
            check(copse.copse_barrier(team))
        print("done", flush=True)
    check(copse.copse_team_destroy(team))
    check(copse.copse_fini(context))


if __name__ == "__main__":
    main(*sys.argv[1:])
