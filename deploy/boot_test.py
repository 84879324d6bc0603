#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Two machines that boot with Copse's packages: systemd starts what was enabled, an allreduce runs in the units' sandbox.

Containers of systemd-nspawn on a Debian root that is made once and kept in /var/cache/copse. All that runs lives in
namespaces and one cgroup of this test. A reaper outside, which no signal to the test reaches, ends them when the test
has ended, however it did. Argument: tools/package. Needs root; the first run needs a Debian mirror.
"""

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

RELEASE = "bookworm"
# What Debian's minimal system lacks: init, and libraries that our programs link.
PACKAGES = ("systemd", "systemd-sysv", "dbus", "procps", "libgrpc++1.51", "libucx0", "libyaml-cpp0.7", "libsqlite3-0",
            "libhwloc15", "libcpp-httplib0.11", "libprometheus-cpp-core1.0", "openssl")
CACHE = "/var/cache/copse"
CGROUPS = "/sys/fs/cgroup"
MACHINES = {"alpha": "10.99.0.1", "beta": "10.99.0.2"}
PLANNER = "10.99.0.1:7470"
PATIENCE_S = 60
MULTIARCH = "x86_64-linux-gnu"
UNITS = ("copsed.service", "copse-planner.service")


def run(*command, **options):
    return subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          check=False, **options)


def must(*command, **options):
    result = run(*command, **options)
    if result.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: exit code {result.returncode}\n{result.stdout}")
    return result.stdout


def write(path, text, mode=0o644, owner=None):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as stream:
        stream.write(text)
    os.chmod(path, mode)
    if owner is not None:
        os.chown(path, owner, -1)


def until(what, condition):
    """Asks until the answer is true."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        answer = condition()
        if answer:
            return answer
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {PATIENCE_S} s for {what}")
        time.sleep(0.05)  # tidy: allow(sleep) because another machine's state gives no event here


# --- The root that both machines share, read-only ---


def debian_root():
    """Makes it unless it is there. None if it cannot be made."""
    name = hashlib.sha256(" ".join((RELEASE,) + PACKAGES).encode()).hexdigest()[:12]
    root = os.path.join(CACHE, f"boot_root-{name}")
    os.makedirs(CACHE, exist_ok=True)
    with open(os.path.join(CACHE, "lock"), "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if os.path.isdir(root):
            return root
        unfinished = os.path.join(CACHE, "unfinished")
        shutil.rmtree(unfinished, ignore_errors=True)
        made = run("debootstrap", "--variant=minbase", "--include=" + ",".join(PACKAGES), RELEASE, unfinished)
        if made.returncode != 0:
            shutil.rmtree(unfinished, ignore_errors=True)
            print(made.stdout[-2000:])
            return None
        os.rename(unfinished, root)
        return root


# --- The cgroup, and who removes it ---


def reap(name):
    """Makes the cgroup, and removes it with all that is in it when standard input ends. In a mount namespace."""
    must("mount", "--make-rprivate", "/")
    must("mount", "-t", "cgroup2", "cgroup2", CGROUPS)
    top = os.path.join(CGROUPS, name)
    os.makedirs(top)
    print("ready", flush=True)
    sys.stdin.read()
    for _ in range(1000):
        try:
            with open(os.path.join(top, "cgroup.kill"), "w", encoding="ascii") as stream:
                stream.write("1")
            for folder, _, _ in os.walk(top, topdown=False):
                os.rmdir(folder)
            return
        except OSError:
            time.sleep(0.01)  # tidy: allow(sleep) because processes that were killed end a little later


# --- A machine ---


class Machine:
    """One container: its files before it boots, then what runs in it."""

    def __init__(self, name, root, built):
        self.name = name
        self.address = MACHINES[name]
        self.root = f"/run/machines/{name}"
        self.leader = None
        self.container = None
        for folder in ("upper", "work"):
            os.makedirs(f"/run/overlay/{name}/{folder}")
        os.makedirs(self.root)
        must("mount", "-t", "overlay", "overlay", "-o",
             f"lowerdir={root},upperdir=/run/overlay/{name}/upper,workdir=/run/overlay/{name}/work", self.root)
        self.install(built)

    def install(self, built):
        self.install_packages(built)
        installed = must("systemctl", f"--root={self.root}", "list-unit-files", "--no-pager", "cops*")
        assert installed.count(" disabled ") == 5, installed
        must("cc", "-o", f"{self.root}/usr/local/bin/allreduce",
             f"{self.root}/usr/share/doc/libcopse-dev/examples/allreduce.c", f"-I{self.root}/usr/include",
             f"-L{self.root}/usr/lib/{MULTIARCH}", "-lcopse")
        write(f"{self.root}/etc/hostname", self.name + "\n")
        write(f"{self.root}/etc/sysusers.d/test.conf", "u alice - -\n")
        must("systemd-sysusers", f"--root={self.root}", "test.conf")
        with open(f"{self.root}/etc/passwd", encoding="ascii") as stream:
            copse = int(re.search(r"^copse:x:(\d+):", stream.read(), flags=re.M).group(1))
        write(f"{self.root}/etc/copse/token", "a secret of this cluster\n", 0o400, copse)
        # As docs/admin.md tells.
        write(f"{self.root}/etc/copse/copsed.yaml",
              f"planner: {PLANNER}\ndata_listen: {self.address}\ninsecure: true\njoin_token_file: /etc/copse/token\n")
        units = ["copsed.socket", "copsed.service"]
        if PLANNER.startswith(self.address + ":"):
            write(f"{self.root}/etc/copse/planner.yaml",
                  f"listen: {PLANNER}\ninsecure: true\njoin_token_file: /etc/copse/token\n")
            units.append("copse-planner.service")
        # So short that a watchdog which nobody serves shows.
        for unit in UNITS:
            write(f"{self.root}/etc/systemd/system/{unit}.d/test.conf", "[Service]\nWatchdogSec=2s\nTimeoutAbortSec=1s\n")
        must("systemctl", f"--root={self.root}", "enable", *units)

    def install_packages(self, built):
        folder = f"{self.root}/var/packages"
        must("cp", "-r", built, folder)
        must("chroot", self.root, "sh", "-c", "dpkg --install /var/packages/*.deb")

    def boot(self, cgroup):
        own = f"{cgroup}/{self.name}"
        os.makedirs(own)

        def enter():
            with open(f"{own}/cgroup.procs", "w", encoding="ascii") as stream:
                stream.write("0")

        self.container = subprocess.Popen(  # pylint: disable=consider-using-with,subprocess-popen-preexec-fn
            # From within the network namespace, for its /sys, where UCX looks for devices; that hides the cgroups.
            ["ip", "netns", "exec", self.name, "sh", "-c", f"mount -t cgroup2 cgroup2 {CGROUPS} && exec \"$@\"", "sh",
             "systemd-nspawn", "--quiet", "--boot", "--register=no", "--keep-unit", "--console=read-only",
             f"--network-namespace-path=/run/netns/{self.name}", f"--machine={self.name}", f"--directory={self.root}"],
            env=dict(os.environ, SYSTEMD_NSPAWN_UNIFIED_HIERARCHY="1"), stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, preexec_fn=enter)
        pid = self.container.pid
        children = f"/proc/{pid}/task/{pid}/children"

        def init_of_the_container():
            # systemd-nspawn has another child before, which makes this one and ends: this one is 1 where it lives.
            with open(children, encoding="ascii") as stream:
                for child in stream.read().split():
                    try:
                        with open(f"/proc/{child}/status", encoding="ascii") as status:
                            if re.search(r"^NSpid:.*\s1$", status.read(), flags=re.M):
                                return child
                    except (FileNotFoundError, ProcessLookupError):
                        pass
            return None

        self.leader = until(f"{self.name}'s init", init_of_the_container)

    def enter(self, *command):
        return ("nsenter", "-t", self.leader, "-m", "-u", "-i", "-n", "-p", *command)

    def try_run(self, *command):
        return run(*self.enter(*command))

    def must(self, *command):
        return must(*self.enter(*command))

    def show(self, unit, what):
        return self.must("systemctl", "show", unit, "--value", "--property", what).strip()

    def wait_booted(self):
        said = None

        def booted():
            nonlocal said
            said = self.try_run("systemctl", "is-system-running", "--wait").stdout.strip()
            return said in ("running", "degraded")

        try:
            until(f"{self.name} to boot", booted)
        except AssertionError as error:
            jobs = self.try_run("systemctl", "list-jobs", "--no-pager").stdout
            raise AssertionError(f"{error}: it is '{said}', and these jobs are not done:\n{jobs}") from error
        assert said == "running", self.must("systemctl", "--failed", "--no-pager")

    def as_alice(self, *command, **environment):
        words = [f"{key}={value}" for key, value in environment.items()]
        return self.enter("setpriv", "--reuid", "alice", "--regid", "alice", "--clear-groups", "env", "-i",
                          "COPSE_TIMEOUT=20", *words, *command)

    def ctl(self, *arguments):
        return must(*self.as_alice("/usr/bin/copsectl", "-e", PLANNER, "--insecure", *arguments))


def connect_machines():
    for name in MACHINES:
        must("ip", "netns", "add", name)
    must("ip", "link", "add", "alpha0", "netns", "alpha", "type", "veth", "peer", "name", "beta0", "netns", "beta")
    for name, address in MACHINES.items():
        must("ip", "-n", name, "link", "set", "lo", "up")
        must("ip", "-n", name, "address", "add", f"{address}/24", "dev", f"{name}0")
        must("ip", "-n", name, "link", "set", f"{name}0", "up")


class BootTest(unittest.TestCase):
    """In namespaces of its own. Machines are booted once; tests run in order of their names."""

    built = None
    root = None
    cgroup = None
    machines = []

    @classmethod
    def setUpClass(cls):
        connect_machines()
        cls.machines = [Machine(name, cls.root, cls.built) for name in MACHINES]
        cls.alpha, cls.beta = cls.machines
        for machine in cls.machines:
            machine.boot(cls.cgroup)
        for machine in cls.machines:
            machine.wait_booted()
        cls.await_nodes()

    @classmethod
    def report(cls):
        for machine in cls.machines:
            print(f"== {machine.name}")
            print(run("journalctl", "--no-pager", "--quiet", f"--directory={machine.root}/var/log/journal", "--output=short-precise",
                      "--unit=copsed", "--unit=copse-planner").stdout[-8000:])

    @classmethod
    def await_nodes(cls):
        until("both nodes to be ready", lambda: cls.alpha.ctl("node", "list").count(" ready ") == 2)

    def allreduce(self, **environment):
        """Ranks 0 and 1 on alpha, 2 and 3 on beta."""
        ranks = []
        for rank in range(4):
            machine = self.machines[rank // 2]
            ranks.append(subprocess.Popen(
                machine.as_alice("/usr/local/bin/allreduce", str(rank), "4", COPSE_JOB="boot", **environment),
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True))
        for rank, process in enumerate(ranks):
            said, _ = process.communicate(timeout=PATIENCE_S)
            self.assertEqual(process.returncode, 0, said)
            self.assertTrue(said.startswith(f"rank {rank} of 4: sum of ranks 6, last round 14 "), said)

    def units(self):
        return [(self.alpha, "copse-planner"), (self.alpha, "copsed"), (self.beta, "copsed")]

    def test_1_units_are_up(self):
        for machine, unit in self.units():
            self.assertEqual(machine.show(unit, "ActiveState"), "active")
        self.assertIn(PLANNER, self.beta.show("copsed", "StatusText"))

    def test_1_processes_are_confined(self):
        for machine, unit in self.units():
            pid = machine.show(unit, "MainPID")
            status = machine.must("cat", f"/proc/{pid}/status")
            copse = machine.must("id", "-u", "copse").strip()
            for line in (f"Uid:\t{copse}\t{copse}\t{copse}\t{copse}", "NoNewPrivs:\t1", "Seccomp:\t2",
                         "CapEff:\t0000000000000000", "CapBnd:\t0000000000000000"):
                self.assertIn(line, status, unit)
            mounts = machine.must("cat", f"/proc/{pid}/mounts")
            self.assertRegex(mounts, r"(?m)^\S+ / \S+ ro,", unit)

    def test_2_allreduce_by_the_abstract_socket(self):
        self.allreduce()

    def test_2_allreduce_by_the_path(self):
        self.allreduce(COPSE_SOCKET="/run/copse/copsed.sock")

    def test_3_a_dead_client_is_named(self):
        """What the daemon may read of other users' processes is enough to say who died."""
        lonely = subprocess.Popen(  # pylint: disable=consider-using-with
            self.beta.as_alice("/usr/local/bin/allreduce", "0", "2", COPSE_JOB="lonely"), stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        until("a forming team", lambda: "forming" in self.alpha.ctl("team", "list"))
        self.beta.must("pkill", "-KILL", "-x", "allreduce")
        lonely.communicate(timeout=PATIENCE_S)
        until("the end of it", lambda: "forming" not in self.alpha.ctl("team", "list"))
        self.assertIn("(allreduce)", self.beta.must("journalctl", "--no-pager", "-u", "copsed"))

    def test_4_reload(self):
        for machine, unit in self.units():
            machine.must("systemctl", "reload", unit)
            until(f"{unit} to have reloaded", lambda m=machine, u=unit: m.show(u, "ActiveState") == "active")

    def test_5_planner_restarts_with_its_state(self):
        self.alpha.must("systemctl", "restart", "copse-planner")
        self.await_nodes()
        self.assertEqual(self.alpha.must("stat", "-c", "%U", "/var/lib/copse/planner.sqlite").strip(), "copse")
        self.allreduce()

    def test_6_a_killed_daemon_comes_back(self):
        self.beta.must("systemctl", "kill", "--signal=KILL", "--kill-whom=main", "copsed")
        until("a restart", lambda: self.beta.show("copsed", "NRestarts") == "1")
        until("readiness", lambda: self.beta.show("copsed", "ActiveState") == "active")
        self.await_nodes()
        self.allreduce()

    def test_7_a_stuck_daemon_is_restarted_by_the_watchdog(self):
        self.beta.must("systemctl", "kill", "--signal=STOP", "--kill-whom=main", "copsed")
        until("a restart", lambda: self.beta.show("copsed", "NRestarts") == "2")
        until("readiness", lambda: self.beta.show("copsed", "ActiveState") == "active")
        self.await_nodes()
        self.allreduce()

    def test_8_a_client_starts_a_stopped_daemon_by_the_path(self):
        self.beta.must("systemctl", "stop", "copsed.service")
        self.assertEqual(self.beta.show("copsed", "Result"), "success")
        self.allreduce(COPSE_SOCKET="/run/copse/copsed.sock")
        self.assertEqual(self.beta.show("copsed", "ActiveState"), "active")

    def test_89_an_interface_that_comes_20_s_late(self):
        """As after a power cycle: the daemon is started again every 5 s until its address is there."""
        must("ip", "-n", "beta", "address", "del", f"{self.beta.address}/24", "dev", "beta0")
        self.beta.must("systemctl", "stop", "copsed.service")
        self.beta.try_run("systemctl", "start", "--no-block", "copsed.service")
        until("four failures", lambda: int(self.beta.show("copsed", "NRestarts")) >= 4)
        self.assertIn("data_listen", self.beta.must("journalctl", "--no-pager", "-u", "copsed"))
        must("ip", "-n", "beta", "address", "add", f"{self.beta.address}/24", "dev", "beta0")
        until("readiness", lambda: self.beta.show("copsed", "ActiveState") == "active")
        self.await_nodes()
        self.allreduce()

    def test_90_the_watchdogs_were_served(self):
        """Nothing was restarted beyond what the tests above did."""
        self.assertEqual(self.alpha.show("copsed", "NRestarts"), "0")
        self.assertEqual(self.alpha.show("copse-planner", "NRestarts"), "0")

    def test_91_the_sandbox_is_not_in_the_way(self):
        for machine, unit in self.units():
            said = machine.must("journalctl", "--no-pager", "--quiet", f"_SYSTEMD_UNIT={unit}.service")
            self.assertNotIn("Operation not permitted", said)
            self.assertNotRegex(said, r"UCX +(WARN|ERROR)")

    def test_92_an_upgrade_restarts_nothing(self):
        before = [machine.show(unit, "MainPID") for machine, unit in self.units()]
        for machine in self.machines:
            machine.must("sh", "-c", "dpkg --install /var/packages/*.deb")
        self.assertEqual([machine.show(unit, "MainPID") for machine, unit in self.units()], before)
        self.allreduce()

    def test_93_purge_leaves_nothing(self):
        self.beta.must("sh", "-c", "dpkg --purge $(dpkg-query -W -f '${Package}\\n' 'copse*' 'libcopse*')")
        self.assertNotIn("copsed", self.beta.must("ps", "-e", "-o", "comm"))
        # What this test has put there, and the journal of what was.
        left = self.beta.must("sh", "-c", "find / -xdev -name '*cops*' -not -path '/var/packages/*' -not -path '/var/log/*' "
                              "-not -path '/proc/*' -not -path '/sys/*'").split()
        ours = {"/etc/copse", "/etc/systemd/system/copsed.service.d", "/etc/systemd/system/copse-planner.service.d"}
        self.assertEqual(set(left) - ours, set())
        self.assertEqual(self.beta.must("ls", "/etc/copse").split(), ["token"])

    def test_99_shutdown_is_orderly(self):
        for machine in self.machines:
            os.kill(int(machine.leader), 38)  # SIGRTMIN+4: power off
        for machine in self.machines:
            self.assertEqual(machine.container.wait(timeout=PATIENCE_S), 0)


def inside(name, root, packages):
    """The test proper: in mount and process namespaces, in the cgroup."""
    must("mount", "--make-rprivate", "/")
    must("mount", "-t", "tmpfs", "-o", "mode=755", "tmpfs", "/run")
    must("mount", "-t", "cgroup2", "cgroup2", CGROUPS)
    with open(f"{CGROUPS}/{name}/cgroup.procs", "w", encoding="ascii") as stream:
        stream.write("0")
    BootTest.built = packages
    BootTest.root = root
    BootTest.cgroup = f"{CGROUPS}/{name}"
    suite = unittest.defaultTestLoader.loadTestsFromTestCase(BootTest)
    if unittest.TextTestRunner(verbosity=2, warnings="ignore").run(suite).wasSuccessful():
        return 0
    BootTest.report()
    return 1


def main(package):
    os.environ["PATH"] += ":/usr/local/sbin:/usr/sbin:/sbin"
    for program in ("systemd-nspawn", "debootstrap", "unshare", "nsenter", "ip", "cc", "dpkg-buildpackage", "dh", "help2man", "lintian"):
        if shutil.which(program) is None:
            print(f"SKIPPED: no {program} (tools/setup)")
            return 0
    if os.geteuid() != 0:
        print("SKIPPED: not root: containers need it")
        return 0
    root = debian_root()
    if root is None:
        print("SKIPPED: debootstrap cannot make a root here: no Debian mirror?")
        return 0
    packages = tempfile.mkdtemp()
    made = must(package, "--built", os.getcwd(), "--out", packages).split()
    must("lintian", "--fail-on", "error", *made)
    name = f"copse-boot-{os.getpid()}"
    me = [sys.executable, os.path.realpath(__file__)]
    with subprocess.Popen(["unshare", "--mount", *me, "--reap", name], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          start_new_session=True) as reaper:
        if reaper.stdout.readline() != b"ready\n":
            print("SKIPPED: no cgroup2 here")
            return 0
        code = subprocess.call(["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", *me, "--inside",
                                name, root, packages], stdin=subprocess.DEVNULL)
        reaper.stdin.close()
        reaper.wait()
    shutil.rmtree(packages)
    return code


if __name__ == "__main__":
    if sys.argv[1] == "--reap":
        reap(sys.argv[2])
    elif sys.argv[1] == "--inside":
        sys.exit(inside(*sys.argv[2:5]))
    else:
        sys.exit(main(sys.argv[1]))
