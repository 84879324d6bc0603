#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Two machines that boot with Copse's packages: systemd starts what was enabled, an allreduce runs in the units' sandbox.

Argument: tools/package. Needs root; the first run needs a Debian mirror.
"""

import json
import subprocess
import sys

from machines import PATIENCE_S, Machine, MachinesTest, main, must, until

MACHINES = {"alpha": "10.99.0.1", "beta": "10.99.0.2"}
PLANNER = "10.99.0.1:7470"
MULTIARCH = "x86_64-linux-gnu"
UNITS = ("copsed.service", "copse-planner.service")


def make_machine(name, root, packages):
    machine = Machine(name, MACHINES[name], root, packages)
    installed = must("systemctl", f"--root={machine.root}", "list-unit-files", "--no-pager", "cops*")
    assert installed.count(" disabled ") == 5, installed
    must("cc", "-o", f"{machine.root}/usr/local/bin/allreduce",
         f"{machine.root}/usr/share/doc/libcopse-dev/examples/allreduce.c", f"-I{machine.root}/usr/include",
         f"-L{machine.root}/usr/lib/{MULTIARCH}", "-lcopse")
    machine.write("/etc/copse/token", "a secret of this cluster\n", 0o400, "copse")
    # As docs/admin.md tells.
    machine.write("/etc/copse/copsed.yaml",
                  f"planner: {PLANNER}\ndata_listen: {machine.address}\ninsecure: true\njoin_token_file: /etc/copse/token\n")
    units = ["copsed.socket", "copsed.service"]
    if PLANNER.startswith(machine.address + ":"):
        machine.write("/etc/copse/planner.yaml", f"listen: {PLANNER}\ninsecure: true\njoin_token_file: /etc/copse/token\n")
        units.append("copse-planner.service")
    # So short that a watchdog which nobody serves shows.
    for unit in UNITS:
        machine.write(f"/etc/systemd/system/{unit}.d/test.conf", "[Service]\nWatchdogSec=2s\nTimeoutAbortSec=1s\n")
    machine.enable(*units)
    return machine


def as_alice(machine, *command, **environment):
    return machine.by("alice", *command, COPSE_TIMEOUT="20", **environment)


def ctl(machine, *arguments):
    return must(*as_alice(machine, "/usr/bin/copsectl", "-e", PLANNER, "--insecure", *arguments))


def connect_machines():
    for name in MACHINES:
        must("ip", "netns", "add", name)
    must("ip", "link", "add", "alpha0", "netns", "alpha", "type", "veth", "peer", "name", "beta0", "netns", "beta")
    for name, address in MACHINES.items():
        must("ip", "-n", name, "link", "set", "lo", "up")
        must("ip", "-n", name, "address", "add", f"{address}/24", "dev", f"{name}0")
        must("ip", "-n", name, "link", "set", f"{name}0", "up")


class BootTest(MachinesTest):
    """Machines are booted once."""

    units = ("copsed", "copse-planner")

    @classmethod
    def setUpClass(cls):
        connect_machines()
        cls.machines = [make_machine(name, cls.root, cls.packages) for name in MACHINES]
        cls.alpha, cls.beta = cls.machines
        cls.boot()
        cls.await_nodes()

    @classmethod
    def await_nodes(cls):
        until("both nodes to be ready", lambda: ctl(cls.alpha, "node", "list").count(" ready ") == 2)

    def allreduce(self, **environment):
        """Ranks 0 and 1 on alpha, 2 and 3 on beta."""
        ranks = []
        for rank in range(4):
            machine = self.machines[rank // 2]
            ranks.append(subprocess.Popen(
                as_alice(machine, "/usr/local/bin/allreduce", str(rank), "4", COPSE_JOB="boot", **environment),
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True))
        for rank, process in enumerate(ranks):
            said, _ = process.communicate(timeout=PATIENCE_S)
            self.assertEqual(process.returncode, 0, said)
            self.assertTrue(said.startswith(f"rank {rank} of 4: sum of ranks 6, last round 14 "), said)

    def all_units(self):
        return [(self.alpha, "copse-planner"), (self.alpha, "copsed"), (self.beta, "copsed")]

    def test_1_units_are_up(self):
        for machine, unit in self.all_units():
            self.assertEqual(machine.show(unit, "ActiveState"), "active")
        self.assertIn(PLANNER, self.beta.show("copsed", "StatusText"))

    def test_1_processes_are_confined(self):
        for machine, unit in self.all_units():
            pid = machine.show(unit, "MainPID")
            status = machine.must("cat", f"/proc/{pid}/status")
            copse = machine.must("id", "-u", "copse").strip()
            for line in (f"Uid:\t{copse}\t{copse}\t{copse}\t{copse}", "NoNewPrivs:\t1", "Seccomp:\t2",
                         "CapEff:\t0000000000000000", "CapBnd:\t0000000000000000"):
                self.assertIn(line, status, unit)
            mounts = machine.must("cat", f"/proc/{pid}/mounts")
            self.assertRegex(mounts, r"(?m)^\S+ / \S+ ro,", unit)

    def test_2_the_socket_of_prologs_is_the_operators(self):
        for machine in self.machines:
            self.assertEqual(machine.must("stat", "-c", "%G %a", "/run/copse/copsed.sock.admin").strip(), "copse-admin 660")

    def test_2_allreduce_by_the_abstract_socket(self):
        self.allreduce()

    def test_2_the_journal_has_fields(self):
        self.allreduce()
        said = self.alpha.must("journalctl", "--no-pager", "--output=json", "COPSE_JOB=boot", "_SYSTEMD_UNIT=copse-planner.service")
        record = json.loads(said.splitlines()[0])
        self.assertEqual(record["PRIORITY"], "6", record)
        self.assertIn(record["MESSAGE"], self.alpha.must("journalctl", "--no-pager", "--output=cat", f"COPSE_TEAM={record['COPSE_TEAM']}"))
        self.assertIn("beta", self.beta.must("journalctl", "--no-pager", "--output=cat", "COPSE_NODE=beta", "_SYSTEMD_UNIT=copsed.service"))

    def test_2_allreduce_by_the_path(self):
        self.allreduce(COPSE_SOCKET="/run/copse/copsed.sock")

    def test_3_a_dead_client_is_named(self):
        """What the daemon may read of other users' processes is enough to say who died."""
        lonely = subprocess.Popen(  # pylint: disable=consider-using-with
            as_alice(self.beta, "/usr/local/bin/allreduce", "0", "2", COPSE_JOB="lonely"), stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        until("a forming team", lambda: "forming" in ctl(self.alpha, "team", "list"))
        self.beta.must("pkill", "-KILL", "-x", "allreduce")
        lonely.communicate(timeout=PATIENCE_S)
        until("the end of it", lambda: "forming" not in ctl(self.alpha, "team", "list"))
        self.assertIn("(allreduce)", self.beta.must("journalctl", "--no-pager", "-u", "copsed"))

    def test_4_reload(self):
        for machine, unit in self.all_units():
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
        self.assertIn("data_listen", self.beta.must("journalctl", "--no-pager", "--priority=err", "-u", "copsed"))
        must("ip", "-n", "beta", "address", "add", f"{self.beta.address}/24", "dev", "beta0")
        until("readiness", lambda: self.beta.show("copsed", "ActiveState") == "active")
        self.await_nodes()
        self.allreduce()

    def test_90_the_watchdogs_were_served(self):
        """Nothing was restarted beyond what the tests above did."""
        self.assertEqual(self.alpha.show("copsed", "NRestarts"), "0")
        self.assertEqual(self.alpha.show("copse-planner", "NRestarts"), "0")

    def test_91_the_sandbox_is_not_in_the_way(self):
        for machine, unit in self.all_units():
            said = machine.must("journalctl", "--no-pager", "--quiet", f"_SYSTEMD_UNIT={unit}.service")
            self.assertNotIn("Operation not permitted", said)
            self.assertNotRegex(said, r"UCX +(WARN|ERROR)")

    def test_92_an_upgrade_restarts_nothing(self):
        before = [machine.show(unit, "MainPID") for machine, unit in self.all_units()]
        for machine in self.machines:
            machine.install(*machine.names)
        self.assertEqual([machine.show(unit, "MainPID") for machine, unit in self.all_units()], before)
        self.allreduce()

    def test_93_purge_leaves_nothing(self):
        self.beta.must("sh", "-c", "dpkg --purge $(dpkg-query -W -f '${Package}\\n' 'copse*' 'libcopse*')")
        self.assertNotIn("copse", self.beta.must("ps", "-e", "-o", "comm"))
        # What this test has put there, and the journal of what was.
        left = self.beta.must("sh", "-c", "find / -xdev -name '*cops*' -not -path '/var/packages/*' -not -path '/var/log/*' "
                              "-not -path '/proc/*' -not -path '/sys/*'").split()
        ours = {"/etc/copse", "/etc/systemd/system/copsed.service.d", "/etc/systemd/system/copse-planner.service.d"}
        self.assertEqual(set(left) - ours, set())
        self.assertEqual(self.beta.must("ls", "/etc/copse").split(), ["token"])

    def test_99_shutdown_is_orderly(self):
        for machine in self.machines:
            machine.power_off()
        for machine in self.machines:
            self.assertEqual(machine.container.wait(timeout=PATIENCE_S), 0)


if __name__ == "__main__":
    main(__file__, BootTest, sys.argv[1])
