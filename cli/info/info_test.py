#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""copse-info in an installation as tools/install makes it, and as Debian's packages do. Argument: copse-info."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

PROGRAMS = {}


class Info(unittest.TestCase):

    def setUp(self):
        self.prefix = os.path.realpath(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.prefix)
        self.put("bin/copse-info")
        shutil.copy(PROGRAMS["info"], self.path("bin/copse-info"))

    def path(self, name):
        return os.path.join(self.prefix, name)

    def put(self, name):
        os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
        with open(self.path(name), "w", encoding="ascii"):
            return self.path(name)

    def run_info(self, *arguments):
        return subprocess.run([self.path("bin/copse-info"), *arguments], capture_output=True, text=True, check=False)

    def report(self):
        return json.loads(self.run_info("-w", "json").stdout)

    def test_places_below_lib(self):
        wanted = {"daemon": self.put("bin/copsed"), "planner": self.put("bin/copse-planner"), "library": self.put("lib/libcopse.so.0"),
                  "MPI": self.put("lib/copse/libcopse-mpi.so")}
        places = self.report()["places"]
        self.assertEqual({what: places[what] for what in wanted}, wanted)
        said = self.run_info().stdout
        for path in wanted.values():
            self.assertIn(path, said.split())

    def test_places_of_debians_packages(self):
        library = self.put("lib/x86_64-linux-gnu/libcopse.so.0")
        self.assertEqual(self.report()["places"]["library"], library)

    def test_what_is_not_there_is_named(self):
        for what, name in (("daemon", "bin/copsed"), ("library", "lib/libcopse.so.0"), ("MPI", "lib/copse/libcopse-mpi.so")):
            self.assertEqual(self.report()["places"][what], f"not there ({self.path(name)})")

    def test_versions(self):
        program, version = self.run_info("--version").stdout.split()
        self.assertEqual(program, "copse-info")
        versions = self.report()["versions"]
        self.assertEqual(versions["version"], version)
        for key in ("ring layout", "packets", "proto", "plan format"):
            self.assertGreater(int(versions[key]), 0, key)

    def test_the_exit_code_says_whether_all_is_well(self):
        run = subprocess.run([self.path("bin/copse-info"), "-w", "json"], capture_output=True, text=True, check=False,
                             env={**os.environ, "COPSE_SOCKET": self.path("no.sock")})
        self.assertEqual(run.returncode, 1)
        (socket,) = [check for check in json.loads(run.stdout)["checks"] if check["check"] == "daemon's socket"]
        self.assertFalse(socket["ok"])
        self.assertIn(self.path("no.sock"), socket["seen"])
        self.assertTrue(socket["advice"])
        run = self.run_info("--frobnicate")
        self.assertEqual((run.returncode, run.stdout), (2, ""))
        self.assertIn("argument=--frobnicate", run.stderr)


if __name__ == "__main__":
    PROGRAMS["info"] = sys.argv[1]
    unittest.main(argv=sys.argv[:1])
