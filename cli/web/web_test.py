#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""copse-web beside a real planner and daemon. Arguments: copse-web, copsectl, copsed, copse-planner, planner_cluster.py."""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import urllib.error
import urllib.request

sys.path.insert(0, os.path.dirname(os.path.abspath(sys.argv[5])))
from planner_cluster import PATIENCE_S, Processes, until

PROGRAMS = {}


class Web(unittest.TestCase):

    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        self.processes = Processes(self.folder)
        self.addCleanup(self.processes.end)
        self.planner = self.processes.start_serving(PROGRAMS["planner"], "--set", "listen=127.0.0.1:0", "--set",
                                                    f"run_dir={self.folder}")
        self.processes.start_serving(PROGRAMS["copsed"], "--set", "node=n1", "--set", f"planner={self.planner[1]}",
                                     "--set", f"socket=@web-{os.getpid()}", "--set", "admin_listen=127.0.0.1:0",
                                     "--set", f"run_dir={self.folder}")
        self.web = self.processes.start_serving(PROGRAMS["web"], "--listen", "127.0.0.1:0", "--planner",
                                                f"unix:{self.folder}/view.sock", *self.settings())

    def settings(self):
        return []

    def get(self, path, **headers):
        """Returns the answer's code and text."""
        request = urllib.request.Request(f"http://{self.web[1]}{path}", headers=headers)
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as refused:
            with refused:
                return refused.code, refused.read().decode()

    def metrics(self):
        code, text = self.get("/metrics")
        self.assertEqual(code, 200)
        return dict(line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))

    def copsectl(self, *verb):
        run = subprocess.run([PROGRAMS["copsectl"], "-e", self.planner[1], "-w", "json", *verb], capture_output=True,
                             check=True, timeout=PATIENCE_S)
        return json.loads(run.stdout)


class MetricsTest(Web):

    def test_metrics_are_what_copsectl_shows_and_what_the_page_lists(self):
        until("a node that is ready", lambda: self.metrics().get('copse_nodes{state="ready"}') == "1")
        shown = self.metrics()
        status = self.copsectl("planner", "status")
        self.assertEqual(shown["copse_planner_up"], "1")
        self.assertEqual(float(shown["copse_planner_term"]), float(status["term"]))
        self.assertEqual(float(shown["copse_sessions"]), float(status["sessions"]))
        self.assertEqual(shown["copse_planner_leader"], "1")
        self.assertIn(f'copse_planner_info{{version="{status["version"]}"}}', shown)
        with open("docs/reference/metrics.md", encoding="utf-8") as page:
            listed = set(re.findall(r"^\| `(copse_\w+)`", page.read(), re.MULTILINE))
        self.assertLessEqual({name.split("{")[0] for name in shown}, listed)
        if shutil.which("promtool"):
            subprocess.run(["promtool", "check", "metrics"], input=self.get("/metrics")[1], text=True, check=True)

    def test_a_planner_that_ends_is_down(self):
        self.assertEqual(self.get("/healthz"), (200, "ok\n"))
        self.planner[0].kill()
        self.planner[0].wait()
        until("its end to be seen", lambda: self.get("/healthz")[0] == 503)
        shown = self.metrics()
        self.assertEqual(shown.pop("copse_planner_up"), "0")
        self.assertEqual([name.split("{")[0] for name in shown], ["copse_web_info"])

    def test_nothing_is_served_beside(self):
        for path in ("/etc/passwd", "/../metrics", "/metrics/x"):
            self.assertEqual(self.get(path)[0], 404, path)

    def test_bad_settings_are_refused(self):
        for flag, value in (("--listen", "0.0.0.0:0"), ("--listen", "here"), ("--planner", "nowhere")):
            run = subprocess.run([PROGRAMS["web"], flag, value], capture_output=True, text=True, timeout=PATIENCE_S,
                                 check=False)
            self.assertEqual(run.returncode, 2, run.stderr)
            self.assertTrue(run.stderr.startswith("copse-web: "), run.stderr)
            self.assertIn(value, run.stderr)

    def test_it_ends_when_told_to(self):
        self.web[0].terminate()
        self.assertEqual(self.web[0].wait(PATIENCE_S), 0)


if __name__ == "__main__":
    PROGRAMS.update(zip(("web", "copsectl", "copsed", "planner"), map(os.path.abspath, sys.argv[1:5])))
    unittest.main(argv=sys.argv[:1], verbosity=2)
