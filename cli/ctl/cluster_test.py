#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""copsectl against a planner and two daemons, with a team in the middle of a call.

Arguments: copsectl, copse-planner, copsed, libcopse.so.0, testbed/script/barrier_rank.py and planner_cluster.py.
"""

import json
import os
import secrets
import socket
import stat
import subprocess
import sys
import tarfile
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(sys.argv[6])))
from planner_cluster import PATIENCE_S, until

PROGRAMS = {}


class Cluster:
    """A planner, nodes n1 and n2, and a team with ranks 0 and 1 on n1, 2 and 3 on n2."""

    def __init__(self, folder):
        self.folder = folder
        self.processes = []
        self.token = secrets.token_hex(16)
        self.token_file = os.path.join(folder, "token")
        with open(os.open(self.token_file, os.O_CREAT | os.O_WRONLY, 0o400), "w", encoding="ascii") as stream:
            stream.write(self.token + "\n")
        self.endpoint = self.start("copse-planner", "planner", "--set", "listen=127.0.0.1:0", "--set",
                                   f"join_token_file={self.token_file}")
        self.daemons = [self.start_daemon(name) for name in ("n1", "n2")]
        self.ranks = [self.start_rank(rank) for rank in range(4)]
        for rank in self.ranks:
            self.expect(rank, "ready")

    def start(self, program, name, *arguments):
        port_file = os.path.join(self.folder, name + ".port")
        with open(os.path.join(self.folder, name + ".log"), "wb") as log:
            self.processes.append(subprocess.Popen(
                [PROGRAMS[program], "--config", "/dev/null", "--port-file", port_file, *arguments],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log))
        until(f"{name} to be ready", lambda: os.path.exists(port_file))
        with open(port_file, encoding="utf-8") as stream:
            return stream.read().strip()

    def socket_of(self, name):
        return f"@copse-ctl-test-{os.getpid()}-{name}"

    def start_daemon(self, name):
        return self.start("copsed", name, "--set", f"node={name}", "--set", f"planner={self.endpoint}", "--set",
                          f"join_token_file={self.token_file}", "--set",
                          f"socket={self.socket_of(name)}", "--set", "admin_listen=127.0.0.1:0")

    def start_rank(self, rank, team="world", size=4):
        process = subprocess.Popen(
            [sys.executable, PROGRAMS["rank"], PROGRAMS["libcopse"],
             self.socket_of("n1" if rank < size // 2 else "n2"), team, str(rank), str(size)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.processes.append(process)
        return process

    @staticmethod
    def expect(rank, word):
        said = rank.stdout.readline().decode().strip()
        assert said == word, (said, word)

    def enter(self, *ranks, calls=1):
        for rank in ranks:
            self.ranks[rank].stdin.write(f"{calls}\n".encode())
            self.ranks[rank].stdin.flush()

    def stop(self):
        for process in reversed(self.processes):
            process.kill()
            process.wait()
            for stream in (process.stdin, process.stdout):
                if stream:
                    stream.close()


class ClusterTest(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="ctl")  # pylint: disable=consider-using-with
        cls.addClassCleanup(cls.folder.cleanup)
        cls.cluster = None
        try:
            cls.cluster = Cluster(cls.folder.name)
        except BaseException:
            for name in sorted(os.listdir(cls.folder.name)):
                if name.endswith(".log"):
                    with open(os.path.join(cls.folder.name, name), encoding="utf-8") as log:
                        print(f"== {name}\n{log.read()}")
            raise
        cls.addClassCleanup(cls.cluster.stop)

    def run_ctl(self, *arguments, endpoint=None):
        return subprocess.run([PROGRAMS["copsectl"], "-e", endpoint or self.cluster.endpoint, *arguments],
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              timeout=PATIENCE_S, check=False)

    def text(self, *arguments):
        run = self.run_ctl(*arguments)
        self.assertEqual((run.returncode, run.stderr), (0, ""), arguments)
        return run.stdout

    def json(self, *arguments, endpoint=None):
        run = self.run_ctl(*arguments, "-w", "json", endpoint=endpoint)
        self.assertEqual((run.returncode, run.stderr), (0, ""), arguments)
        return json.loads(run.stdout)

    def keys(self, value, names):
        self.assertEqual(set(names.split()) - set(value), set(), value)

    def fails(self, code, *arguments, says):
        run = self.run_ctl(*arguments)
        self.assertEqual((run.returncode, run.stdout), (code, ""), run.stderr)
        self.assertTrue(run.stderr.startswith("copsectl: "), run.stderr)
        self.assertEqual(run.stderr.count("\n"), 1, run.stderr)
        self.assertIn(says, run.stderr)

    def team(self):
        return [team for team in self.json("team", "list") if team["name"] == "world"][0]

    def plans(self):
        return self.json("plan", "list", "--team", "world")

    def test_nodes(self):
        nodes = self.json("node", "list")
        self.assertEqual([(node["name"], node["state"], node["ranks"]) for node in nodes],
                         [("n1", "ready", 2), ("n2", "ready", 2)])
        keys = "name state incarnation address version ranks last_seen_s"
        self.keys(nodes[0], keys)
        node = self.json("node", "show", "n2")
        self.keys(node, keys + " clients teams counters")
        self.assertEqual((node["answered"], node["clients"], node["teams"]), (True, 2, 1))
        self.assertIn("n1", self.text("node", "list"))
        self.assertIn("engine.frames.sent", self.text("node", "show", "n1"))
        self.fails(1, "node", "show", "n9", says="n9")

    def test_drain(self):
        self.text("node", "drain", "n2")
        self.assertEqual(self.json("node", "show", "n2")["state"], "draining")
        self.text("node", "undrain", "n2")
        self.assertEqual(self.json("node", "show", "n2")["state"], "ready")
        self.fails(1, "node", "drain", "n9", says="n9")

    def test_drain_that_waits(self):
        self.fails(4, "node", "drain", "n2", "--wait", "--why", "disk swap", "--timeout", "0.5", says="node=n2, clients=2, teams=1")
        self.assertEqual(self.json("node", "show", "n2")["why"], "disk swap")
        self.assertIn("disk swap", self.text("node", "list"))
        self.text("node", "undrain", "n2")
        self.assertEqual(self.json("node", "show", "n2")["why"], "")

    def test_jobs_and_waiting_for_teams(self):
        self.assertEqual(self.json("team", "wait", "world")["state"], "ready")
        self.assertEqual(self.json("team", "wait", "4711", "--state", "gone")["state"], "gone")
        self.fails(4, "team", "wait", "world", "--state", "gone", "--timeout", "0.5", says="state=ready, wanted=gone")
        self.fails(2, "team", "wait", "world", "--state", "happy", says="state=happy")
        self.fails(3, "team", "wait", "world", "--timeout", "0.5", "-e", "127.0.0.1:1", says="127.0.0.1:1")
        (job,) = self.json("job", "list")
        self.assertEqual((job["uid"], job["nodes"], job["teams"]), (os.getuid(), ["n1", "n2"], [self.team()["id"]]))
        self.fails(1, "job", "show", "none", says="job=none")
        self.assertEqual(self.json("team", "list", "--ended"), [])
        self.fails(2, "team", "list", "--ended", "--all", says="--ended")

    def test_events(self):
        self.text("node", "drain", "n1")
        self.text("node", "undrain", "n1")
        happened = [(event["who"], event["method"]) for event in self.json("events")]
        for event in (("node n1", "registered"), (f"team {self.team()['id']}", "formed"), ("node n1", "draining"),
                      ("node n1", "undrained")):
            self.assertIn(event, happened)
        self.assertEqual(len(self.json("events", "--last", "2")), 2)

    def test_doctor(self):
        run = self.run_ctl("doctor", "-w", "json")
        checks = {check["check"]: check for check in json.loads(run.stdout)}
        self.assertTrue(checks["planner"]["ok"])
        self.assertEqual(checks["nodes: connected"]["seen"], "2 of 2")
        self.assertTrue(checks["daemons: answer the planner"]["ok"])
        self.assertIn("this machine: kernel", checks)
        failed = [check for check in checks.values() if not check["ok"]]
        self.assertTrue(all(check["advice"] for check in failed), failed)
        self.assertEqual(run.returncode, 1 if failed else 0, run.stderr)
        self.text("node", "drain", "n2")
        run = self.run_ctl("doctor", "--node", "n[1-2]")
        self.text("node", "undrain", "n2")
        self.assertEqual(run.returncode, 1)
        self.assertIn("1 of 2; not n2", run.stdout)
        self.assertIn("copsectl node undrain", run.stdout)
        self.assertEqual(self.run_ctl("doctor", endpoint="127.0.0.1:1").returncode, 3)

    def test_formats(self):
        self.assertEqual(self.text("node", "list", "-w", "name", "--sort", "-name"), "n2\nn1\n")
        self.assertEqual(self.text("node", "list", "--columns", "name,ranks"), "NAME  RANKS\nn1        2\nn2        2\n")
        self.assertIn("engine.frames.sent: ", self.text("stats", "-w", "yaml"))

    def test_teams(self):
        team = self.team()
        self.keys(team, "id name size epoch state members calls")
        self.assertEqual((team["size"], team["state"]), (4, "ready"))
        self.assertEqual([(member["rank"], member["node"]) for member in team["members"]],
                         [(0, "n1"), (1, "n1"), (2, "n2"), (3, "n2")])
        self.assertEqual(self.json("team", "show", "world")["id"], team["id"])
        self.assertEqual(self.json("team", "show", str(team["id"]))["name"], "world")
        self.assertIn("n[1-2]", self.text("team", "list"))
        self.assertIn("0-1", self.text("team", "show", "world"))
        self.fails(1, "team", "show", "4711", says="4711")

    def test_plans(self):
        plans = self.plans()
        self.assertGreaterEqual({plan["collective"] for plan in plans}, {"barrier", "bcast", "reduce", "allreduce"})
        keys = "id team collective bytes_min bytes_max algorithm epoch predicted_us edges critical_path"
        self.keys(plans[0], keys)
        plan = str(plans[0]["id"])
        self.keys(self.json("plan", "show", plan), keys)
        explained = self.json("plan", "explain", plan)
        self.keys(explained, keys)
        self.assertTrue(explained["critical_path"])
        self.assertEqual([rank["rank"] for rank in explained["ranks"]], [0, 1, 2, 3])
        self.keys(explained["critical_path_steps"][0], "node what start_us end_us")
        self.assertTrue(explained["alternatives"])
        text = self.text("plan", "explain", plan)
        for word in ("n1", "n2", "rank 3", "critical path", "us"):
            self.assertIn(word, text)
        self.assertTrue(self.text("plan", "explain", plan, "--dot").startswith("digraph"))
        self.fails(1, "plan", "show", "999999", says="999999")

    def test_plan_pictures_and_differences(self):
        plans = [plan for plan in self.plans() if plan["collective"] == "bcast"]
        first, last = str(plans[0]["id"]), str(plans[-1]["id"])
        svg = self.text("plan", "svg", first)
        self.assertTrue(svg.startswith("<svg "), svg[:80])
        self.assertTrue(svg.endswith("</svg>\n"))
        for word in (">n1</text>", ">n2</text>", " us</text>", "#cf222e"):
            self.assertIn(word, svg)
        with tempfile.TemporaryDirectory() as folder:
            picture = os.path.join(folder, "plan.svg")
            self.assertEqual(self.json("plan", "svg", first, "--output", picture)["file"], picture)
            with open(picture, encoding="utf-8") as stream:
                self.assertEqual(stream.read(), svg)
            file = os.path.join(folder, "plan.json")
            with open(file, "w", encoding="utf-8") as stream:
                json.dump(self.json("plan", "show", first), stream)
            self.assertTrue(self.json("plan", "diff", first, file)["same"])
            difference = self.json("plan", "diff", file, last)
            self.assertFalse(difference["same"])
            self.assertIn("bytes", [field["key"] for field in difference["fields"]])
            self.fails(1, "plan", "svg", first, "--output", os.path.join(folder, "none", "x.svg"), says="(file=")
        self.fails(2, "plan", "diff", first, "/nonexistent", says="/nonexistent")

    def test_replan(self):
        before = self.team()["epoch"]
        answer = self.json("team", "replan", "world", "--algorithm", "flat")
        self.assertGreater(answer["epoch"], before)
        self.assertEqual(self.team()["epoch"], answer["epoch"])
        self.assertEqual({plan["algorithm"] for plan in self.plans()}, {"flat"})
        self.fails(2, "team", "replan", "world", "--algorithm", "hexagon", says="hexagon")
        self.fails(2, "team", "replan", "world", "--collective", "gossip", says="gossip")
        self.assertEqual(self.team()["state"], "ready")

    def test_topology(self):
        topology = self.json("topo", "show")
        self.keys(topology, "switches nodes links")
        self.assertEqual([node["name"] for node in topology["nodes"]], ["n1", "n2"])
        self.keys(topology["links"][0], "latency_ns bandwidth_bps")
        self.assertTrue(topology["is_default"])
        self.assertIn("no topology is in force", self.text("topo", "show"))
        self.assertIn("n[1-2]", self.text("topo", "show"))

    def test_topology_import(self):
        path = os.path.join(self.folder.name, "topology.conf")
        conf = "SwitchName=rack1 LinkSpeed=10 Nodes=n1\nSwitchName=rack2 LinkSpeed=4 Nodes=n[2-3]\nSwitchName=core "
        with open(path, "w", encoding="ascii") as file:
            file.write(conf + "Switches=rack[1-2]\n")
        team = self.team()
        dry = self.json("topo", "import", path, "--dry-run")
        self.assertEqual((dry["version"], dry["changed"], dry["replanned"]), (0, True, []))
        self.assertEqual(self.json("topo", "list"), [])
        answer = self.json("topo", "import", path, "--latency", "500ns,1ms")
        self.keys(answer, "ok version changed dry_run changes replanned not_replanned notes")
        self.assertEqual((answer["version"], answer["replanned"], answer["not_replanned"]), (1, [team["id"]], []))
        self.assertEqual(self.team()["epoch"], team["epoch"] + 1)
        self.cluster.enter(0, 1, 2, 3)
        for rank in self.cluster.ranks:
            self.cluster.expect(rank, "done")
        shown = self.json("topo", "show")
        self.assertEqual([(node["name"], node["switch"], node["registered"]) for node in shown["nodes"]],
                         [("n1", "rack1", True), ("n2", "rack2", True), ("n3", "rack2", False)])
        self.assertEqual(shown["switches"][0]["latency_ns"], 1e6)
        self.assertFalse(shown["is_default"])
        self.assertEqual(self.json("topo", "diff", path, "--latency", "500ns,1ms"), [])
        changes = self.json("topo", "diff", path)
        self.assertEqual([(change["names"], change["key"], change["after"]) for change in changes],
                         [("rack[1-2]", "latency", "1000ns")])
        self.assertEqual(self.text("topo", "export", "--format", "slurm"), conf + "Switches=rack[1-2]\n")
        again = os.path.join(self.folder.name, "again.yaml")
        with open(again, "w", encoding="ascii") as file:
            file.write(self.text("topo", "export"))
        self.assertFalse(self.json("topo", "import", again)["changed"])
        self.assertEqual([row["source"] for row in self.json("topo", "list")], ["import slurm " + path])
        with open(path, "w", encoding="ascii") as file:
            file.write(conf + "Switches=rack[1-3]\n")
        self.fails(2, "topo", "import", path, says=path + ":3: switch core: Switches: ")
        with open(path, "w", encoding="ascii") as file:
            file.write("SwitchName=a Nodes=n[1-10000000]\n")
        self.fails(2, "topo", "import", path, says="limit=1048576")

    def test_calls(self):
        self.assertEqual(self.json("coll", "list"), [])
        self.cluster.enter(0, 2, 3)
        call = until("three ranks in a call", lambda: [
            call for call in self.json("coll", "list", "--team", "world") if call["joined"] == [0, 2, 3]])[0]
        self.keys(call, "team sequence collective age_s joined missing")
        self.assertEqual((call["collective"], call["missing"], call["missing_nodes"]), ("barrier", [1], ["n1"]))
        self.assertIn("barrier", self.text("coll", "list"))
        self.assertNotIn("measured_us", call)
        self.assertEqual(self.team()["calls"], 1)
        self.cluster.enter(1)
        for rank in self.cluster.ranks:
            self.cluster.expect(rank, "done")
        until("no call in flight", lambda: self.json("coll", "list") == [])

    def test_calls_measured(self):
        """After test_calls, which begins without a call."""
        self.cluster.enter(0, 1, 2, 3)
        for rank in self.cluster.ranks:
            self.cluster.expect(rank, "done")
        measured = [plan for plan in self.plans() if "measured" in plan]
        self.assertEqual([plan["collective"] for plan in measured], ["barrier"])
        plan = measured[0]
        self.keys(plan["measured"], "median_us least_us count bytes_min bytes_max node why")
        self.assertIn(plan["measured"]["node"], ("n1", "n2"))
        self.assertGreater(plan["measured"]["median_us"], 0)
        self.assertGreater(plan["predicted_us"], 0)
        for verb in ("show", "explain"):
            shown = self.json("plan", verb, str(plan["id"]))
            self.assertEqual((shown["measured"]["node"], shown["predicted_bytes"]), (plan["measured"]["node"], 0))
            self.assertIn("measured: ", self.text("plan", verb, str(plan["id"])))
        self.assertEqual([row["id"] for row in self.json("team", "show", "world")["plans"]], [plan["id"]])
        self.assertIn("MEASURED", self.text("team", "show", "world"))
        self.cluster.enter(0, 2, 3)
        call = until("three ranks in a call", lambda: [
            call for call in self.json("coll", "list") if call["joined"] == [0, 2, 3]])[0]
        self.assertGreater(call["measured_us"], 0)
        self.cluster.enter(1)
        for rank in self.cluster.ranks:
            self.cluster.expect(rank, "done")

    def test_the_measured_calls_of_two_teams_are_apart(self):
        """Daemons' histograms are of both. Late, since other tests count teams that have ended."""
        self.cluster.enter(0, 1, 2, 3, calls=100)  # another test's new plans begin some calls later
        for rank in self.cluster.ranks:
            self.cluster.expect(rank, "done")
        beside = [self.cluster.start_rank(rank, "beside", 2) for rank in range(2)]
        for rank in beside:
            self.cluster.expect(rank, "ready")
        for rank in beside:
            rank.stdin.write(b"text\n")
            rank.stdin.flush()
        for rank in beside:
            self.cluster.expect(rank, "text")
        for team, collective in (("beside", "bcast"), ("world", "barrier")):
            with self.subTest(team=team):
                shown = self.json("team", "show", team)["plans"]
                self.assertEqual([plan["collective"] for plan in shown], [collective])
        for rank in beside:
            rank.stdin.close()
            self.assertEqual(rank.wait(PATIENCE_S), 0)
        until("the team's end", lambda: [team["name"] for team in self.json("team", "list")] == ["world"])
        self.fails(1, "coll", "list", "--team", "4711", says="team 4711")

    def test_histograms_are_selected(self):
        self.cluster.enter(0, 1, 2, 3)
        for rank in self.cluster.ranks:
            self.cluster.expect(rank, "done")
        run = self.run_ctl("stats", "--histograms", "--team", "world", "--collective", "barrier", "-w", "json")
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn("nodes=n[1-2]", run.stderr)
        rows = [row["collective"] for node in json.loads(run.stdout) for row in node["latencies"]]
        self.assertEqual(set(rows), {"barrier"})
        self.assertNotIn("barrier", self.text("stats", "--histograms", "--collective", "bcast"))
        self.fails(2, "stats", "--collective", "bcast", says="--histograms")
        self.fails(2, "stats", "--histograms", "--team", "world", "--node", "n1", says="--node")

    def test_stats(self):
        stats = self.json("stats")
        self.assertEqual([row["node"] for row in stats], ["n1", "n2"])
        self.assertGreater(stats[0]["counters"]["loop.turns"], 0)
        self.assertEqual([row["node"] for row in self.json("stats", "--node", "n2")], ["n2"])
        self.assertIn("loop.turns", self.text("stats", "--raw"))
        self.assertRegex(self.text("stats"), r"NODE +CALLS +FAILED .*\nall .*\nn1 ")
        self.fails(1, "stats", "--node", "n9", says="n9")

    def test_planner(self):
        status = self.json("planner", "status")
        self.keys(status, "leader term since_s role version store sessions address")
        self.assertEqual((status["role"], status["sessions"]), ("leader", 2))
        self.assertIn("longest turn", self.text("planner", "status"))
        (row,) = self.json("stats", "--planner")
        self.assertEqual(row["node"], "planner")
        self.assertEqual(row["counters"]["nodes.ready"] + row["counters"]["nodes.draining"], 2)
        self.assertEqual(row["counters"]["sessions"], 2)
        self.assertIn("loop.turns", self.text("stats", "--planner"))

    def support(self, *arguments, endpoint=None):
        """Returns what the verb says, the archive's bytes, and its files."""
        path = os.path.join(self.cluster.folder, "support.tar")
        said = self.json("support", path, *arguments, endpoint=endpoint)
        self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o600)
        with tarfile.open(path) as archive:
            files = {name.removeprefix("copse-support/"): archive.extractfile(name).read().decode() for name in archive.getnames()}
        self.assertEqual(len(files), said["files"])
        with open(path, "rb") as stream:
            return said, stream.read(), files

    def test_support(self):
        config = os.path.join(self.cluster.folder, "copsed.yaml")
        with open(config, "w", encoding="ascii") as stream:
            stream.write(f"node: n1\njoin_token: {self.cluster.token}\njoin_token_file: {self.cluster.token_file}\n")
        said, archive, files = self.support("--config", config, "--config", self.cluster.token_file, "--config", "/nowhere/yaml")
        self.assertFalse(self.cluster.token.encode() in archive)
        for name in ("config-1", "nodes.json", "teams.json", "teams-ended.json", "plans.json", "stats.json", "stats-planner.json",
                     "events.json", "audit.json", "topology.json", "doctor.json", "version.json", "this-machine.json"):
            self.assertTrue(files[name], name)
            if name.endswith(".json"):
                json.loads(files[name])
        self.assertEqual({node["name"] for node in json.loads(files["nodes.json"])}, {"n1", "n2"})
        self.assertIn("versions", json.loads(files["this-machine.json"]))
        self.assertIn("node: n1\n", files["config-1"])
        self.assertIn(f"join_token_file: {self.cluster.token_file}\n", files["config-1"])
        self.assertIn("file=/nowhere/yaml", files["config-3.error"])
        self.assertIn("config-3", {part["name"] for part in said["failed"]})

    def test_support_without_a_planner(self):
        with socket.socket() as nobody:
            nobody.bind(("127.0.0.1", 0))
            said, _, files = self.support(endpoint="127.0.0.1:%d" % nobody.getsockname()[1])
        self.assertIn("nodes", {part["name"] for part in said["failed"]})
        self.assertIn("cannot reach", files["nodes.error"])
        self.assertIn("this-machine.json", files)

    def test_ping_and_version(self):
        for verb in ("ping", "version"):
            for arguments in ([verb], [verb, "--node", "n1"]):
                answer = self.json(*arguments)
                self.assertIs(answer["ok"], True)
                self.assertRegex(answer["version"], r"^\d+\.\d+\.\d+$")
                self.text(*arguments)
            self.fails(1, verb, "--node", "n9", says="n9")

    def test_daemon_itself(self):
        status = self.json("daemon", "status", endpoint=self.cluster.daemons[0])
        self.assertEqual((status["node"], status["clients"], status["planner_connected"]), ("n1", 2, True))

    def test_unreachable(self):
        with socket.socket() as nobody:
            nobody.bind(("127.0.0.1", 0))
            run = self.run_ctl("ping", endpoint="127.0.0.1:%d" % nobody.getsockname()[1])
            self.assertEqual(run.returncode, 3)


class LastTest(ClusterTest):
    """Breaks the team: with a cluster of its own."""

    def test_break(self):
        team = self.team()["id"]
        self.text("team", "break", "world", "--why", "no longer needed")
        self.assertEqual(self.team()["state"], "broken")
        self.assertIn("no longer needed", self.team()["why"])
        self.fails(1, "team", "break", str(team), says="no longer needed")


def load_tests(loader, _tests, _pattern):
    suite = unittest.TestSuite(loader.loadTestsFromTestCase(ClusterTest))
    suite.addTest(LastTest("test_break"))
    return suite


if __name__ == "__main__":
    for key, path in zip(("copsectl", "copse-planner", "copsed", "libcopse", "rank"), sys.argv[1:6]):
        PROGRAMS[key] = os.path.realpath(path)
    unittest.main(argv=sys.argv[:1])
