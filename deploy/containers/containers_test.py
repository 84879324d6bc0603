#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Containers whose programs share a daemon by its socket alone. Needs root; the first run needs a Debian mirror.

Arguments: machines.py, planner_cluster.py, copsed, copse-planner, copsectl, libcopse.so.0, copse.h, allreduce.c.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile

FILES = json.loads(os.environ.get("COPSE_FILES", "[]")) or [os.path.abspath(path) for path in sys.argv[1:9]]
sys.path[:0] = [os.path.dirname(os.path.realpath(path)) for path in FILES[:2]]

from machines import PATIENCE_S, MachinesTest, main, must, start_container  # pylint: disable=wrong-import-position
from planner_cluster import Processes, until  # pylint: disable=wrong-import-position

COPSED, PLANNER, COPSECTL, LIBRARY, HEADER, PROGRAM = FILES[2:]
OWN_USERS = 1 << 20  # the first user of the machine that is one of a container's


class ContainersTest(MachinesTest):
    """The daemon is the machine's own; each rank is in a container without a network."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp()
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        os.chmod(cls.folder, 0o755)
        cls.processes = Processes(cls.folder)
        cls.addClassCleanup(cls.processes.end)
        for folder in ("run", "lib"):
            os.mkdir(f"{cls.folder}/{folder}")
        shutil.copy(LIBRARY, f"{cls.folder}/lib")
        shutil.copy(HEADER, cls.folder)
        must("cc", "-o", f"{cls.folder}/lib/allreduce", PROGRAM, f"-I{cls.folder}", f"{cls.folder}/lib/libcopse.so.0")
        _, cls.planner = cls.processes.start_serving(PLANNER, "--set", "listen=127.0.0.1:0")
        cls.start_daemon("n1")
        cls.names = 0

    @classmethod
    def start_daemon(cls, name, within=""):
        """Starts it by another program, if `within` says so in words of a shell."""
        os.mkdir(f"{cls.folder}/run/{name}")
        copsed = f"{cls.folder}/{name}"
        with open(copsed, "w", encoding="ascii") as file:
            file.write(f'#!/bin/sh\nexec {within} {COPSED} "$@"\n')
        os.chmod(copsed, 0o755)
        cls.processes.start_serving(copsed, "--set", f"node={name}", "--set", f"planner={cls.planner}", "--set",
                                    f"socket={cls.folder}/run/{name}/copsed.sock", "--set", "admin_listen=127.0.0.1:0",
                                    "--set", f"run_dir={cls.folder}/run/{name}")

    def contain(self, *program, options=(), daemon="n1", **environment):
        ContainersTest.names += 1
        environment = {"COPSE_SOCKET": "/run/copse/copsed.sock", "LD_LIBRARY_PATH": "/mnt", "COPSE_TIMEOUT": "20", **environment}
        return start_container(
            self.cgroup, f"c{self.names}", "--as-pid2", "--pipe", "--read-only", "--private-network", f"--directory={self.root}",
            f"--bind={self.folder}/run/{daemon}:/run/copse", f"--bind-ro={self.folder}/lib:/mnt",
            *(f"--setenv={key}={value}" for key, value in environment.items()), *options, *program,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def ranks(self, name, count=2, options=(), **more):
        return [self.contain("/mnt/allreduce", str(rank), str(count), options=options, COPSE_JOB=name, **more) for rank in range(count)]

    def expect(self, process, what, condition):
        """Waits for something while the process runs."""

        def holds():
            self.assertIsNone(process.poll(), process.poll() is not None and process.stdout.read())
            return condition()

        until(what, holds)

    def expect_sums(self, ranks):
        for rank, process in enumerate(ranks):
            said, _ = process.communicate(timeout=PATIENCE_S)
            self.assertEqual(process.returncode, 0, said)
            self.assertIn(f"rank {rank} of {len(ranks)}: sum of ranks {sum(range(len(ranks)))}", said)

    def test_two_containers_share_a_daemon(self):
        self.expect_sums(self.ranks("shared", options=["--user=bin"]))

    def test_users_of_a_containers_own_are_those_that_the_machine_knows(self):
        """The same users on both sides form a team; the daemon counts them by their numbers outside."""
        mapped = [f"--private-users={OWN_USERS}:65536"]
        lonely = self.contain("/mnt/allreduce", "0", "2", options=mapped, COPSE_JOB="mapped")
        users = lambda: [row["uid"] for row in json.loads(must(COPSECTL, "-e", self.planner, "-w", "json", "quota"))]  # pylint: disable=unnecessary-lambda-assignment
        self.expect(lonely, "the container's user", lambda: OWN_USERS in users())
        other = self.contain("/mnt/allreduce", "1", "2", options=mapped, COPSE_JOB="mapped")
        self.expect_sums([lonely, other])

    def test_a_program_that_is_killed_is_named(self):
        lonely = self.contain("/mnt/allreduce", "0", "2", options=["--user=bin"], COPSE_JOB="lonely")
        self.expect(lonely, "a forming team", lambda: "forming" in must(COPSECTL, "-e", self.planner, "team", "list"))
        lonely.kill()
        lonely.communicate(timeout=PATIENCE_S)
        until("the end of it", lambda: "forming" not in must(COPSECTL, "-e", self.planner, "team", "list"))

    def test_users_without_a_number_at_the_daemon_are_refused(self):
        """The daemon is in a user namespace that has root alone."""
        self.start_daemon("n2", within="unshare --user --map-root-user")
        said, _ = self.contain("/mnt/allreduce", "0", "1", options=["--user=bin"], daemon="n2", COPSE_JOB="x").communicate(timeout=PATIENCE_S)
        self.assertIn("uid=65534", said)
        self.expect_sums(self.ranks("root", count=1, daemon="n2"))

    def test_a_daemon_without_the_machines_processes_serves_them_all_the_same(self):
        self.start_daemon("n3", within="unshare --pid --fork --kill-child --mount-proc")
        self.expect_sums(self.ranks("contained", options=["--user=bin"], daemon="n3"))


if __name__ == "__main__":
    os.environ["COPSE_FILES"] = json.dumps(FILES)
    main(__file__, ContainersTest)
