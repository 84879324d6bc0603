#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What counts as passed, failed and skipped."""

import json
import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
import results  # pylint: disable=wrong-import-position

GTEST = """<testsuites tests="4"><testsuite name="S">
<testcase name="Good" status="run" result="completed" classname="S"/>
<testcase name="Bad" status="run" result="completed" classname="S"><failure message="m"/></testcase>
<testcase name="Off" status="notrun" result="suppressed" classname="S"/>
<testcase name="Skip" status="run" result="skipped" classname="S"><skipped message="a_test.cc:3&#x0A;no MPI here"/></testcase>
</testsuite></testsuites>"""
SHELL = '<testsuites><testsuite name="t" tests="1"><testcase name="t" status="run"></testcase>%s</testsuite></testsuites>'


class ResultsTest(unittest.TestCase):

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def file(self, name, text):
        path = os.path.join(self.folder.name, name)
        with open(path, "w", encoding="utf-8") as stream:
            stream.write(text)
        return path

    def configured(self, label, test=True):
        return {"id": {"targetConfigured": {"label": label}}, "configured": {"testSize": "SMALL"} if test else {}}

    def completed(self, label, success=True):
        return {"id": {"targetCompleted": {"label": label}}, "completed": {"success": True} if success else {}}

    def result(self, label, status, xml=None, log="", attempt=1):
        outputs = [{"name": "test.log", "uri": "file://" + self.file("test.log", log)}]
        if xml is not None:
            outputs.append({"name": "test.xml", "uri": "file://" + self.file("test.xml", xml)})
        return {"id": {"testResult": {"label": label, "run": 1, "shard": 1, "attempt": attempt}},
                "testResult": {"status": status, "testActionOutput": outputs}}

    def count(self, *events, exit_code=0, wants_tests=True):
        found = results.results_of(list(events), exit_code, wants_tests)
        return found.passed, len(found.failed), len(found.skipped)

    def test_gtest_cases_are_counted_one_by_one(self):
        events = [self.configured("//a:t"), self.completed("//a:t"), self.result("//a:t", "FAILED", GTEST)]
        found = results.results_of(events, 3, True)
        self.assertEqual((found.passed, len(found.failed), len(found.skipped)), (1, 1, 2))
        self.assertIn("//a:t S.Bad", found.failed[0])
        self.assertIn(("//a:t S.Skip", "no MPI here"), found.skipped)
        self.assertEqual(results.last_line(found), "1 passed, 1 failed, 2 skipped")

    def test_other_tests_are_one_case(self):
        self.assertEqual(self.count(self.configured("//a:t"), self.result("//a:t", "PASSED", SHELL % "")), (1, 0, 0))
        error = SHELL % '<error message="exited with error code 1"></error>'
        self.assertEqual(self.count(self.configured("//a:t"), self.result("//a:t", "FAILED", error), exit_code=3),
                         (0, 1, 0))

    def test_a_skip_in_the_log_has_its_reason(self):
        events = [self.configured("//a:t"), self.result("//a:t", "PASSED", SHELL % "", "x\nSKIPPED: no nspawn\n")]
        self.assertEqual(results.results_of(events, 0, True).skipped, [("//a:t", "no nspawn")])

    def test_the_slowest_targets_are_told(self):
        events = []
        for label, milliseconds, cached in (("//a:fast", 20, False), ("//a:slow", 12500, False), ("//a:known", 99, True)):
            event = self.result(label, "PASSED", SHELL % "")
            event["testResult"] |= {"testAttemptDurationMillis": str(milliseconds), "cachedLocally": cached}
            events += [self.configured(label), event]
        events.append(json.loads(json.dumps(events[-3])))
        events[-1]["id"]["testResult"]["shard"] = 2  # of //a:slow
        found = results.results_of(events, 0, True)
        self.assertEqual(results.slowest(found, 1), [(25.0, "//a:slow")])
        self.assertEqual([which for _, which in results.slowest(found, 9)], ["//a:slow", "//a:fast"])

    def test_no_case_is_a_failure(self):
        empty = "<testsuites tests=\"0\"></testsuites>"
        self.assertEqual(self.count(self.configured("//a:t"), self.result("//a:t", "PASSED", empty)), (0, 1, 0))
        self.assertEqual(self.count(self.configured("//a:t"), self.result("//a:t", "PASSED")), (0, 1, 0))

    def test_no_test_is_a_failure(self):
        self.assertEqual(self.count(exit_code=4), (0, 1, 0))
        self.assertEqual(self.count(exit_code=0), (0, 1, 0))

    def test_a_crash_after_passed_cases_is_a_failure(self):
        self.assertEqual(self.count(self.configured("//a:t"), self.result("//a:t", "TIMEOUT", SHELL % ""), exit_code=3),
                         (1, 1, 0))

    def test_the_last_attempt_counts(self):
        self.assertEqual(
            self.count(self.configured("//a:t"), self.result("//a:t", "FAILED", SHELL % "<error/>"),
                       self.result("//a:t", "PASSED", SHELL % "", attempt=2)), (1, 0, 0))

    def test_what_did_not_build_is_a_failure(self):
        self.assertEqual(
            self.count(self.configured("//a:t"), self.completed("//a:t", False), self.configured("//a:lib", False),
                       self.completed("//a:lib", False), exit_code=1), (0, 2, 0))
        self.assertEqual(self.count(self.completed("//a:lib", False), exit_code=1, wants_tests=False), (0, 1, 0))
        self.assertEqual(self.count(exit_code=1, wants_tests=False), (0, 1, 0))

    def test_a_test_that_the_lane_leaves_out_is_not_missed(self):
        left_out = self.configured("//a:boot")
        left_out["configured"]["tag"] = ["all", "local"]
        events = [left_out, self.configured("//a:t"), self.result("//a:t", "PASSED", SHELL % "")]
        found = results.results_of(events, 0, True, ["all"])
        self.assertEqual((found.passed, found.failed), (1, []))
        self.assertEqual(len(results.results_of(events, 0, True).failed), 1)

    def test_a_test_that_never_ran_is_a_failure(self):
        self.assertEqual(self.count(self.configured("//a:t"), exit_code=8), (0, 1, 0))

    def test_events_that_were_cut_off_are_read_up_to_there(self):
        path = self.file("events.json", json.dumps(self.configured("//a:t")) + "\n{\"id\": {")
        self.assertEqual(len(results.read_events(path)), 1)
        self.assertEqual(results.read_events(path + ".absent"), [])


if __name__ == "__main__":
    unittest.main()
