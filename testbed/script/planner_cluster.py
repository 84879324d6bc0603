# SPDX-License-Identifier: Apache-2.0
"""Planners that share an etcd of three members, with daemons: processes of one machine, for tests and benchmarks."""

import json
import os
import socket
import subprocess
import sys
import time
import urllib.request

PATIENCE_S = 60
MEMBERS = 3
PLANNERS = 3


def until(what, condition, pause=0.05):
    """Asks until the answer is true, and returns it."""
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


class Loopback:
    """Places all processes on this host, with free ports of 127.0.0.1."""

    def __init__(self):
        addresses = [f"127.0.0.1:{port}" for port in free_ports(PLANNERS + 2 * MEMBERS)]
        self.planners = addresses[:PLANNERS]
        self.peers = addresses[PLANNERS:PLANNERS + MEMBERS]
        self.members = addresses[PLANNERS + MEMBERS:]
        self.insecure = []

    @staticmethod
    def enter(_):
        """Returns the words before a command that make it run at the place of that name."""
        return []


class Processes:
    """Runs processes whose standard errors are N.log in the folder. The caller calls end at last."""

    def __init__(self, folder):
        self.folder = folder
        self.processes = []

    def start(self, *command, **options):
        with open(f"{self.folder}/{len(self.processes)}.log", "w", encoding="utf-8") as log:
            process = subprocess.Popen(command, stderr=log, **options)
        self.processes.append(process)
        return process

    def start_serving(self, program, *arguments):
        """Starts a program that writes its address to --port-file. Returns it, and the address."""
        port_file = f"{self.folder}/{len(self.processes)}.port"
        process = self.start(program, "--port-file", port_file, *arguments)

        def address():
            assert process.poll() is None, f"{program} has ended"
            if not os.path.exists(port_file):
                return ""
            with open(port_file, encoding="ascii") as file:
                return file.read().strip()

        return process, until(program, address)

    def end(self):
        for process in self.processes:
            if process.poll() is None:
                process.kill()
                process.wait()
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    pipe.close()


class PlannerCluster(Processes):
    """Runs three members of etcd, three planners and `daemon_count` daemons. The caller calls start, and end at last.

    `programs` has the paths of copse-planner, copsed and copsectl; `places` says where the processes run.
    """

    def __init__(self, programs, folder, places, daemon_count=2, lease_s=2):
        super().__init__(folder)
        self.programs = programs
        self.places = places
        self.lease_s = lease_s
        self.copseds = []
        self.planners = {address: None for address in places.planners}
        self.etcd = places.members
        cluster = ",".join(f"m{i}=http://{peer}" for i, peer in enumerate(places.peers))
        self.commands = [(*places.enter(f"etcd{i}"), "etcd", f"--name=m{i}", f"--data-dir={folder}/m{i}/data",
                          f"--listen-client-urls=http://{places.members[i]}",
                          f"--advertise-client-urls=http://{places.members[i]}",
                          f"--listen-peer-urls=http://{places.peers[i]}",
                          f"--initial-advertise-peer-urls=http://{places.peers[i]}", f"--initial-cluster={cluster}",
                          "--logger=zap") for i in range(MEMBERS)]
        self.members = []
        self.daemons = [f"@planners-{os.getpid()}-{i}" for i in range(daemon_count)]

    def start_processes(self):
        for i in range(MEMBERS):
            os.makedirs(f"{self.folder}/m{i}", exist_ok=True)
        self.members = [self.start(*command) for command in self.commands]
        until("etcd", self.etcd_is_healthy)
        for address in self.planners:
            self.start_planner(address)
        for i, name in enumerate(self.daemons):
            self.copseds.append(
                self.start(*self.places.enter("daemons"), self.programs["copsed"], "--set", f"node=n{i}", "--set",
                           "planner=" + ",".join(self.planners), "--set", f"socket={name}", "--set",
                           "admin_listen=127.0.0.1:0", "--set", f"run_dir={self.folder}", *self.places.insecure))
        until("all nodes", self.all_are_ready)

    # --- etcd ---

    def start_member(self, index):
        self.members[index] = self.start(*self.commands[index])

    @staticmethod
    def ask_member(member, path, body=None):
        """Returns what a member of etcd answers, or None."""
        try:
            with urllib.request.urlopen(f"http://{member}{path}", data=body, timeout=2) as answer:
                return json.load(answer)
        except OSError:
            return None

    def etcd_is_healthy(self):
        return all((self.ask_member(member, "/health") or {}).get("health") == "true" for member in self.etcd)

    def etcd_leader(self):
        """Returns the index of the member that leads etcd, or None."""
        for index, member in enumerate(self.etcd):
            status = self.ask_member(member, "/v3/maintenance/status", b"{}")
            if status and status.get("leader") == status["header"]["member_id"]:
                return index
        return None

    # --- Planners ---

    def start_planner(self, address):
        place = f"planner{list(self.planners).index(address)}"
        self.planners[address] = self.start(*self.places.enter(place), self.programs["copse-planner"], "--set",
                                            f"listen={address}", "--set", f"store=etcd://{','.join(self.etcd)}/copse",
                                            "--set", f"lease={self.lease_s}s", *self.places.insecure)

    def restart_ended_planners(self):
        for address, planner in self.planners.items():
            if planner.poll() is not None:
                self.start_planner(address)

    def copsectl(self, endpoints, *verb):
        insecure = ["--insecure"] if self.places.insecure else []
        done = subprocess.run([self.programs["copsectl"], *insecure, "-e", endpoints, "-w", "json", *verb],
                              capture_output=True, check=False)
        return json.loads(done.stdout) if done.returncode == 0 and done.stdout else None

    def ready_nodes(self):
        rows = self.copsectl(",".join(self.planners), "node", "list") or []
        rows = rows if isinstance(rows, list) else rows.get("nodes", [])
        return sum(row["state"] == "ready" for row in rows)

    def all_are_ready(self):
        return self.ready_nodes() == len(self.daemons)

    def roles(self):
        """Returns the role of each planner that answers, by address."""
        statuses = {address: self.copsectl(address, "planner", "status") for address in self.planners}
        return {address: status["role"] for address, status in statuses.items() if status}

    def leader(self):
        return until("a leader", lambda: [address for address, role in self.roles().items() if role == "leader"])[0]

    # --- Ranks ---

    def start_rank(self, script, daemon, *arguments):
        return self.start(*self.places.enter("daemons"), sys.executable, script, self.programs["libcopse"],
                          self.daemons[daemon], *arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


class Authority:
    """copse-ca in a folder, with certificates of planner p0, of nodes, and of administrator tester."""

    def __init__(self, copse_ca, folder, nodes):
        self.copse_ca, self.folder = copse_ca, f"{folder}/ca"
        for words in (("init",), ("planner", "p0"), ("node", *nodes), ("admin", "tester")):
            self.run(*words)

    def run(self, *words):
        subprocess.run([self.copse_ca, "--dir", self.folder, "--domain", "lab", *words], check=True,
                       stdout=subprocess.DEVNULL)

    def settings(self, name):
        """Returns what gives a program this identity, such as `node/n1`."""
        files = {"cert": f"{name}.pem", "key": f"{name}.key", "ca": "ca.pem", "crl_dir": "crl"}
        return [word for key, file in files.items() for word in ("--set", f"tls_{key}={self.folder}/{file}")]

    def ask(self, copsectl, planner, *verb):
        """Returns what the administrator is answered."""
        admin = f"{self.folder}/administrator/tester"
        run = subprocess.run([copsectl, "-e", planner, "--cert", f"{admin}.pem", "--key", f"{admin}.key", "--cacert",
                              f"{self.folder}/ca.pem", "-w", "json", *verb],
                             capture_output=True, check=True, timeout=PATIENCE_S)
        return json.loads(run.stdout)
