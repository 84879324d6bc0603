# SPDX-License-Identifier: Apache-2.0
"""Slurm on this machine, for tests: munged, slurmctld and two slurmds, each node with a copsed, in namespaces of their own."""

import glob
import json
import os
import shutil
import subprocess
import sys
import tempfile

from planner_cluster import PATIENCE_S, Processes, until

# Servers are not where tests look.
os.environ["PATH"] += ":/usr/sbin:/sbin"

NODES = ("n1", "n2")
ADMIN = {"n1": "127.0.0.1:7471", "n2": "127.0.0.1:0"}  # one has the default
HOST = "slurmtest"
# getaddrinfo finds no address, not even loopback's, on a host that has no other.
ADDRESS = "10.98.0.1/24"
FREEZER = "/sys/fs/cgroup/freezer"
USER_NAME = "nobody"
USER = ("setpriv", "--reuid", USER_NAME, "--regid", "nogroup", "--clear-groups")

SLURM_CONF = """
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket={folder}/munge/socket
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmdLogFile={folder}/slurmd-%n.log
ProctrackType={proctrack}
TaskPlugin=task/none
TaskProlog={folder}/task_prolog
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
ReturnToService=2
SlurmdTimeout=15
PlugStackConfig={folder}/etc/plugstack.conf
{more}
NodeName=n1 NodeHostname={host} NodeAddr=127.0.0.1 Port=17001 CPUs=4
NodeName=n2 NodeHostname={host} NodeAddr=127.0.0.1 Port=17002 CPUs=4
PartitionName=all Nodes=n[1-2] Default=YES State=UP
"""
CGROUP_CONF = """
CgroupPlugin=cgroup/v1
CgroupAutomount=no
CgroupMountpoint={folder}/cgroup
"""
# Both nodes are this host: each task is told of its node's daemon, unless its job has daemons of its own.
TASK_PROLOG = """#!/bin/sh
[ -n "$COPSE_SOCKET" ] || echo "export COPSE_SOCKET={folder}/$SLURMD_NODENAME.socket"
"""


def run_in_namespaces(script, *arguments):
    """Runs the script again, with "--inside" first, as root of namespaces and a freezer cgroup of its own. Returns its exit code."""
    group = f"{FREEZER}/copse-slurm-{os.getpid()}"
    has_freezer = os.path.isdir(FREEZER)
    if has_freezer:
        os.makedirs(group)

    def enter():
        if has_freezer:
            with open(f"{group}/cgroup.procs", "w", encoding="ascii") as stream:
                stream.write("0")

    code = subprocess.run(  # pylint: disable=subprocess-popen-preexec-fn
        ["unshare", "--net", "--mount", "--uts", "--pid", "--cgroup", "--fork", "--kill-child", "--mount-proc",
         sys.executable, script, "--inside", *arguments], preexec_fn=enter, stdin=subprocess.DEVNULL, check=False).returncode
    if has_freezer:
        for folder, _, _ in os.walk(group, topdown=False):
            os.rmdir(folder)
    return code


def write(path, text, mode=0o644):
    with open(path, "w", encoding="utf-8") as stream:
        stream.write(text)
    os.chmod(path, mode)


def must(*command, **options):
    return subprocess.run(command, check=True, stdin=subprocess.DEVNULL, **options)


class SlurmCluster(Processes):
    """The caller calls start, and end at last. `programs` has the paths of copsed, copse-planner and copsectl."""

    def __init__(self, programs):
        super().__init__(tempfile.mkdtemp(prefix="copse-slurm-", dir="/tmp"))
        os.chmod(self.folder, 0o755)
        self.home = f"{self.folder}/home"
        os.mkdir(self.home)
        shutil.chown(self.home, USER_NAME)
        self.programs = programs
        self.planner = None
        self.daemons = {}
        self.admin = {}  # addresses of the daemons
        self.environment = {"PATH": os.environ["PATH"], "SLURM_CONF": f"{self.folder}/etc/slurm.conf"}
        self._make_network()

    def install(self, where, *files):
        """Copies files into a folder that every user can read. Returns the folder."""
        folder = f"{self.folder}/{where}"
        os.makedirs(folder, exist_ok=True)
        for file in files:
            shutil.copy(file, folder)
        return folder

    # --- Slurm ---

    def start_slurm(self, more="", plugstack=""):
        """Starts Slurm with `more` lines of slurm.conf, and that plugstack.conf; returns when both nodes are idle."""
        proctrack = "proctrack/linuxproc"
        os.makedirs(f"{self.folder}/cgroup/freezer")
        if subprocess.run(["mount", "-t", "cgroup", "-o", "freezer", "cgroup", f"{self.folder}/cgroup/freezer"],
                          check=False).returncode == 0:
            proctrack = "proctrack/cgroup"
        for folder in ("etc", "state", "munge"):
            os.makedirs(f"{self.folder}/{folder}", exist_ok=True)
        values = {"folder": self.folder, "host": HOST, "more": more, "proctrack": proctrack}
        write(f"{self.folder}/etc/slurm.conf", SLURM_CONF.format(**values))
        write(f"{self.folder}/etc/cgroup.conf", CGROUP_CONF.format(**values))
        write(f"{self.folder}/task_prolog", TASK_PROLOG.format(**values), 0o755)
        self.write_plugstack(plugstack)
        self._start_munge()
        self.start("slurmctld", "-D", env=self.environment)
        for node in NODES:
            self.start("slurmd", "-D", "-N", node, env=self.environment)
        until("idle nodes", lambda: "idle 2" in self.run("sinfo", "-h", "-o", "%T %D").stdout)

    def _make_network(self):
        must("ip", "link", "set", "lo", "up")
        must("ip", "link", "add", "slurm0", "type", "veth", "peer", "name", "slurm1")
        must("ip", "address", "add", ADDRESS, "dev", "slurm0")
        for link in ("slurm0", "slurm1"):
            must("ip", "link", "set", link, "up")
        must("hostname", HOST)
        write(f"{self.folder}/hosts", f"127.0.0.1 localhost {HOST}\n")
        must("mount", "--bind", f"{self.folder}/hosts", "/etc/hosts")

    def _start_munge(self):
        folder = f"{self.folder}/munge"
        os.chmod(folder, 0o711)
        with open(f"{folder}/key", "wb") as key:
            key.write(os.urandom(1024))
        os.chmod(f"{folder}/key", 0o400)
        self.start("munged", "--foreground", "--force", f"--socket={folder}/socket", f"--key-file={folder}/key",
                   f"--pid-file={folder}/pid", f"--log-file={folder}/log", f"--seed-file={folder}/seed")
        until("munged", lambda: os.path.exists(f"{folder}/socket"))

    def write_plugstack(self, text):
        """Slurm reads it at each launch."""
        write(f"{self.folder}/etc/plugstack.conf", text)

    def run(self, *command, **environment):
        """Runs a command by an unprivileged user, with its standard error apart."""
        return subprocess.run([*USER, *command], env=dict(self.environment, **environment), stdin=subprocess.DEVNULL,
                              cwd=self.home, capture_output=True, text=True, check=False, timeout=PATIENCE_S)

    def log_of(self, node):
        """Returns what the node's slurmd, and its slurmstepds, have logged."""
        with open(f"{self.folder}/slurmd-{node}.log", encoding="utf-8", errors="replace") as log:
            return log.read()

    def logs(self):
        """Returns what all processes have said."""
        text = ""
        for path in glob.glob(f"{self.folder}/*.log"):
            with open(path, encoding="utf-8", errors="replace") as log:
                text += log.read()
        return text

    # --- Copse ---

    def ctl(self, *arguments):
        """Returns the answer of copsectl."""
        return json.loads(subprocess.run([self.programs["copsectl"], "-e", self.planner, "-w", "json", *arguments], check=True,
                                         capture_output=True).stdout)

    def start_copse(self):
        _, self.planner = self.start_serving(self.programs["copse-planner"], "--set", "listen=127.0.0.1:0")
        for node in NODES:
            self.start_daemon(node)

    def start_daemon(self, node):
        self.daemons[node], self.admin[node] = self.start_serving(
            self.programs["copsed"], "--set", f"node={node}", "--set", f"planner={self.planner}", "--set",
            f"socket={self.folder}/{node}.socket", "--set", f"admin_listen={ADMIN[node]}", "--set", f"run_dir={self.folder}")

    def stop_daemon(self, node):
        self.daemons[node].kill()
        self.daemons[node].wait()

    def end(self):
        super().end()
        subprocess.run(["umount", f"{self.folder}/cgroup/freezer"], stderr=subprocess.DEVNULL, check=False)
        shutil.rmtree(self.folder)
