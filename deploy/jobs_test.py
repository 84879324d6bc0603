#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The jobs of Prometheus that the alerts and the dashboard ask for are those that the examples have.

Arguments: alerts.yml, grafana.json, docs/admin.md, site_test.py."""

import json
import re
import sys
import unittest

FILES = {}
PORTS = {"copse": "7472", "copse-web": "7473"}
JOB = re.compile(r"- job_name: (\S+)\n(?: *(?:scheme|tls_config):.*\n)* *static_configs: (.*)")


def text(name):
    with open(FILES[name], encoding="utf-8") as file:
        return file.read()


def expressions_of_dashboard():
    return [target["expr"] for panel in json.loads(text("dashboard"))["panels"] for target in panel.get("targets", [])]


def expressions_of_alerts():
    return re.findall(r"expr: (.*)", text("alerts"))


class Jobs(unittest.TestCase):

    def test_the_examples_have_both_jobs_with_their_ports(self):
        for example in ("page", "site"):
            jobs = JOB.findall(text(example))
            self.assertEqual({name for name, _ in jobs}, set(PORTS), example)
        for name, targets in JOB.findall(text("page")):
            self.assertEqual(set(re.findall(r":(\d+)\"", targets)), {PORTS[name]}, name)

    def test_what_is_asked_for_is_there(self):
        expressions = expressions_of_dashboard() + expressions_of_alerts()
        self.assertGreater(len(expressions), 50)
        asked = {job for expression in expressions for job in re.findall(r'job=~?"([^"]*)"', expression)}
        self.assertEqual(asked, set(PORTS))


if __name__ == "__main__":
    FILES.update(zip(("alerts", "dashboard", "page", "site"), sys.argv[1:5]))
    unittest.main(argv=sys.argv[:1])
