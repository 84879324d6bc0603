#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A site: four machines that boot with Copse's packages, mutual TLS, Slurm and Prometheus, as the pages tell.

Users run an unmodified MPI program by `srun --copse`. Arguments: tools/package, allreduces.c. Needs root; the first run
needs a Debian mirror.
"""

import contextlib
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import urllib.parse

from machines import PATIENCE_S, REPOSITORY, Machine, MachinesTest, add_version, main, must, run, until

NODES = {f"n{i}": f"10.99.0.{i}" for i in range(1, 5)}
# It has the planner, Slurm's controller, Prometheus and copse-web as well.
HEAD = "n1"
PLANNER = f"{NODES[HEAD]}:7470"
PACKAGES = ("munge", "slurmctld", "slurmd", "slurm-client", "slurm-wlm-basic-plugins", "libopenmpi3", "libpmix-dev",
            "prometheus", "curl")
AUTHORITY = "/run/authority"
# They stand for what a later release has.
NEXT_VERSION = "99.0"
NEXT_SCHEMA = 99

SLURM_CONF = """
ClusterName=site
SlurmctldHost={head}
SlurmUser=slurm
AuthType=auth/munge
StateSaveLocation=/var/lib/slurm/slurmctld
SlurmdSpoolDir=/var/lib/slurm/slurmd
SlurmctldLogFile=/var/log/slurm/slurmctld.log
SlurmdLogFile=/var/log/slurm/slurmd.log
SlurmctldPidFile=/run/slurmctld.pid
SlurmdPidFile=/run/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
MpiDefault=pmix
ReturnToService=2
Prolog=/usr/lib/copse/slurm/prolog
EpilogSlurmctld=/usr/lib/copse/slurm/epilog
Epilog=/usr/lib/copse/slurm/epilog
HealthCheckProgram=/usr/lib/copse/slurm/health
HealthCheckInterval=300
NodeName=n[1-4] CPUs=4
PartitionName=all Nodes=n[1-4] Default=YES State=UP
"""
EXPORTER_CREDENTIALS = """
[Service]
LoadCredential=cert:/etc/copse/metrics.pem
LoadCredential=key:/etc/copse/metrics.key
Environment=COPSE_EXPORTER_TLS_CERT=%d/cert COPSE_EXPORTER_TLS_KEY=%d/key
"""
# There are no cgroups of version 1, and none of version 2 that have controllers.
CGROUP_CONF = "CgroupPlugin=cgroup/v1\nCgroupAutomount=no\n"
PROMETHEUS = """
global: {{scrape_interval: 1s}}
rule_files: [/usr/share/copse/alerts.yml]
scrape_configs:
  - job_name: copse
    scheme: https
    tls_config: {{ca_file: /etc/copse/ca.pem, cert_file: /etc/copse/prometheus.pem, key_file: /etc/copse/prometheus.key}}
    static_configs: [{{targets: [{exporters}]}}]
  - job_name: copse-web
    static_configs: [{{targets: ["127.0.0.1:7473"]}}]
"""


def connect_machines():
    must("ip", "netns", "add", "switch")
    must("ip", "-n", "switch", "link", "add", "bridge", "type", "bridge")
    must("ip", "-n", "switch", "link", "set", "bridge", "up")
    for name, address in NODES.items():
        must("ip", "netns", "add", name)
        must("ip", "-n", "switch", "link", "add", name, "master", "bridge", "type", "veth", "peer", "name", "eth0", "netns", name)
        must("ip", "-n", "switch", "link", "set", name, "up")
        must("ip", "-n", name, "link", "set", "lo", "up")
        must("ip", "-n", name, "address", "add", f"{address}/24", "dev", "eth0")
        must("ip", "-n", name, "link", "set", "eth0", "up")


def tls(certificate):
    return (f"tls_cert: /etc/copse/{certificate}.pem\ntls_key: /etc/copse/{certificate}.key\ntls_ca: /etc/copse/ca.pem\n"
            "tls_crl_dir: /etc/copse/crl\n")


def make_certificates(machine):
    """On the machine of the authority, which is none of the cluster: its program is in the package."""
    os.makedirs(AUTHORITY)
    ca = f"{machine.root}/usr/bin/copse-ca"
    for command in (["--domain", "site", "init"], ["planner", "p0"], ["node", *NODES], ["viewer", "prometheus", "slurm"], ["operator", "slurm"],
                    ["viewer", "metrics", "--hosts", ",".join(NODES)]):
        must(ca, *command, cwd=AUTHORITY)


def bring(machine, kind, name, user, as_name=None):
    """Puts a certificate and its key on the machine, as docs/admin.md tells."""
    for end, mode in ((".pem", 0o444), (".key", 0o400)):
        with open(f"{AUTHORITY}/copse-ca/{kind}/{name}{end}", encoding="ascii") as stream:
            machine.write(f"/etc/copse/{as_name or name}{end}", stream.read(), mode, user)


def configure(machine):
    """All but Slurm's and Prometheus's."""
    with open(f"{AUTHORITY}/copse-ca/ca.pem", encoding="ascii") as stream:
        machine.write("/etc/copse/ca.pem", stream.read())
    with open(f"{AUTHORITY}/copse-ca/crl/copse.pem", encoding="ascii") as stream:
        machine.write("/etc/copse/crl/copse.pem", stream.read())
    bring(machine, "node", machine.name, "copse")
    is_head = machine.name == HEAD
    bring(machine, "operator" if is_head else "viewer", "slurm", "slurm")
    # One file for all nodes.
    machine.write("/etc/copse/copsed.yaml", f"planner: {PLANNER}\ndata_listen: 10.99.0.0/24\n" + tls("%h"))
    machine.write("/etc/copse/slurm.env", f"COPSECTL_ENDPOINT={PLANNER}\nCOPSECTL_CERT=/etc/copse/slurm.pem\n"
                  "COPSECTL_KEY=/etc/copse/slurm.key\nCOPSECTL_CACERT=/etc/copse/ca.pem\n")
    units = ["copsed.socket", "copsed.service", "copse-exporter.service"]
    if is_head:
        bring(machine, "planner", "p0", "copse", "planner")
        machine.write("/etc/copse/planner.yaml", f"listen: {PLANNER}\n" + tls("planner"))
        units += ["copse-planner.service", "copse-web.service"]
    # Prometheus is on another machine.
    bring(machine, "viewer", "metrics", "root")
    machine.write("/etc/copse/exporter.yaml",
                  "listen: 0.0.0.0:7472\ntls_ca: /etc/copse/ca.pem\ntls_crl_dir: /etc/copse/crl\n")
    machine.write("/etc/systemd/system/copse-exporter.service.d/tls.conf", EXPORTER_CREDENTIALS)
    machine.enable(*units)


def configure_slurm(machine, munge_key):
    machine.write("/etc/slurm/slurm.conf", SLURM_CONF.format(head=HEAD))
    machine.write("/etc/slurm/cgroup.conf", CGROUP_CONF)
    machine.write("/etc/munge/munge.key", munge_key, 0o400, "munge")
    units = ["munge.service", "slurmd.service"] + (["slurmctld.service"] if machine.name == HEAD else [])
    machine.enable(*units)
    if machine.name != HEAD:
        must("systemctl", f"--root={machine.root}", "disable", "slurmctld.service")


def configure_prometheus(machine):
    """On the head. The exporters listen beyond loopback, where they ask for a certificate, as the page tells."""
    bring(machine, "viewer", "prometheus", "prometheus")
    exporters = ", ".join(f'"{name}:7472"' for name in NODES)
    machine.write("/etc/prometheus/prometheus.yml", PROMETHEUS.format(exporters=exporters))
    machine.enable("prometheus.service")


class SiteTest(MachinesTest):
    """The site is made once."""

    source = os.environ.get("PROGRAM")  # of the users' program
    units = ("copsed", "copse-planner", "copse-web", "copse-exporter", "slurmctld", "slurmd", "munge", "prometheus")

    @classmethod
    def setUpClass(cls):
        connect_machines()
        cls.machines = [Machine(name, address, cls.root, cls.packages) for name, address in NODES.items()]
        cls.head = cls.machines[0]
        make_certificates(cls.head)
        munge_key = os.urandom(64).hex()
        hosts = "127.0.0.1 localhost\n" + "".join(f"{address} {name}\n" for name, address in NODES.items())
        for machine in cls.machines:
            machine.write("/etc/hosts", hosts)
            configure(machine)
            configure_slurm(machine, munge_key)
            must("mpicc.openmpi", "-O2", "-o", f"{machine.root}/usr/local/bin/allreduces", cls.source)
            if machine is cls.head:
                configure_prometheus(machine)
            else:
                must("systemctl", f"--root={machine.root}", "disable", "prometheus.service")
        cls.boot()
        until("the nodes to be ready", lambda: cls.ctl("node", "list").count(" ready ") == len(NODES))
        until("Slurm's nodes to be idle", lambda: "idle 4" in cls.alice("sinfo", "-h", "-o", "%T %D"))

    @classmethod
    def alice(cls, *command, **environment):
        """Runs it as a user on the head."""
        return must(*cls.head.by("alice", *command, PATH="/usr/bin:/bin", **environment))

    @classmethod
    def ctl(cls, *arguments):
        """As a user on the planner's host, who has no certificate."""
        return cls.alice("copsectl", *arguments)

    def rows(self, *arguments):
        return json.loads(self.ctl("-w", "json", *arguments))

    def start_job(self, *options, seconds):
        return subprocess.Popen(
            self.head.by("alice", "srun", "-Q", *options, "/usr/local/bin/allreduces", str(seconds), PATH="/usr/bin:/bin",
                         HOME="/tmp", COPSE_MPI_STATS="1"),
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def end_of(self, job):
        said, _ = job.communicate(timeout=PATIENCE_S)
        self.assertEqual(job.returncode, 0, said)
        return said

    def allreduces(self):
        return {row["node"]: row["counters"].get("calls.allreduce.ok", 0) for row in self.rows("stats")}

    def get(self, url):
        """Asks a server on the head, from there."""
        return self.head.must("curl", "--silent", "--fail", "--show-error", url)

    def metrics(self, query):
        answer = json.loads(self.get("http://127.0.0.1:9090/api/v1/query?query=" + urllib.parse.quote(query)))
        return {row["metric"].get("instance", ""): float(row["value"][1]) for row in answer["data"]["result"]}

    # --- What a site sees ---

    def test_1_an_unmodified_program_is_offloaded_on_all_machines(self):
        before = self.allreduces()
        said = self.end_of(self.start_job("--copse=all", "-N4", "-n8", seconds=0))
        self.assertIn("ranks=8 wrong=0", said)
        self.assertRegex(said, r"MPI_Allreduce: offloaded [1-9]")
        after = self.allreduces()
        for name in NODES:
            self.assertGreater(after[name], before[name] + 50, name)

    def test_2_the_page_shows_the_job_while_it_runs(self):
        address = self.head.must("copsectl", "page").strip()
        cookies = "/run/cookies"
        self.head.must("curl", "--silent", "--fail", "--show-error", "--location", "--cookie-jar", cookies, "--output", "/dev/null", address)
        job = self.start_job("--copse=all", "-N4", "-n4", seconds=20)

        def shown():
            cluster = json.loads(self.head.must("curl", "--silent", "--fail", "--show-error", "--cookie", cookies,
                                                "http://127.0.0.1:7473/api/cluster"))
            teams = cluster.get("teams") or []
            return cluster if any(team["state"] == "ready" for team in teams) else None

        cluster = until("the page to show the job's team", shown)
        self.assertEqual(len(cluster["nodes"]), len(NODES))
        self.assertEqual(cluster["error"], "")
        if shutil.which("chromium"):
            self.expect_in_browser(address, f"{len(NODES)} ready", ">mpi-world<")
        self.end_of(job)

    def expect_in_browser(self, address, *texts):
        """The browser is this host's, in the head's network."""
        with tempfile.TemporaryDirectory() as home:
            page = run("ip", "netns", "exec", HEAD, "chromium", "--headless", "--no-sandbox", "--disable-gpu",
                       "--disable-dev-shm-usage", "--virtual-time-budget=5000", "--dump-dom", address,
                       env=dict(os.environ, HOME=home), timeout=PATIENCE_S).stdout
        for text in texts:
            self.assertIn(text, page)

    def test_3_prometheus_has_all_of_it(self):
        targets = until("all targets to be up", lambda: [up for up in [self.metrics("up")] if len(up) == len(NODES) + 1 and min(up.values()) == 1])
        self.assertEqual(set(targets[0]), {f"{name}:7472" for name in NODES} | {"127.0.0.1:7473"})
        self.assertEqual(set(self.metrics("copse_up").values()), {1.0})
        self.assertEqual(self.metrics("copse_planner_up"), {"127.0.0.1:7473": 1.0})
        calls = self.metrics('sum by (instance) (copse_call_duration_seconds_count{collective="allreduce",part="call"})')
        self.assertEqual(len(calls), len(NODES))
        self.assertGreater(min(calls.values()), 50)

    def test_4_strangers_are_refused(self):
        said = self.machines[1].try_run("curl", "--silent", "--fail", "--show-error", "--cacert", "/etc/copse/ca.pem",
                                        "https://n3:7472/metrics")
        self.assertIn("403", said.stdout)
        for arguments in (["--insecure"], []):
            said = run(*self.machines[1].by("alice", "copsectl", "-e", PLANNER, *arguments, "node", "list", PATH="/usr/bin:/bin"))
            self.assertNotEqual(said.returncode, 0)
            self.assertNotIn("ready", said.stdout)

    def test_5_a_node_that_slurm_drains_takes_no_teams(self):
        self.head.must("scontrol", "update", "nodename=n4", "state=drain", "reason=disk")
        until("a drained node", lambda: "drained" in self.alice("sinfo", "-h", "-n", "n4", "-o", "%T"))
        self.head.must("copse-slurm", "follow")
        self.assertIn("Slurm has drained it", self.ctl("node", "list"))
        self.head.must("scontrol", "update", "nodename=n4", "state=resume")
        until("an idle node", lambda: "idle" in self.alice("sinfo", "-h", "-n", "n4", "-o", "%T"))
        self.head.must("copse-slurm", "follow")
        self.assertNotIn("draining", self.ctl("node", "list"))

    def test_5_a_canceled_job_with_daemons_of_its_own_leaves_nothing(self):
        def left(machine):
            return set(machine.must("find", "/tmp", "/dev/shm", "/run", "-user", "alice").splitlines())

        def processes(machine):
            return machine.try_run("pgrep", "--euid", "alice", "--list-name").stdout

        before = {machine: left(machine) for machine in self.machines}
        job = subprocess.Popen(
            self.head.by("alice", "copse-run", "--daemons", "srun", "-Q", "-N4", "-n8", "/usr/local/bin/allreduces", "600",
                         PATH="/usr/bin:/bin", HOME="/tmp"),
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        until("its daemons", lambda: all("copsed" in processes(machine) for machine in self.machines))
        self.alice("scancel", "--user=alice")
        said, _ = job.communicate(timeout=PATIENCE_S)
        self.assertNotEqual(job.returncode, 0, said)
        for machine in self.machines:
            until(f"{machine.name} without the job's processes", lambda m=machine: not processes(m))
            self.assertEqual(left(machine), before[machine], machine.name)

    def version_of(self, machine):
        return machine.must("dpkg-query", "--showformat=${Version}", "--show", "copse-daemon")

    def test_6_nodes_are_upgraded_one_by_one_beside_a_job(self):
        """The job is on n1 and n2; the others are upgraded meanwhile."""
        job = self.start_job("--copse=all", "-w", "n1,n2", "-N2", "-n4", seconds=20)
        until("the job's team", lambda: any(team["state"] == "ready" for team in self.rows("team", "list")))
        for machine in self.machines[2:]:
            before = machine.show("copsed", "MainPID")
            self.head.must("copsectl", "node", "drain", "--wait", "--why", "upgrade", machine.name)
            add_version(machine.root + REPOSITORY, NEXT_VERSION)
            machine.install(*machine.names)
            self.assertEqual(self.version_of(machine), NEXT_VERSION)
            self.assertEqual(machine.show("copsed", "MainPID"), before)
            machine.must("systemctl", "restart", "copsed")
            self.assertNotEqual(machine.show("copsed", "MainPID"), before)
            self.head.must("copsectl", "node", "undrain", machine.name)
        until("the nodes to be ready", lambda: self.ctl("node", "list").count(" ready ") == len(NODES))
        said = self.end_of(job)
        self.assertIn("ranks=4 wrong=0", said)
        self.assertNotIn("failed", said)
        self.assertIn("ranks=8 wrong=0", self.end_of(self.start_job("--copse=all", "-N4", "-n8", seconds=0)))

    def test_7_a_node_goes_back_to_the_older_version(self):
        machine = self.machines[-1]
        older = self.version_of(self.head)
        self.head.must("copsectl", "node", "drain", "--wait", "--why", "downgrade", machine.name)
        machine.install(*(f"{name}={older}" for name in machine.names))
        self.assertEqual(self.version_of(machine), older)
        machine.must("systemctl", "restart", "copsed")
        self.head.must("copsectl", "node", "undrain", machine.name)
        until("the nodes to be ready", lambda: self.ctl("node", "list").count(" ready ") == len(NODES))
        self.assertIn("ranks=8 wrong=0", self.end_of(self.start_job("--copse=all", "-N4", "-n8", seconds=0)))

    def test_8_an_older_planner_refuses_a_newer_store(self):
        """In one line; nothing is lost. What the next version has written is a schema of its own."""
        until("the last job's epilogs", lambda: "idle 4" in self.alice("sinfo", "-h", "-o", "%T %D") and
              self.head.try_run("pgrep", "-f", "copse-slurm").returncode != 0)
        schema = self.set_schema(NEXT_SCHEMA)
        self.assertNotEqual(self.head.try_run("systemctl", "start", "copse-planner").returncode, 0)
        self.assertEqual(self.head.show("copse-planner", "ActiveState"), "failed")
        said = self.head.must("journalctl", "--quiet", "--output=cat", "--identifier=copse-planner")
        self.assertEqual(said.count(f"schema={NEXT_SCHEMA}"), 1, said)
        self.set_schema(schema)
        self.head.must("systemctl", "start", "copse-planner")
        until("the nodes to be ready", lambda: self.ctl("node", "list").count(" ready ") == len(NODES))

    def set_schema(self, schema):
        """Stops the planner and sets its store's. Returns what it was."""
        self.head.must("systemctl", "stop", "copse-planner")
        with contextlib.closing(sqlite3.connect(f"{self.head.root}/var/lib/copse/planner.sqlite")) as store:
            before = store.execute("PRAGMA user_version").fetchone()[0]
            store.execute(f"PRAGMA user_version={schema}")
            store.commit()
        return before

    def test_9_nothing_was_amiss(self):
        for machine in self.machines:
            self.assertEqual(machine.must("systemctl", "--failed", "--no-legend", "--no-pager"), "")
            # Slurm may start before copsed does, and looks at once.
            said = machine.must("journalctl", "--no-pager", "--quiet", "--identifier=copse-slurm", "--output=cat")
            self.assertEqual([line for line in said.splitlines() if "health: " not in line], [], machine.name)


if __name__ == "__main__":
    if not SiteTest.source:
        os.environ["PROGRAM"] = os.path.abspath(sys.argv[2])
    main(__file__, SiteTest, sys.argv[1], PACKAGES)
