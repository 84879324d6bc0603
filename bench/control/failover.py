#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Measures what faults of planners and of etcd cost: three of each, and eight daemons with a team that makes calls.

Arguments: copse-planner, copsed, copsectl, libcopse.so.0, barrier_rank.py, planner_cluster.py, failover_rank.py, then the
case, the number of rounds, and a folder. Each round is written as a line of fields: "round seconds=S broken=N wrong=N
changes=N". The last line is "end", or "skipped: why", or "failed: why".

Planners, members of etcd and daemons have network namespaces of their own, on two bridges: one between planners and etcd,
one between planners and daemons. All are in a network, mount and process namespace of this program: nothing outlives it.
"""

import fcntl
import os
import shutil
import signal
import socket
import subprocess
import sys
import time

NAMES = ("copse-planner", "copsed", "copsectl", "libcopse", "barrier_rank", "planner_cluster", "failover_rank")
DAEMONS = 8
FAULT_S = 5  # how long faults last that pass by themselves
STALL_S = 3  # of etcd's disk
# Limits of one round: a new team is formed by then, or the round failed.
FORMED_S = 60
FIFREEZE, FITHAW = 0xC0045877, 0xC0045878
INSIDE = "COPSE_FAILOVER_DISKS"  # in the environment of the process inside of the namespaces


class Skipped(Exception):
    pass


def run(*words):
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Skipped(f"{' '.join(words)}: {done.stderr.strip()}")


# --- Places ---


def wait_and_thaw(disks):
    """Freezes the file systems whose folders come over the socket, for STALL_S each; ends with the other side."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    while True:
        message, folders, _, _ = socket.recv_fds(disks, 1, 1)
        if not message:
            return
        fcntl.ioctl(folders[0], FIFREEZE, 0)
        disks.send(b"f")
        time.sleep(STALL_S)  # tidy: allow(sleep) because it is how long the disk stalls
        fcntl.ioctl(folders[0], FITHAW, 0)
        os.close(folders[0])
        disks.send(b"t")


def enter_namespaces():
    """Goes on in namespaces of its own. A process outside thaws disks, so that a crash leaves none frozen."""
    if os.geteuid() != 0:
        raise Skipped("network namespaces need root")
    for program in ("etcd", "ip", "unshare", "mkfs.ext4"):
        if shutil.which(program) is None:
            raise Skipped(f"no program {program}")
    os.makedirs("/run/netns", exist_ok=True)
    ours, theirs = socket.socketpair()
    if os.fork() == 0:
        ours.close()
        os.setsid()
        wait_and_thaw(theirs)
        os._exit(0)
    theirs.close()
    os.set_inheritable(ours.fileno(), True)
    os.environ[INSIDE] = str(ours.fileno())
    os.execvp("unshare", ["unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", sys.executable,
                          *sys.argv])


class Rooms:
    """Places each planner and each member of etcd in a network namespace; daemons run beside this program."""

    def __init__(self):
        run("mount", "-t", "tmpfs", "none", "/run/netns")
        run("ip", "link", "set", "lo", "up")
        for bridge, net in (("stores", 1), ("nodes", 2)):
            run("ip", "link", "add", bridge, "type", "bridge")
            run("ip", "addr", "add", f"10.77.{net}.254/24", "dev", bridge)
            run("ip", "link", "set", bridge, "up")
        for i in range(3):
            self.connect(f"etcd{i}", "stores", f"10.77.1.{1 + i}")
            self.connect(f"planner{i}", "stores", f"10.77.1.{11 + i}")
            self.connect(f"planner{i}", "nodes", f"10.77.2.{1 + i}")
        self.planners = [f"10.77.2.{1 + i}:7470" for i in range(3)]
        self.peers = [f"10.77.1.{1 + i}:2380" for i in range(3)]
        self.members = [f"10.77.1.{1 + i}:2379" for i in range(3)]
        self.insecure = ["--set", "insecure=true"]

    @staticmethod
    def connect(place, bridge, address):
        if not os.path.exists(f"/run/netns/{place}"):
            run("ip", "netns", "add", place)
            run("ip", "-n", place, "link", "set", "lo", "up")
        run("ip", "link", "add", f"{place}-{bridge[0]}", "type", "veth", "peer", "name", bridge, "netns", place)
        run("ip", "link", "set", f"{place}-{bridge[0]}", "master", bridge, "up")
        run("ip", "-n", place, "addr", "add", f"{address}/24", "dev", bridge)
        run("ip", "-n", place, "link", "set", bridge, "up")

    @staticmethod
    def cut(place, bridge):
        """Makes packets vanish between the place and others on the bridge; nobody's link goes down."""
        run("ip", "link", "set", f"{place}-{bridge[0]}", "nomaster")

    @staticmethod
    def heal(place, bridge):
        run("ip", "link", "set", f"{place}-{bridge[0]}", "master", bridge)

    @staticmethod
    def enter(place):
        return [] if place == "daemons" else ["ip", "netns", "exec", place]


def make_disks(folder):
    """Gives each member of etcd a file system of its own, in a file."""
    for i in range(3):
        os.makedirs(f"{folder}/m{i}")
        with open(f"{folder}/m{i}.disk", "wb") as disk:
            disk.truncate(400 << 20)
        run("mkfs.ext4", "-q", f"{folder}/m{i}.disk")
        run("mount", "-o", "loop", f"{folder}/m{i}.disk", f"{folder}/m{i}")


# --- Rounds ---


class Bench:

    def __init__(self, programs, folder, lease_s):
        self.rooms = Rooms()
        make_disks(folder)
        self.programs = programs
        self.cluster = PlannerCluster(programs, folder, self.rooms, DAEMONS, lease_s)
        self.cluster.start_processes()
        self.disks = socket.socket(fileno=int(os.environ[INSIDE]))
        self.teams = 0
        self.turn = 0
        self.load = []
        self.start_load()
        self.probes = self.start_ranks("teams")
        for probe in self.probes:
            probe.stdout.readline()

    def start_ranks(self, kind):
        script = self.programs["failover_rank"]
        return [self.cluster.start_rank(script, i, kind, str(i), str(DAEMONS)) for i in range(DAEMONS)]

    def start_load(self):
        self.load = self.start_ranks("load")
        for rank in self.load:
            if not rank.stdout.readline():
                raise AssertionError("the team of all daemons was not formed")

    def form_team(self):
        """Forms a team of all daemons, and tries again until it is formed. Returns how many results were wrong."""
        deadline = time.monotonic() + FORMED_S
        while time.monotonic() < deadline:
            self.teams += 1
            for probe in self.probes:
                probe.stdin.write(f"new{self.teams}\n")
                probe.stdin.flush()
            answers = [probe.stdout.readline() for probe in self.probes]
            if "" in answers:
                return 1  # a rank ended: its result was wrong
            if all(answer == "formed\n" for answer in answers):
                return 0
        raise AssertionError(f"no new team within {FORMED_S} s: {answers}")

    def ended_load(self):
        """Returns the numbers of broken teams and of wrong results since the last round, and starts the load again."""
        codes = [rank.poll() for rank in self.load]
        if all(code is None for code in codes):
            return 0, 0
        for rank in self.load:
            rank.wait(60)
        self.start_load()
        return 1, sum(rank == 3 for rank in codes)

    def etcd_leader(self):
        return until("etcd's leader", lambda: [i for i in [self.cluster.etcd_leader()] if i is not None])[0]

    def place_of(self, planner):
        return f"planner{list(self.cluster.planners).index(planner)}"

    def round(self, case):
        cluster = self.cluster
        until("all planners", lambda: len(cluster.roles()) == 3)
        until("all daemons", cluster.all_are_ready)
        until("etcd", cluster.etcd_is_healthy)
        leader = cluster.leader()
        begun = time.monotonic()
        heal = CASES[case][0](self, leader)
        wrong = self.form_team()
        seconds = time.monotonic() - begun
        time.sleep(max(0, CASES[case][1] - seconds))  # tidy: allow(sleep) because it is how long the fault lasts
        if heal is not None:
            heal()
        until("etcd", cluster.etcd_is_healthy)
        until("all daemons", cluster.all_are_ready)
        changes = int(cluster.leader() != leader)
        broken, wrong_load = self.ended_load()
        # A planner that does not lead any more has ended, or is about to.
        if changes:
            try:
                cluster.planners[leader].wait(30)
            except subprocess.TimeoutExpired as error:
                raise AssertionError("the former leader did not end") from error
        cluster.restart_ended_planners()
        return f"round seconds={seconds:.3f} broken={broken} wrong={wrong + wrong_load} changes={changes}"


# Faults get the bench and the leader; what they return heals them.


def kill_planner(bench, leader):
    bench.cluster.planners[leader].kill()


def stop_planner(bench, leader):
    planner = bench.cluster.planners[leader]
    planner.send_signal(signal.SIGSTOP)
    return lambda: planner.send_signal(signal.SIGCONT)


def cut_planner(bench, leader, bridge):
    bench.rooms.cut(bench.place_of(leader), bridge)
    return lambda: bench.rooms.heal(bench.place_of(leader), bridge)


def cut_planner_for_a_while(bench, leader):
    """Heals the cut while the team is being formed: the leader still leads, and nobody else can."""
    place = bench.place_of(leader)
    bench.rooms.cut(place, "nodes")
    subprocess.Popen(["sh", "-c", f"sleep {FAULT_S}; ip link set {place}-n master nodes"])


def kill_member(bench, _):
    bench.turn += 1
    return end_member(bench, bench.turn % 3)


def kill_etcd_leader(bench, _):
    return end_member(bench, bench.etcd_leader())


def end_member(bench, index):
    bench.cluster.members[index].kill()
    bench.cluster.members[index].wait()
    return lambda: bench.cluster.start_member(index)


def stall_disk(bench, _):
    index = bench.etcd_leader()
    folder = os.open(f"{bench.cluster.folder}/m{index}", os.O_RDONLY)
    socket.send_fds(bench.disks, [b"f"], [folder])
    os.close(folder)
    bench.disks.recv(1)  # it is frozen now
    return lambda: bench.disks.recv(1)


# Fault, the seconds that it lasts, and the planners' lease in seconds.
CASES = {
    "kill": (kill_planner, 0, 2),
    "stop": (stop_planner, FAULT_S, 2),
    "cut-from-etcd": (lambda bench, leader: cut_planner(bench, leader, "stores"), FAULT_S, 2),
    "cut-from-daemons": (cut_planner_for_a_while, FAULT_S, 2),
    "member": (kill_member, 0, 2),
    "etcd-leader": (kill_etcd_leader, 0, 10),
    "disk": (stall_disk, STALL_S, 10),
}


def main(case, rounds, folder):
    try:
        if INSIDE not in os.environ:
            enter_namespaces()
        bench = Bench(PROGRAMS, folder, CASES[case][2])
        try:
            for _ in range(int(rounds)):
                print(bench.round(case), flush=True)
        finally:
            bench.cluster.end()
        print("end", flush=True)
    except Skipped as why:
        print(f"skipped: {why}", flush=True)
    except AssertionError as why:
        print(f"failed: {why}", flush=True)


if __name__ == "__main__":
    PROGRAMS = dict(zip(NAMES, (os.path.abspath(path) for path in sys.argv[1:8])))
    sys.path.insert(0, os.path.dirname(PROGRAMS["planner_cluster"]))
    os.environ["PYTHONPATH"] = os.path.dirname(PROGRAMS["barrier_rank"])
    from planner_cluster import PlannerCluster, until
    main(*sys.argv[8:])
