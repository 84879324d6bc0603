#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""copse-ca revokes a node's certificate under teams of a planner and three daemons that know each other by TLS.

Arguments: copse-ca, copsectl, copsed, copse-planner, libcopse.so.0, barrier_rank.py, planner_cluster.py.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(sys.argv[7])))
from planner_cluster import Authority, PATIENCE_S, Processes, until

CA, COPSECTL, COPSED, PLANNER, LIBCOPSE, RANK = sys.argv[1:7]
REVOKED_WITHIN_S = 60
NODES = ("n1", "n2", "n3")


class RevocationTest(unittest.TestCase):

    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        self.authority = Authority(CA, self.folder, NODES)
        self.processes = Processes(self.folder)
        self.addCleanup(self.processes.end)
        _, self.planner = self.processes.start_serving(PLANNER, *self.authority.settings("planner/p0"), "--set", "listen=127.0.0.1:0",
                                                       "--set", f"run_dir={self.folder}")
        for node in NODES:
            self.start_daemon(node)
        until("all nodes", lambda: self.states() == dict.fromkeys(NODES, "ready"))

    def socket(self, node):
        return f"@revocation-{os.getpid()}-{node}"

    def start_daemon(self, node):
        return self.processes.start_serving(COPSED, *self.authority.settings(f"node/{node}"), "--set", f"node={node}", "--set",
                                            f"planner={self.planner}", "--set", f"socket={self.socket(node)}", "--set",
                                            "admin_listen=127.0.0.1:0", "--set", f"run_dir={self.folder}")[0]

    def copsectl(self, *verb):
        return self.authority.ask(COPSECTL, self.planner, *verb)

    def states(self):
        return {node["name"]: node["state"] for node in self.copsectl("node", "list")}

    def wire(self, node):
        """Returns the daemon's counters of connections."""
        counters = self.copsectl("node", "show", node)["counters"]
        return {name: counters[f"wire.{name}"] for name in ("connected", "reconnected", "refused", "dropped")}

    def team(self, name, *nodes):
        ranks = [self.processes.start(sys.executable, RANK, LIBCOPSE, self.socket(node), name, str(rank),
                                      str(len(nodes)), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
                 for rank, node in enumerate(nodes)]
        for rank in ranks:
            self.assertEqual(rank.stdout.readline(), "ready\n")
        return ranks

    def call(self, ranks, times):
        for rank in ranks:
            rank.stdin.write(f"{times}\n")
            rank.stdin.flush()

    def log(self, process):
        with open(f"{self.folder}/{self.processes.processes.index(process)}.log", encoding="utf-8") as file:
            return file.read()

    def test_a_revoked_node_is_out_and_nobody_else(self):
        all_ranks, others = self.team("all", *NODES), self.team("others", "n1", "n2")
        self.call(all_ranks, 10)
        for rank in all_ranks:
            self.assertEqual(rank.stdout.readline(), "done\n")
        before = [self.wire(node) for node in ("n1", "n2")]
        for counts in before:
            self.assertGreater(counts["connected"], 0)
            self.assertEqual((counts["reconnected"], counts["dropped"]), (0, 0))
        self.call(all_ranks, 1_000_000_000)
        revoked = time.monotonic()
        self.authority.run("revoke", "node", "n3")
        for rank in all_ranks:
            self.assertNotEqual(rank.wait(timeout=PATIENCE_S), 0)
            self.assertIn("n3", self.log(rank))
        until("n3 to be out", lambda: self.states()["n3"] != "ready")
        self.assertLess(time.monotonic() - revoked, REVOKED_WITHIN_S)
        # Where both daemons have connected to each other, one connection has ended before its hello already.
        after = [self.wire(node) for node in ("n1", "n2")]
        self.assertGreater(sum(counts["refused"] for counts in after), sum(counts["refused"] for counts in before))
        self.call(others, 1000)
        for rank in others:
            self.assertEqual(rank.stdout.readline(), "done\n")
        counters = self.copsectl("node", "show", "n1")["counters"]
        self.assertAlmostEqual(counters["tls.list_ends_at_s"], time.time() + 30 * 24 * 3600, delta=3600)
        self.assertAlmostEqual(counters["tls.certificate_ends_at_s"], time.time() + 365 * 24 * 3600, delta=3600)
        again = self.team("again", "n1", "n2")
        again[0].stdin.close()
        self.assertEqual({"n1", "n2"}, {node for node, state in self.states().items() if state == "ready"})

    def test_daemons_leave_a_revoked_planner_and_their_teams_go_on(self):
        ranks = self.team("all", *NODES)
        revoked = time.monotonic()
        self.authority.run("revoke", "planner", "p0")
        daemons = self.processes.processes[1:1 + len(NODES)]
        until("all daemons to leave it", lambda: all("is revoked" in self.log(daemon) for daemon in daemons))
        self.assertLess(time.monotonic() - revoked, REVOKED_WITHIN_S)
        self.call(ranks, 1000)
        for rank in ranks:
            self.assertEqual(rank.stdout.readline(), "done\n")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
