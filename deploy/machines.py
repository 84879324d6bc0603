# SPDX-License-Identifier: Apache-2.0
"""Machines that boot with Copse's packages, for tests.

Containers of systemd-nspawn on a Debian root that is made once and kept in /var/cache/copse. All that runs lives in
namespaces and one cgroup of the test. A reaper outside, which no signal to the test reaches, ends them when the test
has ended, however it did. Needs root; the first run needs a Debian mirror.
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

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "testbed", "script"))
from planner_cluster import PATIENCE_S, until  # pylint: disable=wrong-import-position

RELEASE = "bookworm"
# What Debian's minimal system lacks: init, and libraries that our programs link.
PACKAGES = ("systemd", "systemd-sysv", "dbus", "procps", "libgrpc++1.51", "libucx0", "libyaml-cpp0.7", "libsqlite3-0",
            "libhwloc15", "libcpp-httplib0.11", "libprometheus-cpp-core1.0", "openssl")
CACHE = "/var/cache/copse"
CGROUPS = "/sys/fs/cgroup"
NEEDED = ("systemd-nspawn", "debootstrap", "unshare", "nsenter", "ip", "cc", "dpkg-buildpackage", "dpkg-scanpackages", "dh", "help2man",
          "lintian")
# Where a machine has the repository of Copse's packages.
REPOSITORY = "/var/packages"


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


# --- The repository of Copse's packages ---


def packages_in(folder):
    """Returns the packages' names."""
    return sorted(file.split("_")[0] for file in os.listdir(folder) if file.endswith(".deb"))


def index(folder):
    """Makes the folder a repository for apt, of all versions that are in it."""
    must("sh", "-c", "dpkg-scanpackages --multiversion . >Packages", cwd=folder)


def add_version(folder, version):
    """Adds each package once more, as of `version`."""
    for file in [file for file in os.listdir(folder) if file.endswith(".deb")]:
        name, old, architecture = file.split("_")
        with tempfile.TemporaryDirectory() as work:
            must("dpkg-deb", "--raw-extract", f"{folder}/{file}", f"{work}/package")
            control = f"{work}/package/DEBIAN/control"
            with open(control, encoding="utf-8") as stream:
                text = stream.read()
            write(control, text.replace(old, version))
            must("dpkg-deb", "-Znone", "--build", f"{work}/package", f"{folder}/{name}_{version}_{architecture}")
    index(folder)


# --- The root that all machines share, read-only ---


def debian_root(more):
    """Makes it, with `more` packages, unless it is there. None if it cannot be made."""
    name = hashlib.sha256(" ".join((RELEASE,) + PACKAGES + more).encode()).hexdigest()[:12]
    root = os.path.join(CACHE, f"boot_root-{name}")
    os.makedirs(CACHE, exist_ok=True)
    with open(os.path.join(CACHE, "lock"), "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if os.path.isdir(root):
            return root
        unfinished = os.path.join(CACHE, "unfinished")
        shutil.rmtree(unfinished, ignore_errors=True)
        made = run("debootstrap", "--variant=minbase", "--include=" + ",".join(PACKAGES), RELEASE, unfinished)
        if made.returncode == 0 and more:
            # debootstrap knows no alternatives and no versions.
            made = run("chroot", unfinished, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "install", "--yes",
                       "--no-install-recommends", *more)
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


def start_container(cgroup, name, *arguments, before=(), **options):
    """Starts systemd-nspawn, in a cgroup of its own below `cgroup`. Returns the process."""
    own = f"{cgroup}/{name}"
    os.makedirs(own)

    def enter():
        with open(f"{own}/cgroup.procs", "w", encoding="ascii") as stream:
            stream.write("0")

    return subprocess.Popen(  # pylint: disable=subprocess-popen-preexec-fn
        [*before, "systemd-nspawn", "--quiet", "--register=no", "--keep-unit", f"--machine={name}", *arguments],
        env=dict(os.environ, SYSTEMD_NSPAWN_UNIFIED_HIERARCHY="1"), stdin=subprocess.DEVNULL, preexec_fn=enter, **options)


class Machine:
    """One container, with Copse's packages: its files before it boots, then what runs in it."""

    def __init__(self, name, address, root, packages):
        self.name = name
        self.address = address
        self.root = f"/run/machines/{name}"
        self.leader = None
        self.container = None
        for folder in ("upper", "work"):
            os.makedirs(f"/run/overlay/{name}/{folder}")
        os.makedirs(self.root)
        must("mount", "-t", "overlay", "overlay", "-o",
             f"lowerdir={root},upperdir=/run/overlay/{name}/upper,workdir=/run/overlay/{name}/work", self.root)
        must("cp", "-r", packages, f"{self.root}{REPOSITORY}")
        self.write("/etc/apt/sources.list", f"deb [trusted=yes] file:{REPOSITORY} ./\n")
        self.names = packages_in(packages)
        self.install(*self.names)
        self.write("/etc/hostname", name + "\n")
        self.write("/etc/sysusers.d/test.conf", "u alice - -\n")
        must("systemd-sysusers", f"--root={self.root}", "test.conf")

    def install(self, *packages):
        """Installs from the repository, `NAME` or `NAME=VERSION`; before the machine boots or while it runs."""
        enter = self.enter if self.leader is not None else lambda *command: ("chroot", self.root, *command)
        must(*enter("apt-get", "update", "--quiet"))
        must(*enter("env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "install", "--yes", "--quiet",
                    "--no-install-recommends", "--allow-downgrades", "--reinstall", *packages))

    # --- Before it boots ---

    def write(self, path, text, mode=0o644, user=None):
        write(self.root + path, text, mode, None if user is None else self.id_of(user))

    def id_of(self, user):
        with open(f"{self.root}/etc/passwd", encoding="ascii") as stream:
            return int(re.search(rf"^{user}:x:(\d+):", stream.read(), flags=re.M).group(1))

    def enable(self, *units):
        must("systemctl", f"--root={self.root}", "enable", *units)

    def boot(self, cgroup):
        self.container = start_container(
            cgroup, self.name, "--boot", "--console=read-only", f"--network-namespace-path=/run/netns/{self.name}",
            f"--directory={self.root}", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            # From within the network namespace, for its /sys, where UCX looks for devices; that hides the cgroups.
            before=("ip", "netns", "exec", self.name, "sh", "-c", f"mount -t cgroup2 cgroup2 {CGROUPS} && exec \"$@\"", "sh"))
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

    # --- While it runs ---

    def enter(self, *command):
        return ("nsenter", "-t", self.leader, "-m", "-u", "-i", "-n", "-p", *command)

    def try_run(self, *command):
        return run(*self.enter(*command))

    def must(self, *command):
        return must(*self.enter(*command))

    def by(self, user, *command, **environment):
        """Returns the command that runs another one by this user."""
        words = [f"{key}={value}" for key, value in environment.items()]
        return self.enter("setpriv", "--reuid", user, "--regid", user, "--clear-groups", "env", "-i", *words, *command)

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

    def journal(self, *units):
        return run("journalctl", "--no-pager", "--quiet", f"--directory={self.root}/var/log/journal",
                   "--output=short-precise", *(f"--unit={unit}" for unit in units)).stdout

    def power_off(self):
        os.kill(int(self.leader), 38)  # SIGRTMIN+4


class MachinesTest(unittest.TestCase):
    """Tests that run in namespaces of their own, in order of their names. setUpClass makes and boots the machines."""

    packages = None  # the folder with Copse's
    root = None
    cgroup = None
    machines = []
    units = ()  # whose journals are shown after a failure

    @classmethod
    def boot(cls):
        for machine in cls.machines:
            machine.boot(cls.cgroup)
        for machine in cls.machines:
            machine.wait_booted()

    @classmethod
    def report(cls):
        for machine in cls.machines:
            print(f"== {machine.name}")
            print(machine.journal(*cls.units)[-8000:])


def _inside(test, name, root, packages):
    """The test proper: in mount and process namespaces, in the cgroup."""
    must("mount", "--make-rprivate", "/")
    must("mount", "-t", "tmpfs", "-o", "mode=755", "tmpfs", "/run")
    must("mount", "-t", "cgroup2", "cgroup2", CGROUPS)
    with open(f"{CGROUPS}/{name}/cgroup.procs", "w", encoding="ascii") as stream:
        stream.write("0")
    test.packages = packages
    test.root = root
    test.cgroup = f"{CGROUPS}/{name}"
    suite = unittest.defaultTestLoader.loadTestsFromTestCase(test)
    if unittest.TextTestRunner(verbosity=2, warnings="ignore").run(suite).wasSuccessful():
        return 0
    test.report()
    return 1


def _outside(script, package, more):
    os.environ["PATH"] += ":/usr/local/sbin:/usr/sbin:/sbin"
    for program in NEEDED:
        if shutil.which(program) is None:
            print(f"SKIPPED: no {program} (tools/setup)")
            return 0
    if os.geteuid() != 0:
        print("SKIPPED: not root: containers need it")
        return 0
    root = debian_root(more)
    if root is None:
        print("SKIPPED: debootstrap cannot make a root here: no Debian mirror?")
        return 0
    packages = tempfile.mkdtemp()
    if package is not None:
        made = must(package, "--built", os.getcwd(), "--out", packages).split()
        must("lintian", "--fail-on", "error", *made)
        index(packages)
    name = f"copse-boot-{os.getpid()}"
    me = [sys.executable, os.path.realpath(script)]
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


def main(script, test, package=None, more=()):
    """Runs the tests of class `test` on machines with `more` packages of Debian, and those that `package`, tools/package, makes."""
    if sys.argv[1] == "--reap":
        reap(sys.argv[2])
    elif sys.argv[1] == "--inside":
        sys.exit(_inside(test, *sys.argv[2:5]))
    else:
        sys.exit(_outside(script, package, tuple(more)))
