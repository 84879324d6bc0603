#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A user who takes all clients, or all their memory, keeps nobody else out. Needs root, for two other users.

Arguments: copsed, copse-planner, libcopse.so.0, testbed/script/barrier_rank.py and planner_cluster.py.
"""

import ctypes
import os
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

# The copy that takes all clients is a program of another user, and needs none of this.
if sys.argv[1] != "--take-all":
    sys.path.insert(0, os.path.dirname(os.path.abspath(sys.argv[5])))
    from planner_cluster import PATIENCE_S, Processes

CLIENTS_MAX = 16
KEPT = CLIENTS_MAX // 8
GREEDY, MODEST = 65534, 12345
MIB = 1 << 20
DATA_BYTES_FIELD = 1 << 4  # COPSE_INIT_PARAM_FIELD_DATA_BYTES
PROGRAMS = {}


class InitParams(ctypes.Structure):
    _fields_ = [("mask", ctypes.c_uint64), ("socket", ctypes.c_char_p), ("job", ctypes.c_char_p),
                ("dq_entries", ctypes.c_uint32), ("eq_entries", ctypes.c_uint32), ("data_bytes", ctypes.c_uint64)]


def take_all(library, data_bytes):
    """Attaches with data areas of that size until it is refused, says how often it was not, and why, and stays."""
    copse = ctypes.CDLL(library)
    params = InitParams(mask=DATA_BYTES_FIELD, data_bytes=int(data_bytes))
    copse.copse_last_error.restype = ctypes.c_char_p
    contexts = []
    while True:
        context = ctypes.c_void_p()
        if copse.copse_init(ctypes.byref(params), ctypes.byref(context)) != 0:
            break
        contexts.append(context)
    print(len(contexts), copse.copse_last_error().decode(), flush=True)
    sys.stdin.read()


class TwoUsers(unittest.TestCase):

    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        os.chmod(self.folder, 0o755)
        for file in (PROGRAMS["libcopse"], PROGRAMS["rank"], os.path.abspath(__file__)):
            shutil.copy(file, self.folder)
            os.chmod(f"{self.folder}/{os.path.basename(file)}", 0o755)
        self.library = f"{self.folder}/{os.path.basename(PROGRAMS['libcopse'])}"
        self.socket = f"@users-{os.getpid()}"
        processes = Processes(self.folder)
        self.addCleanup(processes.end)
        _, planner = processes.start_serving(PROGRAMS["planner"], "--set", "listen=127.0.0.1:0")
        processes.start_serving(PROGRAMS["copsed"], "--set", "node=n1", "--set", f"planner={planner}", "--set", f"socket={self.socket}", "--set",
                   "admin_listen=127.0.0.1:0", "--set", f"run_dir={self.folder}", "--set", f"clients_max={CLIENTS_MAX}")

    def run_as(self, uid, script, *arguments):
        process = subprocess.Popen([sys.executable, f"{self.folder}/{script}", *arguments], user=uid, group=uid,
                                   extra_groups=[], env={"COPSE_SOCKET": self.socket}, cwd="/", stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, text=True)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stdin.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def take_all(self, data_bytes):
        """Returns the process of a user who has taken all that it could get, how many clients that is, and its refusal."""
        greedy = self.run_as(GREEDY, os.path.basename(__file__), "--take-all", self.library, str(data_bytes))
        count, why = greedy.stdout.readline().split(" ", 1)
        return greedy, int(count), why

    def check_that_the_other_user_forms_a_team(self):
        ranks = [
            self.run_as(MODEST, "barrier_rank.py", self.library, self.socket, "team", str(rank), str(KEPT))
            for rank in range(KEPT)
        ]
        for rank in ranks:
            self.assertEqual(rank.stdout.readline(), "ready\n")
            rank.stdin.write("10\n")
            rank.stdin.flush()
        for rank in ranks:
            self.assertEqual(rank.stdout.readline(), "done\n")

    def test_a_user_who_takes_all_clients_leaves_some_for_others(self):
        greedy, count, why = self.take_all(MIB)
        self.assertEqual(count, CLIENTS_MAX - KEPT, why)
        self.assertIn(f"uid={GREEDY}, used={count}, used by all={count}, limit={CLIENTS_MAX}", why)
        self.check_that_the_other_user_forms_a_team()
        third = self.run_as(MODEST, "barrier_rank.py", self.library, self.socket, "other", "0", "1")
        self.assertEqual(third.stdout.readline(), "", "the limit is one for all")
        # What was the greedy user's is anybody's when it has gone.
        greedy.kill()
        greedy.wait()
        deadline = time.monotonic() + PATIENCE_S
        last = ["barrier_rank.py", self.library, self.socket, "last", "0", "1"]
        while self.run_as(MODEST, *last).stdout.readline() != "ready\n":
            self.assertLess(time.monotonic(), deadline)

    def test_a_user_who_takes_all_memory_of_clients_leaves_some_for_others(self):
        _, count, why = self.take_all(4 * MIB)
        self.assertLess(count, CLIENTS_MAX - KEPT, why)
        for part in (f"uid={GREEDY}", "used=", "used by all=", "limit=", "wanted="):
            self.assertIn(part, why)
        self.check_that_the_other_user_forms_a_team()


if __name__ == "__main__":
    if sys.argv[1] == "--take-all":
        take_all(*sys.argv[2:])
    else:
        PROGRAMS.update(zip(("copsed", "planner", "libcopse", "rank"), map(os.path.abspath, sys.argv[1:5])))
        unittest.main(argv=sys.argv[:1], verbosity=2)
