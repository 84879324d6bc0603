#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""copse-exporter beside a real daemon. Arguments: copse-exporter, copsed, copse-planner, planner_cluster.py."""

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import unittest
import urllib.error
import urllib.request

sys.path.insert(0, os.path.dirname(os.path.abspath(sys.argv[4])))
from planner_cluster import PATIENCE_S, Processes

PROGRAMS = {}


class Exporter(unittest.TestCase):

    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        processes = Processes(self.folder)
        self.addCleanup(processes.end)
        self.planner = processes.start_serving(PROGRAMS["planner"], "--set", "listen=127.0.0.1:0")
        self.daemon = processes.start_serving(PROGRAMS["copsed"], "--set", "node=n1", "--set", f"planner={self.planner[1]}", "--set",
                                 f"socket=@exporter-{os.getpid()}", "--set", "admin_listen=127.0.0.1:0", "--set",
                                 f"run_dir={self.folder}")
        self.exporter = processes.start_serving(PROGRAMS["exporter"], "--set", "listen=127.0.0.1:0", "--set", f"daemon={self.daemon[1]}")

    def get(self, path="/metrics"):
        with urllib.request.urlopen(f"http://{self.exporter[1]}{path}", timeout=PATIENCE_S) as answer:
            return answer.read().decode()

    def fails(self, code, *arguments, says):
        run = subprocess.run([PROGRAMS["exporter"], *arguments], capture_output=True, text=True, timeout=PATIENCE_S,
                             check=False)
        self.assertEqual(run.returncode, code, run.stderr)
        self.assertTrue(run.stderr.startswith("copse-exporter: "), run.stderr)
        self.assertIn(says, run.stderr)

    def test_a_daemon_is_shown_until_it_ends(self):
        text = self.get()
        for line in ("copse_up 1", "copse_node_planner_connected 1", "copse_node_teams 0",
                     'copse_engine_frames_total{direction="sent"} 0', "# TYPE copse_loop_turns_total counter"):
            self.assertIn(line + "\n", text)
        if shutil.which("promtool"):
            subprocess.run(["promtool", "check", "metrics"], input=text, text=True, check=True)
        self.daemon[0].kill()
        self.daemon[0].wait()
        self.assertIn("copse_up 0\n", self.get())
        self.assertNotIn("copse_loop_turns", self.get())

    def test_nothing_else_is_served(self):
        self.assertIn("metrics", self.get("/"))
        for path in ("/etc/passwd", "/../metrics", "/metrics/x"):
            with self.assertRaises(urllib.error.HTTPError) as refused:
                self.get(path)
            self.assertEqual(refused.exception.code, 404)
            refused.exception.close()

    def test_clients_that_say_nothing_keep_nobody_waiting_for_long(self):
        host, port = self.exporter[1].split(":")
        silent = [socket.create_connection((host, int(port))) for _ in range(8)]
        self.assertIn("copse_up 1\n", self.get())
        for one in silent:
            one.close()

    def test_bad_settings_are_refused(self):
        self.fails(2, "--set", "listen=0.0.0.0:0", says="listen=0.0.0.0:0")
        self.fails(2, "--set", "listen=here", says="listen: not HOST:PORT (address=here)")
        self.fails(2, "--set", "daemon=nowhere", says="daemon: not HOST:PORT (address=nowhere)")
        self.fails(2, "--set", "tls_cert=/nonexistent", says="tls_key")
        self.fails(1, "--set", "tls_cert=/nonexistent", "--set", "tls_key=/nonexistent", "--set", "tls_ca=/nonexistent", says="tls_")
        self.fails(1, "--set", f"listen={self.exporter[1]}", says=self.exporter[1])

    def test_it_ends_when_told_to(self):
        self.exporter[0].terminate()
        self.assertEqual(self.exporter[0].wait(PATIENCE_S), 0)


if __name__ == "__main__":
    PROGRAMS.update(zip(("exporter", "copsed", "planner"), map(os.path.abspath, sys.argv[1:4])))
    unittest.main(argv=sys.argv[:1], verbosity=2)
