#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Three planners on etcd, of which one leads, with two daemons and a team that makes calls all the time.

Arguments: copse-planner, copsed, copsectl, libcopse.so.0, testbed/script/barrier_rank.py and planner_cluster.py.
With ROUNDS in the environment, each fault is made so often, and the times are printed.
"""

import os
import shutil
import signal
import statistics
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(sys.argv[6])))
from planner_cluster import PATIENCE_S, Loopback, PlannerCluster, until

LEASE_S = 2
ROUNDS = int(os.environ.get("ROUNDS", "1"))
PROGRAMS = {}


class Failover(unittest.TestCase):

    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        self.teams = 0
        self.write_rule("flat")
        self.cluster = PlannerCluster(PROGRAMS, self.folder, Loopback(), lease_s=LEASE_S)
        self.addCleanup(self.cluster.end)
        self.cluster.start_processes()
        self.planners = self.cluster.planners

    def write_rule(self, algorithm):
        """Writes the rules of planners that start or reload from now on."""
        os.environ["COPSE_PLANNER_RULES"] = f"{self.folder}/rules.yaml"
        with open(f"{self.folder}/rules.yaml", "w", encoding="ascii") as file:
            file.write(f"version: 1\nrules: [{{collective: bcast, algorithm: {algorithm}}}]\n")

    def new_team(self):
        """Starts a rank on each node, and returns them when their team is formed."""
        self.teams += 1
        ranks = [
            self.cluster.start_rank(PROGRAMS["rank"], rank, f"team{self.teams}", str(rank), "2") for rank in range(2)
        ]
        return ranks if all(rank.stdout.readline() == "ready\n" for rank in ranks) else None

    def calls(self, ranks, count=200):
        for rank in ranks:
            rank.stdin.write(f"{count}\n")
            rank.stdin.flush()
        for rank in ranks:
            self.assertEqual(rank.stdout.readline(), "done\n")

    def finish(self, ranks):
        for rank in ranks:
            rank.stdin.close()
        for rank in ranks:
            self.assertEqual(rank.wait(PATIENCE_S), 0)

    def survive(self, what, fault, repair):
        """Makes a fault each round: a running team goes on, and a new team can be formed. Returns the seconds until then."""
        times = []
        for _ in range(ROUNDS):
            until("all planners", lambda: len(self.cluster.roles()) == 3)
            until("both nodes", self.cluster.all_are_ready)
            team = self.new_team()
            self.assertIsNotNone(team)
            leader = self.cluster.leader()
            fault(leader)
            begin = time.monotonic()
            self.calls(team)
            until("a new team", lambda: self.formed_and_finished())
            times.append(time.monotonic() - begin)
            self.calls(team)
            repair(leader)
            self.calls(team)
            self.finish(team)
        print(f"{what}: rounds={len(times)} median={statistics.median(times):.2f} s longest={max(times):.2f} s", flush=True)
        return times

    def formed_and_finished(self):
        ranks = self.new_team()
        if ranks is None:
            return False
        self.finish(ranks)
        return True

    def test_a_leader_that_is_killed(self):

        def kill(leader):
            self.planners[leader].kill()
            self.planners[leader].wait()

        self.survive("kill -9 of the leader", kill, self.cluster.start_planner)

    def test_a_leader_that_hands_over(self):

        def stop(leader):
            self.planners[leader].terminate()
            self.assertEqual(self.planners[leader].wait(PATIENCE_S), 0)

        times = self.survive("SIGTERM of the leader", stop, self.cluster.start_planner)
        self.assertLess(statistics.median(times), LEASE_S + 2)

    def test_a_leader_that_is_paused(self):

        def resume(leader):
            self.planners[leader].send_signal(signal.SIGCONT)
            # It finds that it does not lead any more, and ends; its service manager starts it again.
            self.assertEqual(self.planners[leader].wait(PATIENCE_S), 1)
            self.cluster.start_planner(leader)

        self.survive("SIGSTOP of the leader", lambda leader: self.planners[leader].send_signal(signal.SIGSTOP), resume)

    def test_a_leader_that_loses_etcd_before_its_decision_is_stored_ends(self):
        until("all planners", lambda: len(self.cluster.roles()) == 3)
        until("both nodes", self.cluster.all_are_ready)
        leader = self.cluster.leader()
        for member in self.cluster.members:
            member.send_signal(signal.SIGSTOP)
        ranks = [self.cluster.start_rank(PROGRAMS["rank"], rank, "team", str(rank), "2") for rank in range(2)]
        self.assertEqual(self.planners[leader].wait(PATIENCE_S), 1)
        for member in self.cluster.members:
            member.send_signal(signal.SIGCONT)
        self.cluster.start_planner(leader)
        self.assertEqual([rank.stdout.readline() for rank in ranks], ["ready\n"] * 2)
        self.finish(ranks)

    def test_a_leader_that_reaches_no_daemon_hands_over(self):
        until("all planners", lambda: len(self.cluster.roles()) == 3)
        until("both nodes", self.cluster.all_are_ready)
        team = self.new_team()
        self.assertIsNotNone(team)
        leader = self.cluster.leader()
        # Their connections stay open, as if packets vanished.
        for daemon in self.cluster.copseds:
            daemon.send_signal(signal.SIGSTOP)
        self.assertEqual(self.planners[leader].wait(PATIENCE_S), 1)
        for daemon in self.cluster.copseds:
            daemon.send_signal(signal.SIGCONT)
        self.assertNotEqual(self.cluster.leader(), leader)
        self.calls(team)
        until("a new team", self.formed_and_finished)
        self.finish(team)

    def test_a_standby_that_has_reloaded_leads_later_by_what_it_has_read(self):
        until("all planners", lambda: len(self.cluster.roles()) == 3)
        leader = self.cluster.leader()
        self.write_rule("knomial-4")
        standbys = [planner for address, planner in self.planners.items() if address != leader]
        for standby in standbys:
            log = f"{self.folder}/{self.cluster.processes.index(standby)}.log"
            before = os.path.getsize(log)
            standby.send_signal(signal.SIGHUP)
            until("what the reload says", lambda: os.path.getsize(log) > before)
        self.planners[leader].kill()
        self.planners[leader].wait()
        team = until("a new team", self.new_team)
        self.assertNotEqual(self.cluster.leader(), leader)
        plans = self.cluster.copsectl(self.cluster.leader(), "plan", "list", "--team", f"team{self.teams}")
        self.assertEqual({plan["algorithm"] for plan in plans if plan["collective"] == "bcast"}, {"knomial-4"})
        self.finish(team)
        self.assertEqual([standby.poll() for standby in standbys], [None, None])

    def test_a_member_of_etcd_that_is_killed(self):
        turn = 0

        def kill(_):
            self.cluster.members[turn % 3].kill()
            self.cluster.members[turn % 3].wait()

        def restart(leader):
            nonlocal turn
            self.cluster.start_member(turn % 3)
            turn += 1
            until("etcd", self.cluster.etcd_is_healthy)
            # A planner whose lease ended meanwhile has ended, too.
            self.cluster.restart_ended_planners()

        self.survive("kill -9 of a member of etcd", kill, restart)

    def test_two_planners_with_one_address_are_named(self):
        leader = self.cluster.leader()
        number = len(self.cluster.processes)
        self.cluster.start(PROGRAMS["copse-planner"], "--set", "listen=127.0.0.1:0", "--set", f"advertise={leader}",
                           "--set", f"store=etcd://{','.join(self.cluster.etcd)}/copse", "--set", f"lease={LEASE_S}s")

        def is_named():
            with open(f"{self.folder}/{number}.log", encoding="utf-8") as log:
                return f"(advertise={leader})" in log.read()

        until("a line that names the address", is_named)
        self.assertEqual(self.cluster.leader(), leader)

    def test_a_standby_names_the_leader_and_refuses(self):
        until("all planners", lambda: len(self.cluster.roles()) == 3)
        leader = self.cluster.leader()
        for address in self.planners:
            status = self.cluster.copsectl(address, "planner", "status")
            self.assertEqual(status["leader"], leader)
            self.assertEqual(status["role"], "leader" if address == leader else "standby")
            self.assertIsNotNone(self.cluster.copsectl(address, "node", "list"), "it follows the standby's hint")


if __name__ == "__main__":
    for name, path in zip(("copse-planner", "copsed", "copsectl", "libcopse", "rank"), sys.argv[1:6]):
        PROGRAMS[name] = os.path.abspath(path)
    unittest.main(argv=[sys.argv[0]] + sys.argv[7:], verbosity=2)
