#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A cluster of four nodes is upgraded program by program, from each release that is in RELEASES, a folder a release.

Arguments: copse-planner, copsed, copsectl, libcopse.so.0, copse-perftest, testbed/script/barrier_rank.py and
planner_cluster.py. tools/lanes/releases.py makes the folder.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(sys.argv[7])))
from planner_cluster import PATIENCE_S, Processes, free_ports, until

NODES = 4
PROGRAMS = ("copse-planner", "copsed", "copsectl", "libcopse.so.0", "copse-perftest")
NEW = dict(zip(PROGRAMS, map(os.path.abspath, sys.argv[1:])))
RANK = os.path.abspath(sys.argv[6])
RELEASES = os.environ.get("RELEASES", "")


class Machines(Processes):
    """A planner and a daemon a node, each of which can be replaced by another version's."""

    def __init__(self, folder):
        super().__init__(folder)
        self.address = f"127.0.0.1:{free_ports(1)[0]}"
        self.planner = None
        self.daemons = [None] * NODES
        for node in range(NODES):
            os.mkdir(f"{folder}/run{node}")
        self.versions = [None] * NODES

    @staticmethod
    def stop(process):
        if process is not None:
            process.send_signal(signal.SIGTERM)
            process.wait(PATIENCE_S)

    def socket(self, node):
        return f"@versions-{os.getpid()}-{node}"

    def run_planner(self, version):
        self.stop(self.planner)
        self.planner = self.start(version["copse-planner"], "--set", f"listen={self.address}", "--set",
                                  f"state={self.folder}/state")
        until("the planner", lambda: self.ready_nodes(version) == self.running_daemons())

    def run_daemon(self, node, version):
        self.stop(self.daemons[node])
        self.versions[node] = version
        self.daemons[node] = self.start(version["copsed"], "--set", f"node=n{node}", "--set", f"planner={self.address}",
                                        "--set", f"socket={self.socket(node)}", "--set", "admin_listen=127.0.0.1:0",
                                        "--set", f"run_dir={self.folder}/run{node}")
        until("the node", lambda: self.ready_nodes(version) == self.running_daemons())

    def running_daemons(self):
        return sum(daemon is not None for daemon in self.daemons)

    def ready_nodes(self, version):
        done = subprocess.run([version["copsectl"], "-e", self.address, "-w", "json", "node", "list"],
                              capture_output=True, check=False)
        if done.returncode != 0:
            return None
        rows = json.loads(done.stdout) if done.stdout else []
        rows = rows if isinstance(rows, list) else rows.get("nodes", [])
        return sum(row["state"] == "ready" for row in rows)

    def start_rank(self, version, nodes, rank, team):
        return self.start(sys.executable, RANK, version["libcopse.so.0"], self.socket(nodes[rank]), team, str(rank),
                          str(len(nodes)), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


class MixedVersions(unittest.TestCase):

    machines = None
    suites = 0

    def start_job(self, version, nodes):
        """Returns the ranks of a job that lasts, one on each node."""
        ranks = [self.machines.start_rank(version, nodes, rank, "job") for rank in range(len(nodes))]
        for rank in ranks:
            self.assertEqual(rank.stdout.readline(), "ready\n")
        return ranks

    def go_on(self, ranks):
        for rank in ranks:
            rank.stdin.write("50\n")
            rank.stdin.flush()
        for rank in ranks:
            self.assertEqual(rank.stdout.readline(), "done\n")

    def finish(self, ranks):
        for rank in ranks:
            rank.stdin.close()
        for rank in ranks:
            self.assertEqual(rank.wait(PATIENCE_S), 0)

    def suite(self, *client_versions):
        """Runs every collective over all nodes, with clients of their daemons' versions or the given, and checks the data."""
        self.suites += 1
        ranks = []
        for node in range(NODES):
            version = client_versions[node] if client_versions else self.machines.versions[node]
            command = [version["copse-perftest"], "-c", "all", "-C", "-n", "3", "-w", "1", "-e", "16KiB", "-f", "64",
                       "--rank", str(node), "--ranks", str(NODES), "--team", f"suite{self.suites}"]
            ranks.append(self.machines.start(*command, stdout=subprocess.DEVNULL,
                                             env={**os.environ, "COPSE_SOCKET": self.machines.socket(node)}))
        for rank in ranks:
            self.assertEqual(rank.wait(PATIENCE_S), 0)

    def upgrade_daemons(self, job, old):
        """Replaces the daemons one by one, while the job goes on on nodes 2 and 3 until it is their turn."""
        for node in range(NODES):
            if node == 2:
                # A client may be of another version than its daemon.
                self.suite(old, NEW, old, NEW)
                self.go_on(job)
                self.finish(job)
            self.machines.run_daemon(node, NEW)
            self.suite()
            if node < 2:
                self.go_on(job)

    def each_release(self):
        """Runs the test for each release, with all programs of that release running, and a job on nodes 2 and 3."""
        names = sorted(os.listdir(RELEASES))
        self.assertNotEqual(names, [])
        for name in names:
            with tempfile.TemporaryDirectory() as folder:
                old = {program: f"{RELEASES}/{name}/{program}" for program in PROGRAMS}
                self.machines = Machines(folder)
                try:
                    self.machines.run_planner(old)
                    for node in range(NODES):
                        self.machines.run_daemon(node, old)
                    job = self.start_job(old, [2, 3])
                    self.go_on(job)
                    yield old, job
                finally:
                    self.machines.end()

    def test_the_planner_is_upgraded_first(self):
        for old, job in self.each_release():
            self.machines.run_planner(NEW)
            self.go_on(job)
            self.suite()
            self.upgrade_daemons(job, old)

    def test_the_daemons_are_upgraded_first(self):
        for old, job in self.each_release():
            self.upgrade_daemons(job, old)
            self.machines.run_planner(NEW)
            self.suite()

    def test_what_is_upgraded_can_go_back(self):
        for old, job in self.each_release():
            self.machines.run_planner(NEW)
            self.machines.run_daemon(0, NEW)
            self.suite()
            self.machines.run_daemon(0, old)
            self.machines.run_planner(old)
            self.go_on(job)
            self.suite()


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
