#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What Slurm runs of Copse beside a job: copse-slurm as prolog, epilog and health check, and what follows Slurm. Needs root.

Arguments: planner_cluster.py, copse-slurm, barrier_rank.py, libcopse.so.0, copsed, copse-planner, copsectl.
"""

import os
import signal
import socket
import subprocess
import sys
import time
import unittest

INSIDE = sys.argv[1] == "--inside"
FILES = [os.path.abspath(path) for path in sys.argv[2 if INSIDE else 1:][:7]]
sys.path.insert(0, os.path.dirname(FILES[0]))

from slurm_cluster import NODES, USER, SlurmCluster, must, run_in_namespaces, until, write  # pylint: disable=wrong-import-position

RANK, LIBRARY = FILES[2:4]
PROGRAMS = {os.path.basename(path): path for path in FILES[4:]}
SECONDS_MAX = 2
# Where what they say can be seen: Slurm gives its programs no arguments and no environment of ours.
WRAPPER = """#!/bin/sh
export COPSE_SLURM_ENV={folder}/slurm.env
echo "${{SLURM_JOB_ID-none}} ${{SLURM_JOB_UID-none}}" >>{folder}/{verb}.ran
exec {bin}/{verb} 2>>{folder}/{verb}.said
"""
ENVIRONMENT = """
COPSECTL_ENDPOINT={planner}
if [ -n "$SLURMD_NODENAME" ]; then COPSE_SLURM_DAEMON=$(cat {folder}/$SLURMD_NODENAME.admin); fi
"""
SLURM_CONF = """
Prolog={folder}/run_prolog
PrologFlags=Alloc
EpilogSlurmctld={folder}/run_epilog
Epilog={bin}/epilog
HealthCheckProgram={folder}/run_health
HealthCheckInterval=4
TopologyPlugin=topology/tree
"""


class ScriptsTest(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        cls.slurm = SlurmCluster(PROGRAMS)
        cls.addClassCleanup(cls.slurm.end)
        cls.folder = cls.slurm.folder
        cls.bin = cls.slurm.install("bin", FILES[1], PROGRAMS["copsectl"])
        cls.rank = cls.slurm.install("rank", RANK, LIBRARY)
        for verb in ("prolog", "epilog", "health"):
            os.symlink("copse-slurm", f"{cls.bin}/{verb}")
            write(f"{cls.folder}/run_{verb}", WRAPPER.format(folder=cls.folder, bin=cls.bin, verb=verb), 0o755)
            for kind in ("said", "ran"):
                write(f"{cls.folder}/{verb}.{kind}", "")
        os.mkdir(f"{cls.folder}/etc")
        write(f"{cls.folder}/etc/topology.conf", "SwitchName=leaf1 Nodes=n1\nSwitchName=leaf2 Nodes=n2\nSwitchName=top Switches=leaf[1-2]\n")
        cls.slurm.start_copse()
        write(f"{cls.folder}/slurm.env", ENVIRONMENT.format(planner=cls.slurm.planner, folder=cls.folder))
        for node in NODES:
            write(f"{cls.folder}/{node}.admin", cls.slurm.admin[node])
        cls.slurm.start_slurm(more=SLURM_CONF.format(folder=cls.folder, bin=cls.bin))

    def said(self, verb, kind="said"):
        with open(f"{self.folder}/{verb}.{kind}", encoding="utf-8") as file:
            return file.read()

    def program(self, *words, **environment):
        """Runs copse-slurm, and asserts that it does not take longer than it may. Returns its code and what it said."""
        before = time.monotonic()
        done = subprocess.run([f"{self.bin}/copse-slurm", *words], env={"COPSE_SLURM_ENV": f"{self.folder}/slurm.env",
                                                                        "SLURM_CONF": f"{self.folder}/etc/slurm.conf", **environment},
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        self.assertLess(time.monotonic() - before, SECONDS_MAX + 0.5, done.stderr)  # and what a busy machine adds
        return done.returncode, done.stderr

    def expect_job_to_run(self):
        done = self.slurm.run("srun", "-Q", "-N2", "-n2", "true")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(set(self.slurm.run("sinfo", "-h", "-N", "-o", "%T").stdout.split()) & {"drained", "draining", "down"}, set())

    # --- prolog and health ---

    def test_well_daemons_are_no_news(self):
        before = self.said("prolog"), self.said("epilog")
        self.expect_job_to_run()
        job = self.said("prolog", "ran").splitlines()[-1]
        self.assertRegex(job, r"^\d+ \d+$")
        until("the epilog", lambda: job in self.said("epilog", "ran"))
        self.assertEqual((self.said("prolog"), self.said("epilog")), before)

    def test_a_daemon_that_hangs_is_told_of_and_fails_no_job(self):
        self.slurm.daemons["n1"].send_signal(signal.SIGSTOP)
        self.addCleanup(self.slurm.daemons["n1"].send_signal, signal.SIGCONT)
        before = self.said("prolog")
        self.expect_job_to_run()
        told = self.said("prolog")[len(before):]
        self.assertRegex(told, r"^copse-slurm: job \d+: .*node=n1.*\n$")
        before = self.said("health")
        until("the health check", lambda: "node=n1" in self.said("health")[len(before):])
        self.assertNotIn("node=n2", self.said("health")[len(before):])

    def test_a_daemon_that_is_not_there_is_told_of_and_fails_no_job(self):
        self.slurm.stop_daemon("n2")
        before = self.said("prolog")
        self.expect_job_to_run()
        self.assertIn("node=n2", self.said("prolog")[len(before):])
        self.slurm.start_daemon("n2")
        write(f"{self.folder}/n2.admin", self.slurm.admin["n2"])

    def test_without_settings_it_asks_the_daemon_at_its_usual_address(self):
        settings = {"COPSE_SLURM_ENV": f"{self.folder}/gone"}
        self.assertEqual(self.program("prolog", SLURM_JOB_ID="1", **settings), (0, ""))
        self.assertEqual(self.program("health", **settings), (0, ""))

    # --- epilog ---

    def team_of(self, job):
        """Starts a rank that has a team of its own, and stays. Returns the team's row."""
        rank = self.slurm.start(*USER, sys.executable, f"{self.rank}/{os.path.basename(RANK)}",
                                f"{self.rank}/{os.path.basename(LIBRARY)}", f"{self.folder}/n1.socket", f"team{job}", "0", "1",
                                env=dict(os.environ, COPSE_JOB=str(job)), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(rank.kill)
        return until("a team", lambda: [row for row in self.slurm.ctl("team", "list", "--job", str(job)) if row["state"] == "ready"])[0]

    def state_of(self, team):
        return [row["state"] for row in self.slurm.ctl("team", "list") if row["id"] == team["id"]]

    def test_the_epilog_breaks_what_the_job_has_left_and_nothing_else(self):
        uid = self.slurm.run("id", "-u").stdout.strip()
        left, others = self.team_of(77001), self.team_of(77002)
        self.assertEqual(self.program("epilog", SLURM_JOB_ID="77001", SLURM_JOB_UID="12345"), (0, ""))
        self.assertEqual(self.state_of(left), ["ready"])  # it was another user's job of that number
        self.assertEqual(self.program("epilog", SLURM_JOB_ID="77001", SLURM_JOB_UID=uid), (0, ""))
        until("the team to break", lambda: self.state_of(left) in (["broken"], []))
        self.assertEqual(self.state_of(others), ["ready"])

    def test_prolog_and_epilog_open_and_close_the_jobs_account(self):
        uid = self.slurm.run("id", "-u").stdout.strip()
        rank = self.team_of(77005)
        socket_path = f"{self.folder}/n1.socket.admin"
        settings = f"COPSE_SLURM_DAEMON={self.slurm.admin['n1']}\nCOPSE_SLURM_SOCKET={socket_path}\n"
        write(f"{self.folder}/other.env", settings)
        job = {"SLURM_JOB_ID": "77005", "SLURM_JOB_UID": uid, "SLURMD_NODENAME": "n1", "SLURM_JOB_OVERSUBSCRIBE": "NO",
               "COPSE_SLURM_ENV": f"{self.folder}/other.env"}
        self.assertEqual(self.program("prolog", **job), (0, ""))
        self.assertEqual(self.program("epilog", **job), (0, ""))
        self.assertEqual(self.state_of(rank), ["ready"], "it is of no control group of Slurm's")
        self.slurm.daemons["n1"].send_signal(signal.SIGSTOP)
        self.addCleanup(self.slurm.daemons["n1"].send_signal, signal.SIGCONT)
        for verb in ("prolog", "epilog"):
            code, said = self.program(verb, **job)
            self.assertEqual((code, len(said.splitlines())), (0, 1), said)
            self.assertIn("77005", said)

    def test_the_epilog_of_a_node_removes_what_ended_daemons_of_the_user_have_left(self):
        uid = int(self.slurm.run("id", "-u").stdout)
        job = {"SLURM_JOB_ID": "77004", "SLURM_JOB_UID": str(uid), "SLURMD_NODENAME": "n1"}
        home = self.slurm.home
        an_hour_ago = time.time() - 3600
        for name, owner, age in (("ended", uid, an_hour_ago), ("serving", uid, an_hour_ago), ("starting", uid, time.time()),
                                 ("foreign", 12345, an_hour_ago)):
            os.mkdir(f"{home}/copse-run-{name}", 0o700)
            write(f"{home}/copse-run-{name}/key.pem", "")
            if name == "serving":
                listener = socket.socket(socket.AF_UNIX)
                self.addCleanup(listener.close)
                listener.bind(f"{home}/copse-run-{name}/copsed.sock")
                listener.listen()
            os.chown(f"{home}/copse-run-{name}", owner, -1)
            os.utime(f"{home}/copse-run-{name}", (age, age))
        os.symlink("/etc", f"{home}/copse-run-link")
        write(f"{self.folder}/other.env", f"COPSE_RUN_DIR={home}\n")
        self.assertEqual(self.program("epilog", COPSE_SLURM_ENV=f"{self.folder}/other.env", **job), (0, ""))
        self.assertEqual(sorted(name for name in os.listdir(home) if name.startswith("copse-run-")),
                         ["copse-run-foreign", "copse-run-link", "copse-run-serving", "copse-run-starting"])
        write(f"{self.folder}/other.env", "COPSE_RUN_DIR=/nowhere\n")
        code, said = self.program("epilog", COPSE_SLURM_ENV=f"{self.folder}/other.env", **job)
        self.assertEqual(code, 0)
        self.assertIn("folder=/nowhere", said)

    def test_an_epilog_without_a_planner_succeeds(self):
        uid = {"SLURM_JOB_ID": "77003", "SLURM_JOB_UID": "65534"}
        for planner in ("127.0.0.1:1", "10.98.0.77:7470"):  # one that refuses, and one that is not there
            write(f"{self.folder}/other.env", f"COPSECTL_ENDPOINT={planner}\nCOPSECTL_INSECURE=1\n")
            code, said = self.program("epilog", COPSE_SLURM_ENV=f"{self.folder}/other.env", **uid)
            self.assertEqual((code, len(said.splitlines())), (0, 1), said)
            self.assertIn("77003", said)

    def test_what_makes_no_sense_is_a_line_and_no_failure(self):
        for variables in ({}, {"SLURM_JOB_ID": "1; false", "SLURM_JOB_UID": "0"}, {"SLURM_JOB_ID": "--all", "SLURM_JOB_UID": "0"}):
            code, said = self.program("epilog", **variables)
            self.assertEqual((code, len(said.splitlines())), (0, 1), said)
        for text in ("if (\n", "exit 3\n", "set -eu\n$NOTHING\n", "COPSE_SLURM_DAEMON=nowhere\n"):
            write(f"{self.folder}/other.env", text)
            self.assertEqual(self.program("prolog", SLURM_JOB_ID="1", COPSE_SLURM_ENV=f"{self.folder}/other.env")[0], 0, text)
        for words in ((), ("begin",), ("follow", "--all")):
            code, said = self.program(*words)
            self.assertEqual((code, len(said.splitlines())), (2, 1), said)

    # --- follow ---

    def drains(self):
        return {row["name"]: row.get("why", "") for row in self.slurm.ctl("node", "list") if row["state"] == "draining"}

    def follow(self, *words):
        code, said = self.program("follow", *words)
        self.assertEqual(code, 0, said)

    def scontrol(self, node, state):
        must("scontrol", "update", f"nodename={node}", f"state={state}", "reason=test", env=self.slurm.environment)

    def state_in_slurm(self, node):
        return self.slurm.run("sinfo", "-h", "-n", node, "-o", "%T").stdout.strip()

    def test_nodes_drain_when_slurm_has_drained_them_and_return_with_it(self):
        job = subprocess.Popen([*USER, "srun", "-Q", "-w", "n1", "sleep", "600"], env=self.slurm.environment, cwd=self.slurm.home)
        until("the job to run", lambda: self.state_in_slurm("n1") == "mixed")
        self.slurm.ctl("node", "drain", "n2", "--why", "new disk")
        self.scontrol("n1", "drain")
        self.follow()
        self.assertEqual(self.drains(), {"n2": "new disk"})  # n1's job may still form teams
        job.send_signal(signal.SIGTERM)
        job.wait()
        until("n1 to be drained", lambda: self.state_in_slurm("n1") == "drained")
        self.follow()
        self.follow()
        self.assertEqual(self.drains(), {"n1": "Slurm has drained it", "n2": "new disk"})
        self.scontrol("n1", "undrain")
        self.follow()
        self.assertEqual(self.drains(), {"n2": "new disk"})
        self.slurm.ctl("node", "undrain", "n2")
        until("Slurm to hear of n1", lambda: self.state_in_slurm("n1") == "idle")  # "idle*" so far

    def test_the_topology_is_slurms_if_that_is_wanted(self):
        self.follow()
        self.assertTrue(self.slurm.ctl("topo", "show")["is_default"])
        self.follow("--topology")
        self.assertEqual({row["name"] for row in self.slurm.ctl("topo", "show")["switches"]}, {"leaf1", "leaf2", "top"})
        versions = self.slurm.ctl("topo", "list")
        self.follow("--topology")
        self.assertEqual(self.slurm.ctl("topo", "list"), versions)


if __name__ == "__main__":
    if INSIDE:
        unittest.main(argv=sys.argv[:1] + sys.argv[9:], verbosity=2)
    if os.geteuid() != 0:
        print("SKIPPED: slurmd needs root")
        sys.exit(0)
    sys.exit(run_in_namespaces(os.path.abspath(__file__), *FILES, *sys.argv[8:]))
