# SPDX-License-Identifier: Apache-2.0
"""What a `bazel test` did, counted from its build events and the tests' XML files.

Counted are test cases. A test target that did not build, crashed, timed out or ran no case at all is one failed case;
so is a target that did not build and is not a test. So nothing that did not run can pass.
"""

import dataclasses
import json
import os
import re
import urllib.parse
import xml.etree.ElementTree

# A test that is not a gtest says in its output that it did not run: a line "SKIPPED: reason", and exits with 0.
SKIPPED_LINE = re.compile(r"^SKIPPED: (.+)$", re.M)


@dataclasses.dataclass
class Results:
    passed: int = 0
    failed: list = dataclasses.field(default_factory=list)  # Texts: which, and why or where to look.
    skipped: list = dataclasses.field(default_factory=list)  # (which, reason).
    seconds: dict = dataclasses.field(default_factory=dict)  # By target, all its shards together; if it ran now.

    def add(self, other):
        for which, seconds in other.seconds.items():
            self.seconds[which] = self.seconds.get(which, 0) + seconds
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped


def path_of(uri):
    return urllib.parse.unquote(urllib.parse.urlparse(uri).path)


def read_events(path):
    """The build events in a file; a last line that was cut off by an interruption is left out."""
    events = []
    if os.path.exists(path):
        with open(path, encoding="utf-8") as stream:
            for line in stream:
                try:
                    events.append(json.loads(line))
                except ValueError:
                    break
    return events


def _cases(xml_path):
    """(name, failed, skip reason or None) for each test case in an XML file; none if it is unreadable."""
    try:
        root = xml.etree.ElementTree.parse(xml_path).getroot()
    except (OSError, xml.etree.ElementTree.ParseError):
        return []
    cases = []
    for suite in root.iter("testsuite"):
        # Bazel's own XML puts the error beside the case, gtest inside it.
        suite_failed = any(child.tag in ("failure", "error") for child in suite)
        for case in suite.findall("testcase"):
            name = ".".join(part for part in (case.get("classname"), case.get("name")) if part)
            failed = suite_failed or any(child.tag in ("failure", "error") for child in case)
            skip = case.find("skipped")
            reason = None
            if case.get("status") == "notrun":
                reason = "disabled in the source"
            elif skip is not None or case.get("result") == "skipped":
                message = (skip.get("message") or skip.text or "") if skip is not None else ""
                # gtest puts file and line first.
                reason = re.sub(r"^\S+:\d+\s+", "", message.strip()) or "no reason given"
            cases.append((name, failed, reason))
    return cases


def _target_results(label, shards):
    """Counts one test target from its `testResult` events, the last attempt of each shard."""
    results = Results()
    for shard in shards:
        files = {output.get("name"): path_of(output.get("uri", "")) for output in shard.get("testActionOutput", [])}
        log = files.get("test.log", "no log")
        cases = _cases(files.get("test.xml", ""))
        failed = [name for name, case_failed, _ in cases if case_failed]
        for name in failed:
            results.failed.append(f"{label} {name}: {log}")
        if not shard.get("cachedLocally"):
            results.seconds[label] = results.seconds.get(label, 0) + int(shard.get("testAttemptDurationMillis", 0)) / 1000
        if shard.get("status") != "PASSED" and not failed:
            results.failed.append(f"{label}: {shard.get('status', 'no status').lower().replace('_', ' ')}: {log}")
        for name, case_failed, reason in cases:
            if case_failed:
                continue
            if reason is None and len(cases) == 1:
                reason = _skip_in_log(log)
            if reason is None:
                results.passed += 1
            else:
                results.skipped.append((f"{label} {name}" if len(cases) > 1 else label, " ".join(reason.split())))
    if not (results.passed or results.failed or results.skipped):
        results.failed.append(f"{label}: ran no test case")
    return results


def _skip_in_log(log):
    try:
        with open(log, encoding="utf-8", errors="replace") as stream:
            match = SKIPPED_LINE.search(stream.read())
    except OSError:
        return None
    return match.group(1) if match else None


def results_of(events, exit_code, wants_tests, left_out=()):
    """Counts one run of Bazel.

    Args:
      events: its build events.
      exit_code: its exit code.
      wants_tests: whether it was to run tests, so that running none is a failure.
      left_out: tags of tests that it was to build and not to run.
    """
    expected = []  # Test targets, in order.
    shards = {}  # label -> (run, shard) -> the last attempt's result
    not_built = []
    for event in events:
        identity = event.get("id", {})
        if "targetConfigured" in identity and event.get("configured", {}).get("testSize"):
            if set(left_out) & set(event["configured"].get("tag", [])):
                continue
            expected.append(identity["targetConfigured"]["label"])
        elif "testResult" in identity:
            key = identity["testResult"]
            attempts = shards.setdefault(key["label"], {})
            attempts[(key.get("run", 1), key.get("shard", 1))] = event.get("testResult", {})
        elif "targetCompleted" in identity and not event.get("completed", {}).get("success"):
            label = identity["targetCompleted"]["label"]
            if label not in not_built:
                not_built.append(label)

    results = Results()
    expected = list(dict.fromkeys(expected + list(shards)))
    for label in expected if wants_tests else ():
        if label in shards:
            results.add(_target_results(label, shards[label].values()))
        else:
            results.failed.append(f"{label}: did not {'build' if label in not_built else 'run'}")
    for label in not_built:
        if not wants_tests or label not in expected:
            results.failed.append(f"{label}: did not build")
    # 0 done, 3 a test failed, 4 no test found; the rest is about the build.
    if exit_code not in (0, 4) and not results.failed:
        results.failed.append(f"bazel ended with exit code {exit_code}")
    if wants_tests and not results.passed and not results.failed:
        results.failed.append("no test ran")
    return results


def slowest(results, count):
    """The targets that took longest, and how long: (seconds, which)."""
    return sorted(((seconds, which) for which, seconds in results.seconds.items()), reverse=True)[:count]


def last_line(results):
    skipped = f", {len(results.skipped)} skipped" if results.skipped else ""
    return f"{results.passed} passed, {len(results.failed)} failed{skipped}"
