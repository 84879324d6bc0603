#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the repository's rules. Usage: tidy.py [FOLDER]; the default is the checkout that holds this file.

Each rule is one function from files to findings, listed in RULES with its name. A line may be exempted where the rule
is wrong about it, with a reason on that line: `// tidy: allow(RULE) because ...`.
"""

import dataclasses
import os
import re
import subprocess
import sys

# Folders whose packages need no purpose of their own in docs/ARCHITECTURE.md.
FOLDERS_WITHOUT_PURPOSE = re.compile(r"^third_party/bazel(/|$)|(^|/)(fixture|testdata|testing)(/|$)")

CXX = (".cc", ".h", ".c")
CODE = CXX + (".py", ".sh", ".bzl", ".proto", ".lds", ".f90", ".bash", ".s", ".S")

# Installed headers have their guards after their installed names.
PUBLIC_HEADERS = {"client/copse.h": "COPSE_H_"}

# Folders of state machines that run at their own pace: time, threads and sockets come in by interface.
PURE = ("planner/", "offload_emu/", "daemon/core/", "schedule/", "protocol/")
PLANNER_PROCESS = ("planner/admin/", "planner/etcd/", "planner/server/", "planner/sessions/", "planner/store/", "planner/threads/")
PURE_EXCEPT = PLANNER_PROCESS + ("offload_emu/tcp/", "offload_emu/ucx/", "offload_emu/testing/transport_end.h")

GRPC_HOMES = ("rpc/", "daemon/rpc/", "daemon/main", "cli/client/", "cli/ctl/") + PLANNER_PROCESS
TEST_HOMES = ("bench/", "integration_tests/", "testbed/")


@dataclasses.dataclass
class IncludeRule:
    """Who may include what matches `pattern`: only files below `homes`, or all but those that are pure."""
    pattern: str
    homes: tuple = None
    tests: bool = True  # Tests may.
    test_homes: tuple = TEST_HOMES  # Whatever is below these may.

    def allows(self, file):
        if file.path.startswith(self.test_homes) or (self.tests and file.is_test):
            return True
        return not file.is_pure if self.homes is None else file.path.startswith(self.homes)


# The dependency graph does not show system headers; these are its complement (tools/walls).
INCLUDES = (
    # Two benchmarks measure what UCX does without Copse, so they cannot go through our transport.
    IncludeRule(r"<uc[mpst]/", homes=("offload_emu/ucx/", "bench/pairs/raw_ucx.h"), tests=False, test_homes=()),
    IncludeRule(r"<slurm/", homes=("deploy/slurm/",), tests=False),
    IncludeRule(r"<grpc", homes=GRPC_HOMES, tests=False),
    IncludeRule(r"<google/protobuf/", homes=GRPC_HOMES + ("proto/",), tests=False),
    IncludeRule(r"<(g[mt]est|benchmark)/", homes=()),
    # An MPI's handles mean nothing to another MPI.
    IncludeRule(r"<mpi\.h>", homes=("client/mpi/api/mpi_api.h", "client/mpi/api/failure_text.h")),
    IncludeRule(r"\"client/mpi/", homes=("client/mpi/",)),
    IncludeRule(r"\"client/preload/", homes=("client/mpi/", "client/preload/"), tests=False),
    IncludeRule(r"<(sys/socket|sys/un|netinet/\w+|arpa/inet|poll|sys/epoll|netdb)\.h>"),
    IncludeRule(r"<(thread|mutex|condition_variable|shared_mutex|future|pthread\.h)>"),
    IncludeRule(r"\"base/mutex\.h"),
    # TSAN cannot see them: base/mutex.h. gRPC uses them all the same.
    IncludeRule(r"[<\"]absl/synchronization/", homes=("rpc/prepare_grpc.cc",)),
)


@dataclasses.dataclass
class File:
    path: str
    text: str

    @property
    def name(self):
        return os.path.basename(self.path)

    @property
    def is_build(self):
        return self.name in ("BUILD", "BUILD.bazel", "WORKSPACE", ".bazelrc")

    @property
    def is_code(self):
        return self.path.endswith(CODE) or self.is_build or self.text.startswith("#!")

    @property
    def is_cxx(self):
        return self.path.endswith(CXX)

    @property
    def is_test(self):
        """A test, or a fake for tests."""
        stem = os.path.splitext(self.name)[0]
        return stem.endswith("_test") or stem.startswith("fake_") or self.path.startswith(("integration_tests/", "testbed/"))

    @property
    def is_pure(self):
        return self.path.startswith(PURE) and not self.path.startswith(PURE_EXCEPT)

    def findings(self, rule, pattern, message, text=None):
        """One finding for each line of `text` (default: all) that matches."""
        original = self.text.split("\n")
        for number, line in enumerate((self.text if text is None else text).split("\n"), 1):
            match = re.search(pattern, line)
            if match and not allowed(original[number - 1], rule):
                yield f"{self.path}:{number}: {message.format(match.group(0).strip())}"


def allowed(line, rule):
    return re.search(r"tidy: allow\(" + re.escape(rule) + r"\) \S+", line) is not None


def blank(match):
    return re.sub(r"[^\n]", " ", match.group(0))


def without_comments_and_strings(file):
    """The file's code, line by line where it was."""
    if file.is_cxx or file.path.endswith(".proto"):
        pattern = r"//[^\n]*|/\*.*?\*/|R\"(\w*)\(.*?\)\1\"|\"(?:\\.|[^\"\\\n])*\"|(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'"
    else:
        pattern = r"(?:(?<=\s)|^)#[^\n]*"
    return re.sub(pattern, blank, file.text, flags=re.S | re.M)


def check_folders(files):
    rows = {}
    for file in files:
        if file.path == "docs/ARCHITECTURE.md":
            for match in re.finditer(r"^\|\s*`([^`]+)/`\s*\|([^|\n]*)", file.text, re.M):
                rows[match.group(1)] = match.group(2).strip()
    for file in files:
        folder = os.path.dirname(file.path)
        if file.name not in ("BUILD", "BUILD.bazel") or not folder or FOLDERS_WITHOUT_PURPOSE.search(folder):
            continue
        if not rows.get(folder):
            yield f"docs/ARCHITECTURE.md: no row `{folder}/` with its purpose in the table of folders"


def check_spdx(files):
    for file in files:
        if file.is_code and file.text and "SPDX-License-Identifier: Apache-2.0" not in "\n".join(
                file.text.split("\n")[:3]):
            yield f"{file.path}:1: no SPDX-License-Identifier: Apache-2.0 in the first three lines"


def check_guards(files):
    for file in files:
        if not file.path.endswith(".h"):
            continue
        guard = PUBLIC_HEADERS.get(file.path) or "COPSE_" + re.sub(r"[^A-Za-z0-9]", "_", file.path).upper() + "_"
        wanted = (rf"^#ifndef {guard}\n#define {guard}$", rf"^#endif\s+(//|/\*) {guard}")
        if not all(re.search(pattern, file.text, re.M) for pattern in wanted):
            yield f"{file.path}:1: include guard is not {guard} (#ifndef, #define, #endif  // {guard})"


def check_sleeps(files):
    """A test awaits the event, or advances a fake clock."""
    for file in files:
        if not file.is_test or file.path.startswith("tools/tidy/"):
            continue
        code = without_comments_and_strings(file)
        if file.is_cxx or file.path.endswith(".py"):
            yield from file.findings(
                "sleep", r"\b(sleep|usleep|nanosleep|clock_nanosleep|SleepFor|sleep_for|sleep_until)\s*\(",
                "{} in a test: await the event", code)
        elif file.is_code and not file.is_build:
            yield from file.findings("sleep", r"(^|[\s;&|(])u?sleep\s+[\d$]", "{} in a test: await the event", code)


def check_randomness(files):
    """Randomness comes from base/prng.h with a seed that someone printed."""
    for file in files:
        if file.is_cxx and not file.path.startswith("base/"):
            yield from file.findings(
                "random", r"(?<![\w.>])(std::)?(s?rand|rand_r|drand48|random)\s*\(|\brandom_device\b",
                "{}: take a Prng (base/prng.h)", without_comments_and_strings(file))


def check_unsafe_calls(files):
    for file in files:
        if file.is_cxx:
            yield from file.findings(
                "unsafe", r"(?<![\w.>])(::)?(std::)?(system|strcpy|strcat|sprintf|vsprintf|gets|tmpnam|mktemp)\s*\(",
                "{} is banned", without_comments_and_strings(file))


def check_clocks(files):
    for file in files:
        if not file.is_cxx or file.is_test or not file.is_pure:
            continue
        yield from file.findings(
            "clock", r"\babsl::Now\s*\(|_clock::now\s*\(|\b(clock_gettime|gettimeofday)\s*\(|"
            r"(?<![\w.>])time\s*\((NULL|nullptr|0)?\)",
            "{}: time comes in through base/clock.h here", without_comments_and_strings(file))


def check_includes(files):
    for file in files:
        for include in INCLUDES if file.is_cxx else ():
            if not include.allows(file):
                yield from file.findings("include", rf"^\s*#\s*include\s+{include.pattern}[^>\"]*[>\"]?",
                                         "{} is not for this folder (INCLUDES in tools/tidy/tidy.py)")


def check_todos(files):
    words = "|".join(["TODO", "FIX" + "ME", "X" + "XX", "HA" + "CK"])
    for file in files:
        if file.is_code and not file.path.startswith("tools/tidy/"):
            yield from file.findings("todo", rf"\b({words})\b(?!\([\w.-]+\): \S)|\b(?!TODO)({words})\b",
                                     "{} needs an owner and what is to do: TODO(name): what")


def check_machine_paths(files):
    for file in files:
        if not file.path.startswith("tools/tidy/"):
            yield from file.findings("path", r"(?<![\w.~}-])/(work|root|home/\w+)/[\w.]+|/tmp/(ob|copse_cache)\w*",
                                     "{} is a path of one machine")


def check_named_tests(files):
    """A page that names what a test shows must name a test that there is."""
    tests = set()
    for file in files:
        if file.is_cxx and file.is_test:
            tests.update(".".join(match) for match in re.findall(r"^TEST(?:_F|_P)?\((\w+),\s*(\w+)\)", file.text, re.M))
    for file in files:
        if file.path != "docs/reference/threats.md":
            continue
        for number, line in enumerate(file.text.split("\n"), 1):
            for name in re.findall(r"`([A-Z]\w*Test\.\w+)`", line):
                if name not in tests:
                    yield f"{file.path}:{number}: no test is named {name}"


RULES = {
    "folders": check_folders,
    "spdx": check_spdx,
    "guards": check_guards,
    "sleep": check_sleeps,
    "random": check_randomness,
    "unsafe": check_unsafe_calls,
    "clock": check_clocks,
    "include": check_includes,
    "todo": check_todos,
    "path": check_machine_paths,
    "named_tests": check_named_tests,
}


def paths_in(root):
    """Paths of the checkout that git tracks or would track; without git, all but hidden folders and Bazel's."""
    git = subprocess.run(["git", "-c", "safe.directory=*", "-C", root, "ls-files", "-co", "--exclude-standard", "-z"],
                         stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    if git.returncode == 0 and git.stdout:
        return sorted(path for path in git.stdout.decode().split("\0") if path)
    paths = []
    for folder, folders, names in os.walk(root):
        folders[:] = [name for name in folders
                      if not name.startswith((".git", "bazel-")) and name not in ("out", "__pycache__")]
        paths += [os.path.relpath(os.path.join(folder, name), root) for name in names]
    return sorted(paths)


def read(root):
    for path in paths_in(root):
        full = os.path.join(root, path)
        if os.path.islink(full) or not os.path.isfile(full):
            continue
        with open(full, "rb") as stream:
            data = stream.read()
        if b"\0" not in data:
            yield File(path, data.decode("utf-8", "replace"))


def findings(files, rules=None):
    for name, rule in RULES.items():
        if rules is None or name in rules:
            for finding in rule(files):
                yield f"{finding} [{name}]"


def checkout():
    """The checkout that this file is part of, behind Bazel's links."""
    return os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))


def main(arguments):
    root = arguments[0] if arguments else checkout()
    files = list(read(root))
    if not files:
        print(f"tidy: no files below {root}", file=sys.stderr)
        return 2
    found = list(findings(files))
    for finding in found:
        print(finding)
    print(f"tidy: {len(files)} files, {len(RULES)} rules, {len(found)} findings")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
