#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Three planners on etcd, of which one leads, with two daemons and a team that makes calls all the time.

Arguments: copse-planner, copsed, copsectl, libcopse.so.0, testbed/script/barrier_rank.py.
With ROUNDS in the environment, each fault is made so often, and the times are printed.
"""

import json
import os
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.request

PATIENCE_S = 60
LEASE_S = 2
ROUNDS = int(os.environ.get("ROUNDS", "1"))
PROGRAMS = {}


def until(what, condition, pause=0.05):
    """Asks until the answer is true."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        answer = condition()
        if answer:
            return answer
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {PATIENCE_S} s for {what}")
        time.sleep(pause)  # tidy: allow(sleep) because other processes' states give no event here


def free_ports(count):
    """Returns ports of loopback that nobody listens on."""
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


class Failover(unittest.TestCase):

    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.processes = []
        self.addCleanup(self.end_all)
        self.teams = 0
        ports = free_ports(3 + 6)
        self.planners = {f"127.0.0.1:{port}": None for port in ports[:3]}
        cluster = ",".join(f"m{i}=http://127.0.0.1:{ports[3 + i]}" for i in range(3))
        self.etcd = [f"127.0.0.1:{ports[6 + i]}" for i in range(3)]
        self.commands = [("etcd", f"--name=m{i}", f"--data-dir={self.folder}/m{i}",
                          f"--listen-client-urls=http://{self.etcd[i]}",
                          f"--advertise-client-urls=http://{self.etcd[i]}",
                          f"--listen-peer-urls=http://127.0.0.1:{ports[3 + i]}",
                          f"--initial-advertise-peer-urls=http://127.0.0.1:{ports[3 + i]}",
                          f"--initial-cluster={cluster}", "--logger=zap") for i in range(3)]
        self.members = [self.start(*command) for command in self.commands]
        until("etcd", lambda: all(self.is_healthy(member) for member in self.etcd))
        for address in self.planners:
            self.start_planner(address)
        self.daemons = [f"@failover-{os.getpid()}-{i}" for i in range(2)]
        for i, name in enumerate(self.daemons):
            self.start(PROGRAMS["copsed"], "--set", f"node=n{i}", "--set", "planner=" + ",".join(self.planners), "--set",
                       f"socket={name}", "--set", "admin_listen=127.0.0.1:0", "--set", f"run_dir={self.folder}")
        until("both nodes", lambda: self.ready_nodes() == 2)

    def end_all(self):
        for process in self.processes:
            if process.poll() is None:
                process.kill()
                process.wait()
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    pipe.close()

    def start(self, *command, **options):
        with open(f"{self.folder}/{len(self.processes)}.log", "w", encoding="utf-8") as log:
            process = subprocess.Popen(command, stderr=log, **options)
        self.processes.append(process)
        return process

    def start_planner(self, address):
        self.planners[address] = self.start(PROGRAMS["copse-planner"], "--set", f"listen={address}", "--set",
                                            f"store=etcd://{','.join(self.etcd)}/copse", "--set", f"lease={LEASE_S}s")

    @staticmethod
    def is_healthy(member):
        try:
            with urllib.request.urlopen(f"http://{member}/health", timeout=2) as answer:
                return json.load(answer)["health"] == "true"
        except OSError:
            return False

    def copsectl(self, endpoints, *verb):
        done = subprocess.run([PROGRAMS["copsectl"], "-e", endpoints, "-w", "json", *verb], capture_output=True, check=False)
        return json.loads(done.stdout) if done.returncode == 0 and done.stdout else None

    def ready_nodes(self):
        rows = self.copsectl(",".join(self.planners), "node", "list") or []
        rows = rows if isinstance(rows, list) else rows.get("nodes", [])
        return sum(row["state"] == "ready" for row in rows)

    def roles(self):
        """Returns the role of each planner that answers, by address."""
        statuses = {address: self.copsectl(address, "planner", "status") for address in self.planners}
        return {address: status["role"] for address, status in statuses.items() if status}

    def leader(self):
        return until("a leader", lambda: [address for address, role in self.roles().items() if role == "leader"])[0]

    def new_team(self):
        """Starts a rank on each node, and returns them when their team is formed."""
        self.teams += 1
        ranks = [
            self.start(sys.executable, PROGRAMS["rank"], PROGRAMS["libcopse"], name, f"team{self.teams}", str(rank), "2",
                       stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            for rank, name in enumerate(self.daemons)
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
            until("all planners", lambda: len(self.roles()) == 3)
            until("both nodes", lambda: self.ready_nodes() == 2)
            team = self.new_team()
            self.assertIsNotNone(team)
            leader = self.leader()
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

        self.survive("kill -9 of the leader", kill, self.start_planner)

    def test_a_leader_that_hands_over(self):

        def stop(leader):
            self.planners[leader].terminate()
            self.assertEqual(self.planners[leader].wait(PATIENCE_S), 0)

        times = self.survive("SIGTERM of the leader", stop, self.start_planner)
        self.assertLess(statistics.median(times), LEASE_S + 2)

    def test_a_leader_that_is_paused(self):

        def resume(leader):
            self.planners[leader].send_signal(signal.SIGCONT)
            # It finds that it does not lead any more, and ends; its service manager starts it again.
            self.assertEqual(self.planners[leader].wait(PATIENCE_S), 1)
            self.start_planner(leader)

        self.survive("SIGSTOP of the leader", lambda leader: self.planners[leader].send_signal(signal.SIGSTOP), resume)

    def test_a_member_of_etcd_that_is_killed(self):
        turn = 0

        def kill(_):
            self.members[turn % 3].kill()
            self.members[turn % 3].wait()

        def restart(leader):
            nonlocal turn
            self.members[turn % 3] = self.start(*self.commands[turn % 3])
            turn += 1
            until("etcd", lambda: all(self.is_healthy(member) for member in self.etcd))
            # A planner whose lease ended meanwhile has ended, too.
            for address, planner in self.planners.items():
                if planner.poll() is not None:
                    self.start_planner(address)

        self.survive("kill -9 of a member of etcd", kill, restart)

    def test_a_standby_names_the_leader_and_refuses(self):
        leader = self.leader()
        for address in self.planners:
            status = self.copsectl(address, "planner", "status")
            self.assertEqual(status["leader"], leader)
            self.assertEqual(status["role"], "leader" if address == leader else "standby")
            self.assertIsNotNone(self.copsectl(address, "node", "list"), "it follows the standby's hint")


if __name__ == "__main__":
    for name, path in zip(("copse-planner", "copsed", "copsectl", "libcopse", "rank"), sys.argv[1:6]):
        PROGRAMS[name] = os.path.abspath(path)
    unittest.main(argv=[sys.argv[0]] + sys.argv[6:], verbosity=2)
