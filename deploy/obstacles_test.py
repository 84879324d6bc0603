#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a node meets that does not go as planned: addresses that come late, names that other users took.

In namespaces of its own, as root. Arguments: copsed, copse-planner, copse-perftest.
"""

import os
import socket
import subprocess
import sys
import tempfile
import time
import unittest

PATIENCE_S = 60
PROGRAMS = {}
STRANGER = 1  # user daemon: neither root nor user copse
RUN_DIR = "/run/copse"
LATE = "10.77.0.1"


def until(what, done):
    end = time.monotonic() + PATIENCE_S
    while not done():
        assert time.monotonic() < end, f"no {what} in {PATIENCE_S} s"
        time.sleep(0.01)  # tidy: allow(sleep) because other processes are awaited, which tell nobody


class Program:
    """One run of a program; what it says goes into a file."""

    def __init__(self, *command, **options):
        self.said_path = tempfile.mktemp()
        with open(self.said_path, "wb") as said:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=said, stderr=said, **options)

    def said(self):
        with open(self.said_path, encoding="utf-8") as said:
            return said.read()

    def await_line(self, text):
        until(f"'{text}'", lambda: text in self.said() or self.process.poll() is not None)
        assert text in self.said(), self.said()

    def code(self):
        return self.process.wait(PATIENCE_S)

    def end(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.unlink(self.said_path)


class ObstaclesTest(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        cls.planner = Program(PROGRAMS["copse-planner"])
        cls.planner.await_line("listen=")

    @classmethod
    def tearDownClass(cls):
        cls.planner.end()

    def start(self, *command, **options):
        program = Program(*command, **options)
        self.addCleanup(program.end)
        return program

    def copsed(self, *settings):
        return self.start(PROGRAMS["copsed"], *[word for setting in settings for word in ("--set", setting)])

    def as_stranger(self, script, *arguments):
        """Runs a piece of Python as another user; it says a line when it has done what it is for, and then waits."""
        return self.start(sys.executable, "-c", "import socket, sys, signal\n" + script +
                          "\nprint('done', flush=True)\nsignal.pause()\n", *arguments, user=STRANGER, group=STRANGER,
                          extra_groups=[])

    def expect_a_call(self, **environment):
        """Two ranks of this node make a call."""
        perftest = self.start(PROGRAMS["copse-perftest"], "--local", "2", "-c", "barrier", "-n", "10",
                              env=dict(os.environ, COPSE_TIMEOUT=str(PATIENCE_S), **environment))
        self.assertEqual(perftest.code(), 0, perftest.said())

    def test_an_address_that_comes_late(self):
        settings = (f"data_listen={LATE}", "insecure=true")
        early = self.copsed(*settings)
        # The service manager starts it again after any code but 2.
        self.assertEqual(early.code(), 1)
        self.assertRegex(early.said(), f"^copsed: data_listen: .*data_listen={LATE}")
        subprocess.run(["ip", "address", "add", f"{LATE}/32", "dev", "lo"], check=True)
        late = self.copsed(*settings)
        late.await_line("state=ready")
        self.expect_a_call()

    def test_a_stranger_at_the_abstract_name(self):
        squatter = self.as_stranger("s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)\n"
                                    "s.bind('\\0copse')\ns.listen(100)")
        squatter.await_line("done")
        copsed = self.copsed()
        copsed.await_line("state=ready")
        self.assertIn("(socket=@copse)", copsed.said())
        self.expect_a_call()
        perftest = self.start(PROGRAMS["copse-perftest"], "--local", "1", env=dict(os.environ, COPSE_SOCKET="@copse"))
        self.assertEqual(perftest.code(), 1, perftest.said())
        self.assertIn(f"uid={STRANGER}", perftest.said())
        # Nowhere else to serve: it says so, and is started again.
        alone = self.copsed("socket=@copse", "admin_listen=127.0.0.1:0", "node=other")
        self.assertEqual(alone.code(), 1)
        self.assertIn("(socket=@copse)", alone.said())

    def test_a_second_daemon_is_refused(self):
        first = self.copsed()
        first.await_line("state=ready")
        second = self.copsed("admin_listen=127.0.0.1:0", "node=other", f"run_dir={tempfile.mkdtemp()}")
        self.assertEqual(second.code(), 1)
        self.assertIn("(socket=@copse)", second.said())

    def test_a_planner_whose_disk_is_full(self):
        disk = tempfile.mkdtemp()
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", disk], check=True)
        self.addCleanup(subprocess.run, ["umount", "-l", disk], check=True)
        planner = self.start(PROGRAMS["copse-planner"], "--set", "listen=127.0.0.1:7480", "--set", f"state={disk}/state.db")
        planner.await_line("listen=")
        copsed = self.copsed("planner=127.0.0.1:7480", "socket=@small", "admin_listen=127.0.0.1:0")
        copsed.await_line("state=ready")
        self.expect_a_call(COPSE_SOCKET="@small")
        with self.assertRaises(OSError), open(f"{disk}/filler", "wb", buffering=0) as filler:
            while True:
                filler.write(b"x" * 4096)
        # Some records still find room in what the database has.
        refused = None
        for _ in range(200):
            refused = self.start(PROGRAMS["copse-perftest"], "--local", "2", "-c", "barrier", "-n", "10",
                                 env=dict(os.environ, COPSE_SOCKET="@small", COPSE_TIMEOUT=str(PATIENCE_S)))
            if refused.code() != 0:
                break
        self.assertEqual(refused.code(), 1, refused.said())
        self.assertIn(f"state={disk}/state.db", planner.said())
        os.unlink(f"{disk}/filler")
        self.expect_a_call(COPSE_SOCKET="@small")
        self.assertIsNone(planner.process.poll())
        self.assertIsNone(copsed.process.poll())

    def test_a_user_who_connects_1024_times_and_says_nothing(self):
        copsed = self.copsed()
        copsed.await_line("state=ready")
        crowd = self.as_stranger("import resource\n"
                                 "resource.setrlimit(resource.RLIMIT_NOFILE, (2048, 2048))\n"
                                 "crowd = []\n"
                                 "for i in range(1024):\n"
                                 "  s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)\n"
                                 "  s.connect('\\0copse')\n"
                                 "  crowd.append(s)")
        crowd.await_line("done")
        self.expect_a_call()
        self.assertIn(f"(uid={STRANGER}, connections=128, limit=128)", copsed.said())


def main():
    if os.geteuid() != 0:
        print("SKIPPED: needs root, for namespaces and another user")
        return
    if "--inside" not in sys.argv:
        os.execvp("unshare", ["unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "--",
                              sys.executable, *sys.argv, "--inside"])
    for path in sys.argv[1:-1]:
        PROGRAMS[os.path.basename(path)] = os.path.abspath(path)
    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", "/run"], check=True)
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    os.makedirs(RUN_DIR)
    unittest.main(argv=[sys.argv[0]], verbosity=2)


if __name__ == "__main__":
    main()
