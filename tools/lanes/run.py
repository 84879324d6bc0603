#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the lanes of tools/test one after the other, and counts."""

import argparse
import os
import shlex
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
import releases  # pylint: disable=wrong-import-position
import results as counting  # pylint: disable=wrong-import-position
import reword  # pylint: disable=wrong-import-position

# Many tests wait more than they compute: one a processor leaves half of its time unused. Bazel counts a test as a
# processor, so that it must believe in twice as many.
AT_ONCE = 2 * (os.cpu_count() or 1)
TWO_A_PROCESSOR = [f"--jobs={AT_ONCE}", f"--local_test_jobs={AT_ONCE}", f"--local_cpu_resources={AT_ONCE}"]

# Lane: (name, Bazel command, options). Sanitizer lanes choose their tests in .bazelrc.
LANES = {
    "quick": ("clang", "test", ["--test_tag_filters=-slow,-all", "--build_tests_only", *TWO_A_PROCESSOR]),
    "default": ("clang", "test", ["--test_tag_filters=-all", *TWO_A_PROCESSOR]),
    # By the compiler of releases.
    "all": ("gcc", "test", ["--config=gcc", *TWO_A_PROCESSOR]),
    # As releases and measurements are compiled: optimized, gcc warns of more.
    "release": ("release", "build", ["-c", "opt", "--config=gcc"]),
    # Finds what a target includes without depending on it.
    "layers": ("layers", "build", ["--config=layers"]),
    "asan": ("asan", "test", ["--config=asan", "--build_tests_only"]),
    "tsan": ("tsan", "test", ["--config=tsan", "--build_tests_only"]),
    "reworded": ("reworded", "test", ["--test_tag_filters=-all", "--build_tests_only"]),
}
# Lanes that run in a copy of the tree with other wording (reword.py), with a Bazel server of their own.
REWORDED = ("reworded",)
# Lanes with tests that run programs of earlier releases (releases.py).
WITH_RELEASES = ("all",)
LANES_OF = {
    "quick": ("quick",),
    "default": ("default",),
    "all": ("all", "release", "layers", "asan", "tsan", "reworded"),
}

EPILOG = """
Tests tagged `slow` run by default and with --all, tests tagged `all` only with --all, which also runs the sanitizers.
The last line is `N passed, N failed[, N skipped]`, in test cases. Exit code 0: none failed; 1: some did; 2: bad usage;
130 or 143: interrupted. Build events are left in out/test/. Environment: COPSE_BAZEL_STARTUP and COPSE_BAZEL_FLAGS, words
for Bazel before and after its command.
"""


SLOWEST = 10


class Interrupted(Exception):
    """A signal asked us to end."""

    def __init__(self, number):
        super().__init__(number)
        self.number = number


def on_signal(number, _frame):
    # Once: what follows is cleaning up.
    for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(each, signal.SIG_IGN)
    raise Interrupted(number)


def bazel(*words):
    return ["bazel", *shlex.split(os.environ.get("COPSE_BAZEL_STARTUP", "")), *words]


def run_lane(lane, targets, folder):
    """Runs one lane and returns its results."""
    name, command, options = LANES[lane]
    root = None
    if lane in REWORDED:
        root = os.path.join(folder, "copy")
        reword.write_copy(root)
    events = os.path.join(folder, f"{name}.json")
    if os.path.exists(events):
        os.remove(events)
    words = [command, "--keep_going", f"--build_event_json_file={events}", "--noshow_loading_progress", *options]
    if command == "test":
        words.append("--test_summary=terse")
    if not sys.stderr.isatty():
        words.append("--show_progress_rate_limit=10")
    if lane in WITH_RELEASES:
        words.append(f"--test_env=RELEASES={releases.make(bazel)}")
    words += shlex.split(os.environ.get("COPSE_BAZEL_FLAGS", "")) + ["--", *targets]

    which = " ".join(targets) if len(targets) < 10 else f"{len(targets)} targets"
    print(f"== {name}: bazel {command} {which}", flush=True)
    start = time.monotonic()
    with subprocess.Popen(bazel(*words), stdin=subprocess.DEVNULL, cwd=root) as process:
        try:
            exit_code = process.wait()
        except Interrupted:
            # Bazel's client cancels its build at the first interrupt; from a terminal it has had one already.
            process.send_signal(signal.SIGINT)
            try:
                process.wait(timeout=60)
            except subprocess.TimeoutExpired:
                process.kill()
            raise
    if root:
        subprocess.run(bazel("shutdown"), stdin=subprocess.DEVNULL, cwd=root, check=False)
    # Tests that a filter leaves out are built all the same, unless --build_tests_only says otherwise.
    filters = [word.partition("=")[2] for word in options if word.startswith("--test_tag_filters=")]
    left_out = [tag[1:] for tags in filters for tag in tags.split(",") if tag.startswith("-")]
    results = counting.results_of(counting.read_events(events), exit_code, command == "test", left_out)
    seconds = time.monotonic() - start
    if command == "test":
        print(f"== {name}: {counting.last_line(results)} ({seconds:.0f} s)", flush=True)
    else:
        print(f"== {name}: {'failed' if results.failed else 'built'} ({seconds:.0f} s)", flush=True)
    results.failed = [f"{name}: {failure}" for failure in results.failed]
    results.seconds = {f"{name}: {which}": took for which, took in results.seconds.items()}
    results.skipped = [(f"{name}: {which}", reason) for which, reason in results.skipped]
    return results


def shard_of(text):
    """"2/3" as (1, 3)."""
    number, _, count = text.partition("/")
    if not (number.isdecimal() and count.isdecimal() and 1 <= int(number) <= int(count)):
        raise argparse.ArgumentTypeError(f"not one of several, as 2/3 (value={text})")
    return int(number) - 1, int(count)


def parse(arguments):
    parser = argparse.ArgumentParser(prog="tools/test", description="Runs Copse's tests.", epilog=EPILOG,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    depth = parser.add_mutually_exclusive_group()
    depth.add_argument("--quick", dest="depth", action="store_const", const="quick", help="the quick tests only")
    depth.add_argument("--all", dest="depth", action="store_const", const="all", help="everything")
    parser.add_argument("--shard", type=shard_of, default=(0, 1), metavar="I/N",
                        help="every N-th lane from the I-th on: a compiler's or sanitizer's build and tests")
    parser.add_argument("--shutdown", action="store_true", help="end Bazel's server afterwards")
    parser.add_argument("targets", nargs="*", metavar="TARGET", help="Bazel targets (default: //...)")
    parser.set_defaults(depth="default")
    options = parser.parse_args(arguments)
    lanes = len(LANES_OF[options.depth])
    if options.shard[1] > lanes:
        parser.error(f"--shard: more shards than lanes (shards={options.shard[1]}, limit={lanes})")
    return options


def main(arguments):
    options = parse(arguments)
    folder = os.path.join(os.getcwd(), "out", "test")
    os.makedirs(folder, exist_ok=True)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, on_signal)

    total = counting.Results()
    shutdown = options.shutdown
    start = time.monotonic()
    first, count = options.shard
    try:
        for lane in LANES_OF[options.depth][first::count]:
            total.add(run_lane(lane, options.targets or ["//..."], folder))
    except Interrupted as interrupted:
        shutdown = True
        print("tools/test: interrupted", file=sys.stderr, flush=True)
        return 128 + interrupted.number
    finally:
        if shutdown:
            subprocess.run(bazel("shutdown"), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                           stderr=subprocess.DEVNULL, check=False)

    for took, which in counting.slowest(total, SLOWEST):
        print(f"slowest: {took:6.1f} s {which}")
    print(f"wall time: {(time.monotonic() - start) / 60:.1f} min")
    for which, reason in total.skipped:
        print(f"skipped: {which}: {reason}")
    for failure in total.failed:
        print(f"FAILED: {failure}")
    print(counting.last_line(total), flush=True)
    return 1 if total.failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
