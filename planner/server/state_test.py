#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A planner whose store is lost, older, another cluster's, damaged or full, with two daemons and a team that makes calls all the time.

Arguments: copse-planner, copsed, copsectl, libcopse.so.0, testbed/script/barrier_rank.py and planner_cluster.py.
"""

import base64
import contextlib
import json
import os
import shutil
import signal
import sqlite3
import ssl
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.error
import urllib.request

sys.path.insert(0, os.path.dirname(os.path.abspath(sys.argv[6])))
from planner_cluster import PATIENCE_S, free_ports, until

PROGRAMS = {}


def flipped(data):
    """Returns the bytes with one of them changed."""
    place = len(data) // 2
    return data[:place] + bytes([data[place] ^ 1]) + data[place + 1:]


class SqliteFile:
    """A store in an SQLite file."""

    def __init__(self, test, name):
        self.path = f"{test.folder}/{name}.db"
        self.setting = f"store=sqlite:{self.path}"

    def lose(self):
        for suffix in ("", "-wal", "-shm"):
            if os.path.exists(self.path + suffix):
                os.remove(self.path + suffix)

    def flip(self, row):
        """Changes a byte of the first row of a kind. Returns the name of the row."""
        table, key, column = {
            "team": ("team", "id", "record"),
            "topology": ("topology", "version", "text"),
            "draining": ("draining", "node", "node"),
            "aborted": ("aborted", "team", "team"),
            "term": ("meta", "key", "value"),
            "cluster": ("meta", "key", "value"),
        }[row]
        with contextlib.closing(sqlite3.connect(self.path, isolation_level=None)) as database:
            where = f"CAST(key AS TEXT) = '{row}'" if table == "meta" else "1"
            found, value = database.execute(f"SELECT {key}, {column} FROM {table} WHERE {where} LIMIT 1").fetchone()
            changed = flipped(bytes(value)) if isinstance(value, bytes) else value ^ (1 << 40)
            database.execute(f"UPDATE {table} SET {column} = ? WHERE {key} = ?", (changed, found))
            name = changed if key == column else found
        return f"{table}/{name.decode() if isinstance(name, bytes) else name}"

    def end(self):
        """Nothing runs."""


class Etcd:
    """A store in an etcd of one member."""

    tls = None  # of its clients

    def __init__(self, test, name, quota=0):
        client, peer = free_ports(2)
        self.test = test
        self.url = f"http://127.0.0.1:{client}"
        self.folder = f"{test.folder}/{name}.etcd"
        self.setting = f"store=etcd://127.0.0.1:{client}/copse"
        self.command = [
            "etcd", f"--name={name}", f"--data-dir={self.folder}", f"--listen-client-urls={self.url}",
            f"--advertise-client-urls={self.url}", f"--listen-peer-urls=http://127.0.0.1:{peer}",
            f"--initial-advertise-peer-urls=http://127.0.0.1:{peer}", f"--initial-cluster={name}=http://127.0.0.1:{peer}",
            "--logger=zap", f"--quota-backend-bytes={quota}"
        ]
        self.begin()

    def begin(self):
        self.process = self.test.start(*self.command)
        until("etcd", self.is_healthy)

    def end(self):
        self.process.terminate()
        self.process.wait()

    def is_healthy(self):
        try:
            with urllib.request.urlopen(f"{self.url}/health", timeout=2, context=self.tls) as answer:
                return json.load(answer)["health"] == "true"
        except OSError:
            return False

    def call(self, method, **fields):
        request = urllib.request.Request(f"{self.url}/v3/{method}", json.dumps(fields).encode())
        with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:
            return json.load(answer)

    def keys(self, prefix):
        end = prefix[:-1] + chr(ord(prefix[-1]) + 1)
        answer = self.call("kv/range", key=base64.b64encode(prefix.encode()).decode(),
                           range_end=base64.b64encode(end.encode()).decode())
        return {
            base64.b64decode(pair["key"]).decode(): base64.b64decode(pair.get("value", ""))
            for pair in answer.get("kvs", [])
        }

    def put(self, key, value):
        self.call("kv/put", key=base64.b64encode(key.encode()).decode(), value=base64.b64encode(value).decode())

    def delete(self, prefix):
        end = prefix[:-1] + chr(ord(prefix[-1]) + 1)
        self.call("kv/deleterange", key=base64.b64encode(prefix.encode()).decode(),
                  range_end=base64.b64encode(end.encode()).decode())

    def lose(self):
        self.delete("/copse/")

    def flip(self, row):
        key, value = next(iter(self.keys(f"/copse/{row}").items()))
        self.put(key, flipped(value))
        return key[len("/copse/"):]


class SealedEtcd(Etcd):
    """A store in an etcd that wants TLS and a client's certificate."""

    def __init__(self, test, name):
        self.files = f"{test.folder}/{name}"
        key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"]
        self.openssl("req", "-x509", *key, "-subj", "/CN=authority", "-keyout", "ca.key", "-out", "ca")
        for who in ("server", "planner"):
            self.openssl("req", "-x509", *key, "-subj", f"/CN={who}", "-addext", "subjectAltName=IP:127.0.0.1", "-CA",
                         f"{self.files}.ca", "-CAkey", f"{self.files}.ca.key", "-keyout", f"{who}.key", "-out", who)
        super().__init__(test, name)

    def openssl(self, *words):
        words = [f"{self.files}.{word}" if before in ("-keyout", "-out") else word
                 for before, word in zip(("",) + words, words)]
        subprocess.run(["openssl", *words], check=True, capture_output=True)

    def begin(self):
        self.url = self.url.replace("http:", "https:")
        self.command = [word.replace("client-urls=http:", "client-urls=https:") for word in self.command]
        self.command += [f"--cert-file={self.files}.server", f"--key-file={self.files}.server.key", "--client-cert-auth",
                         f"--trusted-ca-file={self.files}.ca"]
        self.tls = ssl.create_default_context(cafile=f"{self.files}.ca")
        self.tls.load_cert_chain(f"{self.files}.planner", f"{self.files}.planner.key")
        super().begin()


class StateTest(unittest.TestCase):

    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        self.processes, self.logs, self.teams = [], {}, 0
        self.addCleanup(self.end_all)
        self.port, = free_ports(1)

    def end_all(self):
        for process in self.processes:
            if process.poll() is None:
                process.kill()
                process.wait()
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    pipe.close()

    def start(self, *command, **options):
        path = f"{self.folder}/{len(self.processes)}.log"
        with open(path, "w", encoding="utf-8") as log:
            process = subprocess.Popen(command, stderr=log, **options)
        self.logs[process.pid] = path
        self.processes.append(process)
        return process

    def log(self, process):
        with open(self.logs[process.pid], encoding="utf-8") as log:
            return log.read()

    def planner(self, store, port=None, *settings):
        """Starts a planner, and waits until it is ready."""
        command = [PROGRAMS["copse-planner"], "--set", f"listen=127.0.0.1:{port or self.port}", "--set", store.setting]
        for setting in ("lease=10s",) + settings:  # which is not lost where disks are busy
            command += ["--set", setting]
        planner = self.start(*command)
        until("the planner", lambda: planner.poll() is not None or "is ready" in self.log(planner))
        self.assertIsNone(planner.poll(), self.log(planner))
        return planner

    def stop(self, planner):
        planner.terminate()
        self.assertEqual(planner.wait(PATIENCE_S), 0)

    def daemon(self, node, port=None):
        return self.start(PROGRAMS["copsed"], "--set", f"node={node}", "--set", f"planner=127.0.0.1:{port or self.port}", "--set",
                          f"socket=@state-{os.getpid()}-{node}", "--set", "admin_listen=127.0.0.1:0", "--set",
                          f"run_dir={self.folder}")

    def copsectl(self, *verb, port=None):
        return subprocess.run([PROGRAMS["copsectl"], "-e", f"127.0.0.1:{port or self.port}", "-w", "json", *verb],
                              capture_output=True, check=False, text=True)

    def answer(self, *verb, port=None):
        done = self.copsectl(*verb, port=port)
        return json.loads(done.stdout) if done.returncode == 0 and done.stdout else None

    def status(self, port=None):
        return until("the planner's status", lambda: self.answer("planner", "status", port=port))

    def await_nodes(self, count, port=None):
        until(f"{count} nodes",
              lambda: sum(row["state"] == "ready" for row in self.answer("node", "list", port=port) or []) == count)

    def team_states(self):
        return {row["name"]: row["state"] for row in self.answer("team", "list") or []}

    def team_ids(self):
        return {row["name"]: row["id"] for row in self.answer("team", "list") or []}

    def new_team(self, *nodes):
        """Starts a rank on each node, and returns them when their team is formed; None if it is not."""
        self.teams += 1
        ranks = [
            self.start(sys.executable, PROGRAMS["rank"], PROGRAMS["libcopse"], f"@state-{os.getpid()}-{node}",
                       f"team{self.teams}", str(rank), str(len(nodes)), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                       text=True) for rank, node in enumerate(nodes)
        ]
        return ranks if all([rank.stdout.readline() == "ready\n" for rank in ranks]) else None

    def calls(self, ranks, count=200):
        for rank in ranks:
            rank.stdin.write(f"{count}\n")
            rank.stdin.flush()
        for rank in ranks:
            self.assertEqual(rank.stdout.readline(), "done\n", self.log(rank))

    def finish(self, ranks):
        for rank in ranks:
            rank.stdin.close()
        for rank in ranks:
            self.assertEqual(rank.wait(PATIENCE_S), 0)

    def two_nodes(self, store):
        """Returns a planner, with two daemons and a team of both."""
        planner = self.planner(store)
        self.daemon("n0")
        self.daemon("n1")
        self.await_nodes(2)
        team = self.new_team("n0", "n1")
        self.assertIsNotNone(team)
        return planner, team

    def offline(self, store, *flags):
        return subprocess.run([PROGRAMS["copse-planner"], "--set", store.setting, "--set", "lease=2s", *flags],
                              capture_output=True, check=False, text=True, timeout=PATIENCE_S)


class OnBothStores:
    """The tests of every kind of store."""

    def test_a_planner_whose_store_was_lost_is_of_the_same_cluster_again(self):
        store = self.store("a")
        planner, team = self.two_nodes(store)
        before, ids = self.status(), self.team_ids()
        self.assertRegex(before["cluster"], r"^[0-9a-f-]{36}$")
        self.stop(planner)
        store.lose()
        self.calls(team)
        self.planner(store)
        self.await_nodes(2)
        after = self.status()
        self.assertEqual(after["cluster"], before["cluster"])
        self.assertGreater(after["term"], before["term"] + 100)
        self.assertEqual(self.team_ids(), ids)
        self.assertEqual(set(self.team_states().values()), {"ready"})
        self.calls(team)
        other = self.new_team("n0", "n1")
        self.assertIsNotNone(other)
        self.finish(other)
        self.finish(team)

    def test_an_older_state_is_restored_under_load(self):
        store, file = self.store("a"), f"{self.folder}/saved"
        planner, ended = self.two_nodes(store)
        saved = self.answer("state", "save", file)
        self.assertEqual((saved["teams"], saved["cluster"]), (1, self.status()["cluster"]))
        team = self.new_team("n0", "n1")
        self.finish(ended)
        until("the end of a team", lambda: len(self.team_states()) == 1)
        running = self.offline(store, "--restore", file, "--replace-state")
        self.assertEqual(running.returncode, 1, "a planner runs")
        self.stop(planner)
        refused = self.offline(store, "--restore", file)
        self.assertEqual(refused.returncode, 1)
        self.assertIn("--replace-state", refused.stderr)
        restored = self.offline(store, "--restore", file, "--replace-state")
        self.assertEqual(restored.returncode, 0, restored.stderr)
        self.calls(team)
        self.planner(store)
        self.await_nodes(2)
        until("teams as they are", lambda: self.team_states() == {"team2": "ready"})
        status = self.status()
        self.assertEqual(status["cluster"], saved["cluster"])
        self.assertGreater(status["term"], saved["term"] + 100)
        self.calls(team)
        self.finish(team)

    def test_a_state_is_restored_to_another_kind_of_store(self):
        store, file = self.store("a"), f"{self.folder}/saved"
        planner, team = self.two_nodes(store)
        self.assertEqual(self.copsectl("node", "drain", "--why", "its disk", "n1").returncode, 0)
        saved = self.answer("state", "save", file)
        self.stop(planner)
        store.end()
        other = self.other_store("b")
        restored = self.offline(other, "--restore", file)
        self.assertEqual(restored.returncode, 0, restored.stderr)
        self.planner(other)
        self.assertEqual(self.status()["cluster"], saved["cluster"])
        until("the drained node",
              lambda: sorted(row["state"] for row in self.answer("node", "list") or []) == ["draining", "ready"])
        self.assertIn("its disk", [row.get("why") for row in self.answer("node", "list")])
        self.assertEqual(self.team_states(), {"team1": "ready"})
        self.calls(team)
        self.finish(team)

    def test_a_file_that_is_no_saved_state(self):
        store, file = self.store("a"), f"{self.folder}/saved"
        self.stop(self.planner(store))
        for text, code, words in ((b"nonsense", 2, "no saved state"), (b"copse-state 2 0\n", 1, "format=2"),
                                  (b"copse-state 1 0\nx", 1, "damaged")):
            with open(file, "wb") as stream:
                stream.write(text)
            refused = self.offline(store, "--restore", file)
            self.assertEqual((refused.returncode, words in refused.stderr), (code, True), refused.stderr)
            self.assertIn(f"restore={file}", refused.stderr)

    def test_another_clusters_store_is_refused_under_load(self):
        store, foreign = self.store("a"), self.store("b")
        port, = free_ports(1)
        other = self.planner(foreign, port)
        self.daemon("m0", port)
        self.await_nodes(1, port)
        self.assertIsNotNone(self.new_team("m0"))
        theirs = self.status(port)["cluster"]
        self.stop(other)

        planner, team = self.two_nodes(store)
        ours = self.status()["cluster"]
        self.stop(planner)
        planner = self.planner(foreign)
        daemons = self.processes[-6:]
        self.daemon("n2")
        self.await_nodes(1)
        until("both refusals", lambda: len([n for f in self.status().get("foreign", []) for n in f["nodes"]]) == 2)
        words = f"belongs to cluster {theirs}, this daemon's teams to {ours}"
        self.assertIn(words, self.log(planner))
        self.assertEqual(sum(words in self.log(process) for process in daemons), 3, "both daemons and the planner")
        self.calls(team)

        refused = self.copsectl("state", "adopt")
        self.assertEqual(refused.returncode, 1)
        self.assertIn(ours, refused.stderr)
        adopted = self.answer("state", "adopt", "--force")
        self.assertEqual((adopted["cluster"], adopted["former"]), (ours, theirs))
        until("the team", lambda: "ready" in [row["state"] for row in self.answer("team", "list") or [] if row["size"] == 2])
        self.assertEqual(self.status()["cluster"], ours)
        self.calls(team)
        self.finish(team)

    def test_damaged_rows_are_put_aside(self):
        store = self.store("a")
        topology = f"{self.folder}/topology.yaml"
        with open(topology, "w", encoding="utf-8") as stream:
            stream.write("version: 1\nswitches: [{name: core}]\nnodes: [{name: \"n[0-1]\", switch: core}]\n")
        planner, team = self.two_nodes(store)
        cluster = self.status()["cluster"]
        imported = self.copsectl("topo", "import", topology)
        self.assertEqual(imported.returncode, 0, imported.stderr)
        self.assertEqual(self.copsectl("node", "drain", "n1").returncode, 0)
        self.stop(planner)
        clean = self.offline(store, "--check-state")
        self.assertEqual((clean.returncode, clean.stdout), (0, ""), clean.stderr)
        kinds = ["team", "topology", "draining", "term", "cluster"]
        rows = [store.flip(kind) for kind in kinds]
        damaged = self.offline(store, "--check-state")
        self.assertEqual(damaged.returncode, 1, damaged.stderr)
        for row in rows:
            self.assertIn(row, damaged.stdout)
        self.calls(team)
        planner = self.planner(store)
        log = self.log(planner)
        for row in rows:
            self.assertIn(row, log)
        self.await_nodes(2)  # the damaged row does not drain n1 any more
        status = self.status()
        self.assertEqual(status["cluster"], cluster, "the daemons have told it")
        self.assertEqual(status["quarantined"], len(kinds))
        self.assertEqual(set(self.team_states().values()), {"ready"}, "it is adopted anew")
        self.calls(team)
        self.stop(planner)
        aside = self.offline(store, "--check-state")
        self.assertEqual((aside.returncode, aside.stdout.count("quarantine")), (1, len(kinds)), aside.stdout)
        self.planner(store)
        self.await_nodes(2)
        self.assertEqual(set(self.team_states().values()), {"ready"})
        self.finish(team)


class Sqlite(OnBothStores, StateTest):

    def store(self, name):
        return SqliteFile(self, name)

    def other_store(self, name):
        return Etcd(self, name)

    def test_a_second_planner_on_the_file_is_refused(self):
        store = self.store("a")
        self.planner(store)
        port, = free_ports(1)
        second = self.offline(store, "--set", f"listen=127.0.0.1:{port}")
        self.assertEqual(second.returncode, 1)
        self.assertIn(f"state={store.path}", second.stderr)
        self.assertEqual(self.status()["role"], "leader")


class OnEtcd(OnBothStores, StateTest):

    def store(self, name):
        return Etcd(self, name)

    def other_store(self, name):
        return SqliteFile(self, name)

    def test_an_older_copy_of_etcds_data(self):
        store = self.store("a")
        planner, ended = self.two_nodes(store)
        self.stop(planner)
        store.end()
        shutil.copytree(store.folder, store.folder + ".copy")
        store.begin()
        planner = self.planner(store)
        self.await_nodes(2)
        team = self.new_team("n0", "n1")
        self.finish(ended)
        self.stop(planner)
        store.end()
        shutil.rmtree(store.folder)
        shutil.move(store.folder + ".copy", store.folder)
        store.begin()
        self.calls(team)
        self.planner(store)
        self.await_nodes(2)
        until("teams as they are", lambda: self.team_states() == {"team2": "ready"})
        self.calls(team)
        self.finish(team)

    def test_a_copy_of_etcds_data_from_before_a_switch(self):
        store = self.store("a")
        planner, team = self.two_nodes(store)
        store.end()
        shutil.copytree(store.folder, store.folder + ".copy")
        store.begin()
        identity, = self.team_ids().values()
        until("a switch", lambda: self.copsectl("team", "replan", str(identity), "--algorithm", "chain").returncode == 0)
        self.stop(planner)
        store.end()
        shutil.rmtree(store.folder)
        shutil.move(store.folder + ".copy", store.folder)
        store.begin()
        again = self.planner(store)
        self.await_nodes(2)
        self.assertEqual(self.team_states(), {"team1": "ready"})
        self.assertIn("is a copy from before", self.log(again))
        self.calls(team)
        self.finish(team)

    def test_etcd_is_compacted(self):
        store = self.store("a")
        planner, team = self.two_nodes(store)
        revision = store.call("kv/range", key=base64.b64encode(b"x").decode())["header"]["revision"]
        store.call("kv/compaction", revision=revision, physical=True)
        other = self.new_team("n0", "n1")
        self.assertIsNotNone(other)
        self.stop(planner)
        self.planner(store)
        self.await_nodes(2)
        self.assertEqual(set(self.team_states().values()), {"ready"})
        self.calls(team)
        self.finish(other)
        self.finish(team)

    def waiting_changes(self):
        """Returns how many records the planner has that are not stored; None if it does not answer."""
        rows = self.answer("stats", "--planner")
        return rows[0]["counters"]["store.waiting_changes"] if rows else None

    def test_an_import_that_waits_for_etcd_delays_nobody(self):
        store = self.store("a")
        self.planner(store, None, "lease=60s")
        topology = f"{self.folder}/topology.yaml"
        with open(topology, "w", encoding="utf-8") as stream:
            stream.write("version: 1\nswitches: [{name: core}]\nnodes: [{name: n0, switch: core}]\n")
        until("what it has recorded at its start", lambda: self.waiting_changes() == 0)
        store.process.send_signal(signal.SIGSTOP)
        imported = self.start(PROGRAMS["copsectl"], "-e", f"127.0.0.1:{self.port}", "topo", "import", topology)
        until("a change that waits", lambda: self.waiting_changes() == 1)
        self.assertEqual(self.answer("topo", "list"), [], "it is not stored")
        store.process.send_signal(signal.SIGCONT)
        self.assertEqual(imported.wait(PATIENCE_S), 0, self.log(imported))
        self.assertEqual([row["version"] for row in self.answer("topo", "list")], [1])

    def test_an_etcd_that_wants_certificates(self):
        store = SealedEtcd(self, "a")
        store.setting = store.setting.replace("etcd:", "etcds:")
        settings = [f"etcd_{key}={store.files}.{name}" for key, name in (("ca", "ca"), ("cert", "planner"), ("key", "planner.key"))]
        planner = self.planner(store, None, *settings)
        for node in ("n0", "n1"):
            self.daemon(node)
        self.await_nodes(2)
        team = self.new_team("n0", "n1")
        self.assertIsNotNone(team)
        self.stop(planner)
        self.planner(store, None, *settings)
        self.await_nodes(2)
        self.assertEqual(self.team_states(), {"team1": "ready"})
        self.calls(team)
        self.finish(team)

    def test_etcd_has_no_space(self):
        store = Etcd(self, "a", quota=4 << 20)
        planner, team = self.two_nodes(store)
        with self.assertRaises(urllib.error.HTTPError):
            for number in range(100):
                store.put(f"/filler/{number}", os.urandom(200_000))
        self.assertIsNone(self.new_team("n0", "n1"), "a decision cannot be stored")
        self.assertIn("space", self.log(planner))
        self.calls(team)
        store.delete("/filler/")
        revision = store.call("kv/range", key=base64.b64encode(b"x").decode())["header"]["revision"]
        store.call("kv/compaction", revision=revision, physical=True)
        store.call("maintenance/defragment")
        for alarm in store.call("maintenance/alarm", action="GET")["alarms"]:
            store.call("maintenance/alarm", action="DEACTIVATE", **alarm)
        self.finish(until("a new team", lambda: self.new_team("n0", "n1")))
        self.calls(team)
        self.finish(team)


if __name__ == "__main__":
    for option, path in zip(("copse-planner", "copsed", "copsectl", "libcopse", "rank"), sys.argv[1:6]):
        PROGRAMS[option] = os.path.abspath(path)
    unittest.main(argv=[sys.argv[0]] + sys.argv[7:], verbosity=2)
