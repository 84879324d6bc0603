# SPDX-License-Identifier: Apache-2.0
"""The walls: who never reaches whom, checked over the whole dependency graph at every build.

.bazelrc applies walls_aspect to everything that is built. It carries along, for each target, which rooms the target
reaches and through whom; a target that reaches a room behind one of its walls fails to build, with the path. So a wall
holds for every target from the day it is written, in folders that did not exist when the table was made too. Tests and
testonly targets may reach what they need.

What the graph cannot show (an #include of a system header without its target) tools/tidy checks.
"""

# Folder, or target, -> room. The longest prefix wins.
_ROOMS = {
    "//base": "base",
    "//base:clock": "clock",
    "//base:monotonic_ns": "clock",
    "//bench": "bench",
    "//cli/command_line": "command-line",
    "//cli/client": "ctl",
    "//cli/ctl": "ctl",
    "//cli/perftest": "perftest",
    "//cli/sim": "copse-sim",
    "//cli/trace": "copse-trace",
    "//client": "client",
    "//client/mpi": "mpi-library",
    "//client/preload": "preload",
    "//client/run": "copse-run",
    "//collectives": "collectives",
    "//daemon": "daemon",
    "//daemon/accounts": "daemon-core",
    "//daemon/core": "daemon-core",
    "//integration_tests": "integration-tests",
    "//offload_emu": "engine",
    "//offload_emu/ucx": "ucx-transport",
    "//planner": "planner",
    "//planner/algorithms": "algorithms",
    "//planner/coordinator": "coordinator",
    "//planner/etcd": "planner-etcd",
    "//planner/admin": "planner-server",
    "//planner/server": "planner-server",
    "//planner/sessions": "planner-server",
    "//planner/store": "planner-server",
    "//planner/threads": "planner-server",
    "//planner/topology": "topology",
    "//proto": "proto",
    "//protocol": "protocol",
    "//rpc": "rpc",
    "//schedule": "schedule",
    "//sim": "sim",
    "//testbed": "testbed",
    "//third_party:absl": "absl",
    "//third_party:benchmark": "testing",
    "//third_party:gtest": "testing",
    "//third_party:gtest_main": "testing",
    "//third_party:grpc": "grpc",
    "//third_party:grpc_channelz": "grpc",
    "//third_party:grpc_reflection": "grpc",
    "//third_party:protobuf": "protobuf",
    "//third_party:sqlite3": "sqlite",
    "//third_party:systemd": "systemd",
    "//third_party:ucx": "ucx",
    "//third_party:yaml_cpp": "yaml",
    "//tools/walls/fixture/inner": "fixture-inner",
    "//tools/walls/fixture/outer": "fixture-outer",
}

_GRPC = ["grpc", "protobuf", "proto", "rpc"]
_UCX = ["ucx", "ucx-transport"]
_DAEMON = ["daemon", "daemon-core"]
_ENGINE = ["engine", "sim", "ucx-transport"]
_PLANNER = ["planner", "algorithms", "coordinator", "planner-etcd", "planner-server", "topology"]
_CLIENT = ["client", "mpi-library", "preload", "copse-run"]
_PROGRAMS = ["ctl", "copse-sim", "copse-trace", "perftest"]
_TESTS = ["testing", "bench", "integration-tests", "testbed"]
_OURS = _DAEMON + _ENGINE + _PLANNER + _CLIENT + _PROGRAMS + ["schedule"]

# Room -> rooms that it never reaches, directly or through others.
_WALLS = {
    "base": _OURS + _GRPC + _UCX + _TESTS,
    "clock": _OURS + _GRPC + _UCX + _TESTS,
    "collectives": _OURS + _GRPC + _UCX + ["absl", "protocol"] + _TESTS,
    "proto": _OURS + ["base", "clock", "rpc"] + _UCX + _TESTS,
    "rpc": _UCX + _PLANNER + _DAEMON + _CLIENT + _PROGRAMS + _TESTS,
    "planner": _GRPC + _UCX + _DAEMON + _CLIENT + _PROGRAMS + ["planner-etcd", "planner-server"] + _TESTS,
    "algorithms": _GRPC + _UCX + _DAEMON + _CLIENT + _PROGRAMS + ["planner", "coordinator", "planner-etcd", "planner-server", "clock", "yaml"] + _TESTS,
    "topology": _GRPC + _UCX + _DAEMON + _CLIENT + _PROGRAMS + ["planner-etcd", "planner-server", "engine"] + _TESTS,
    "protocol": _GRPC + _UCX + _PLANNER + _DAEMON + _CLIENT + _PROGRAMS + ["clock"] + _TESTS,
    "schedule": _GRPC + _UCX + _PLANNER + _DAEMON + _CLIENT + _PROGRAMS + ["protocol", "clock"] + _TESTS,
    "coordinator": _GRPC + _UCX + _DAEMON + _CLIENT + _PROGRAMS + ["planner-etcd", "planner-server"] + _TESTS,
    "planner-etcd": _UCX + _DAEMON + _CLIENT + _PROGRAMS + ["sqlite", "yaml"] + _TESTS,
    "planner-server": _UCX + _DAEMON + _CLIENT + _PROGRAMS + _TESTS,
    "engine": _GRPC + _UCX + _PLANNER + _DAEMON + _CLIENT + _PROGRAMS + ["schedule"] + _TESTS,
    "sim": _GRPC + _UCX + _PLANNER + _DAEMON + _CLIENT + _PROGRAMS + ["schedule"] + _TESTS,
    "ucx-transport": _GRPC + _PLANNER + _DAEMON + _CLIENT + _PROGRAMS + ["schedule"] + _TESTS,
    "daemon-core": _GRPC + _UCX + _PLANNER + ["daemon"] + _PROGRAMS + _TESTS,
    "daemon": _PLANNER + _PROGRAMS + _TESTS,
    # Loaded into users' processes: no library that it can do without either.
    "client": _GRPC + _UCX + _PLANNER + _DAEMON + _ENGINE + _PROGRAMS + ["schedule", "yaml", "sqlite", "mpi-library", "preload", "copse-run"] + _TESTS,
    # Before libc in every process of a job: libc alone, and no MPI.
    "preload": _GRPC + _UCX + _PLANNER + _DAEMON + _ENGINE + _PROGRAMS + ["base", "clock", "collectives", "protocol", "schedule", "yaml", "sqlite", "absl", "command-line", "mpi-library", "copse-run"] + _TESTS,
    # Preloaded into every process of a job: libcopse and the C++ library, and of the preload not even these.
    "mpi-library": _GRPC + _UCX + _PLANNER + _DAEMON + _ENGINE + _PROGRAMS + ["schedule", "yaml", "sqlite", "absl", "command-line", "copse-run"] + _TESTS,
    "copse-run": _GRPC + _UCX + _PLANNER + _DAEMON + _ENGINE + _PROGRAMS + ["schedule", "yaml", "sqlite", "client", "mpi-library", "preload"] + _TESTS,
    "command-line": _OURS + _GRPC + _UCX + _TESTS,
    "ctl": _DAEMON + _PLANNER + _ENGINE + _CLIENT + _UCX + ["schedule", "copse-sim", "copse-trace", "perftest"] + _TESTS,
    "copse-sim": _GRPC + _UCX + ["daemon", "ctl", "copse-trace", "perftest", "planner-etcd", "planner-server"] + _CLIENT + _TESTS,
    # Of the client it has the formats of files alone.
    "copse-trace": _GRPC + _UCX + _PLANNER + _DAEMON + _ENGINE + ["schedule", "yaml", "sqlite", "ctl", "copse-sim", "perftest", "mpi-library", "copse-run"] + _TESTS,
    # A user of libcopse's C API like any other.
    "perftest": _GRPC + _UCX + _PLANNER + _DAEMON + _ENGINE + ["schedule", "yaml", "sqlite", "ctl", "copse-sim", "copse-trace", "mpi-library", "copse-run"] + _TESTS,
    "testbed": ["bench", "integration-tests"],
    "fixture-inner": ["fixture-outer"],
}

# Why a target fails. For each room that it reaches, `paths` has one path there.
WallInfo = provider(fields = ["paths", "violations"])

_ATTRIBUTES = [
    "deps",
    "implementation_deps",
    "srcs",
    "hdrs",
    "textual_hdrs",
    "data",
    "actual",
    "additional_linker_inputs",
]

def _room(label):
    """The room of a label, or None."""
    if label.workspace_name:
        return None
    package = "//" + label.package
    names = [package + ":" + label.name]
    parts = package.split("/")
    for end in range(len(parts), 2, -1):
        names.append("/".join(parts[:end]))
    for name in names:
        if name in _ROOMS:
            return _ROOMS[name]
    return None

def _walls_aspect_impl(target, ctx):
    me = str(target.label)
    room = _room(target.label)
    paths = {}
    for attribute in _ATTRIBUTES:
        dependencies = getattr(ctx.rule.attr, attribute, None)
        if not dependencies:
            continue
        for dependency in dependencies if type(dependencies) == "list" else [dependencies]:
            # A label attribute holds targets; a dictionary or string of the same name does not concern us.
            if type(dependency) != "Target" or WallInfo not in dependency:
                continue
            for reached, path in dependency[WallInfo].paths.items():
                if reached not in paths:
                    paths[reached] = me + " -> " + path
    violations = [
        "%s never reaches %s: %s" % (room, forbidden, paths[forbidden])
        for forbidden in _WALLS.get(room, [])
        if forbidden in paths and not getattr(ctx.rule.attr, "testonly", False)
    ]
    if room:
        paths[room] = me
    info = WallInfo(paths = paths, violations = violations)
    if not violations or room == "fixture-inner":  # The fixture's violations go into walls_report only.
        return [info]

    # Nothing reads this file; it is made, and fails, because it is a validation.
    verdict = ctx.actions.declare_file(target.label.name + ".walls")
    ctx.actions.run_shell(
        outputs = [verdict],
        command = "printf 'wall broken: %s\n' \"$@\" >&2; exit 1",
        arguments = violations,
        mnemonic = "Wall",
        progress_message = "Checking walls of " + me,
    )
    return [info, OutputGroupInfo(_validation = depset([verdict]))]

walls_aspect = aspect(
    implementation = _walls_aspect_impl,
    attr_aspects = _ATTRIBUTES,
)

def _walls_report_impl(ctx):
    report = ctx.actions.declare_file(ctx.label.name + ".txt")
    lines = [violation + "\n" for subject in ctx.attr.subjects for violation in subject[WallInfo].violations]
    ctx.actions.write(report, "".join(lines))
    return [DefaultInfo(files = depset([report]), runfiles = ctx.runfiles([report]))]

# Writes the broken walls of `subjects` to a file, for the walls' own test.
walls_report = rule(
    implementation = _walls_report_impl,
    attrs = {"subjects": attr.label_list(aspects = [walls_aspect])},
)
