#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A rank of a team, for tests: makes as many barriers as each line of standard input says, and writes "done". A line that
is no number is rank 0's broadcast, of a text that is as long on all ranks: each writes what it has then.

Arguments: libcopse.so.0, the daemon's socket, the team's name, rank, size. Writes "ready" when the team is formed.
"""

import ctypes
import os
import sys

INT8 = 0  # COPSE_DT_INT8


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
        if not line.strip().isdigit():
            text = ctypes.create_string_buffer(line.strip().encode())
            check(copse.copse_bcast(team, text, ctypes.c_uint64(len(text.value)), INT8, 0))
            print(text.value.decode(), flush=True)
            continue
        for _ in range(int(line)):
            check(copse.copse_barrier(team))
        print("done", flush=True)
    check(copse.copse_team_destroy(team))
    check(copse.copse_fini(context))


if __name__ == "__main__":
    main(*sys.argv[1:])
