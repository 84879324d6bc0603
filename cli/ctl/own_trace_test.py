#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What users without certificates get of daemons' traces, on the planner's host: the records of their own teams.

Needs root, for two other users. Arguments: copsectl, copse-planner, copsed, libcopse.so.0, testbed/script/barrier_rank.py
and planner_cluster.py.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(sys.argv[6])))
from planner_cluster import PATIENCE_S, Processes, until

COPSECTL, PLANNER, COPSED, LIBRARY, RANK = map(os.path.abspath, sys.argv[1:6])
ALICE, BOB = 12345, 12346
NODES = ("n1", "n2")
CALLS = 20


class OwnTrace(unittest.TestCase):

    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        os.chmod(self.folder, 0o755)
        for file in (LIBRARY, RANK, COPSECTL):
            shutil.copy(file, self.folder)
            os.chmod(f"{self.folder}/{os.path.basename(file)}", 0o755)
        self.processes = Processes(self.folder)
        self.addCleanup(self.processes.end)
        self.run_dir = f"{self.folder}/planner"
        os.mkdir(self.run_dir)
        _, planner = self.processes.start_serving(PLANNER, "--set", "listen=127.0.0.1:0", "--set",
                                                  f"run_dir={self.run_dir}", "--set", "private_data=true")
        for node in NODES:
            os.mkdir(f"{self.folder}/{node}")
            self.processes.start_serving(COPSED, "--set", f"node={node}", "--set", f"planner={planner}", "--set",
                                         f"socket={self.socket(node)}", "--set", "admin_listen=127.0.0.1:0", "--set",
                                         f"run_dir={self.folder}/{node}")

    @staticmethod
    def socket(node):
        return f"@own-trace-{os.getpid()}-{node}"

    def ctl(self, uid, *words, socket="view"):
        """Returns copsectl's run as this user on the planner's host."""
        return subprocess.run([f"{self.folder}/copsectl", "-e", f"unix:{self.run_dir}/{socket}.sock", *words], user=uid,
                              group=uid, extra_groups=[], env={}, cwd="/", capture_output=True, text=True,
                              timeout=PATIENCE_S, check=False)

    def trace(self, uid, *words, socket="view"):
        run = self.ctl(uid, "trace", *words, socket=socket)
        self.assertEqual(run.returncode, 0, run.stderr)
        return json.loads(run.stdout)["traceEvents"], run.stderr

    def run_team(self, uid, name):
        """Returns the ranks of a team with one on each node that has made its calls, and stays."""
        ranks = []
        for rank, node in enumerate(NODES):
            ranks.append(self.processes.start(sys.executable, f"{self.folder}/{os.path.basename(RANK)}",
                                              f"{self.folder}/{os.path.basename(LIBRARY)}", self.socket(node), name,
                                              str(rank), str(len(NODES)), user=uid, group=uid, extra_groups=[], env={},
                                              cwd="/", stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True))
        for rank in ranks:
            self.assertEqual(rank.stdout.readline(), "ready\n")
        for rank in ranks:
            rank.stdin.write(f"{CALLS}\n")
            rank.stdin.flush()
        for rank in ranks:
            self.assertEqual(rank.stdout.readline(), "done\n")
        return ranks

    def team_of(self, uid):
        run = self.ctl(uid, "-w", "json", "team", "list", "--user", str(uid))
        return json.loads(run.stdout)[0]["id"]

    @staticmethod
    def teams_in(events):
        """Returns the teams that events name; of the wake-ups of a process there is none."""
        return {
            event["args"]["team"] for event in events
            if "team" in event.get("args", {}) and event["name"] != "client woken"
        }

    def test_a_user_gets_the_records_of_its_own_teams_alone(self):
        self.run_team(ALICE, "secret-a")
        bobs = self.run_team(BOB, "secret-b")
        teams = {uid: self.team_of(uid) for uid in (ALICE, BOB)}
        for uid, other in ((ALICE, BOB), (BOB, ALICE)):
            with self.subTest(uid=uid):
                events, said = self.trace(uid)
                self.assertEqual(self.teams_in(events), {teams[uid]})
                self.assertIn("role operator", said)
                calls = [event for event in events if event.get("cat") == "call"]
                self.assertEqual(len(calls), CALLS * len(NODES))
                self.assertEqual({event["args"]["rank"] for event in calls}, {0, 1})
                self.assertGreater(sum(event["ph"] == "f" for event in events), 0, "packets from node to node")
                self.assertEqual([event for event in events if event.get("cat") == "loop"], [], "whenever a daemon works")
                self.assertEqual([event for event in events if event["name"].startswith("network took")], [])
                # One thread of ranks on each node.
                names = [event["args"]["name"] for event in events if event["name"] == "thread_name"]
                self.assertEqual(len(names), 3 * len(NODES), names)
                self.assertEqual(self.teams_in(self.trace(uid, "--team", str(teams[other]))[0]), set())
        events, said = self.trace(0, socket="admin")
        self.assertEqual(self.teams_in(events) - {0}, set(teams.values()))
        self.assertNotIn("role operator", said)
        self.assertNotEqual([event for event in events if event.get("cat") == "loop"], [])
        # Nobody can say any more whose the records of a team are that has ended.
        for rank in bobs:
            rank.stdin.close()
            self.assertEqual(rank.wait(PATIENCE_S), 0)
        until("the team's end", lambda: not self.teams_in(self.trace(BOB)[0]))
        self.assertEqual(self.teams_in(self.trace(ALICE)[0]), {teams[ALICE]})
        self.assertIn(teams[BOB], self.teams_in(self.trace(0, socket="admin")[0]))

    def test_what_is_recorded_from_now_on_is_of_the_users_own_teams(self):
        self.run_team(ALICE, "a")
        self.run_team(BOB, "b")
        events, _ = self.trace(ALICE, "--seconds", "0.3")
        self.assertEqual(self.teams_in(events), set(), "nobody makes calls")

    def test_a_user_may_not_open_the_operators_socket(self):
        self.assertNotEqual(self.ctl(ALICE, "trace", socket="admin").returncode, 0)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
