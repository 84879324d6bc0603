# SPDX-License-Identifier: Apache-2.0
"""A library with its test, by convention: NAME.cc and NAME.h, NAME_test.cc."""

# Tags of a test that makes network namespaces, as root: outside Bazel's sandbox.
NAMESPACE_TAGS = ["local", "no-sandbox"]

# Tags of a test that moreover measures times, or runs ranks that poll: alone, after all builds.
MACHINE_TAGS = NAMESPACE_TAGS + ["exclusive"]

# Folders whose code does most of the work of tests, and what below them does not. Elsewhere optimizing takes longer than
# it saves. Releases and sanitizers optimize all.
_OPTIMIZED = [
    "base",
    "collectives",
    "daemon/core",
    "integration_tests/sim",
    "offload_emu",
    "planner",
    "rpc",
    "schedule",
    "sim",
    "testbed/fabric",
]
_NOT_OPTIMIZED = ["planner/admin", "planner/etcd", "planner/server", "planner/sessions", "planner/store"]

def _is_in(folders):
    here = native.package_name()
    return any([here == folder or here.startswith(folder + "/") for folder in folders])

def precompiled(header):
    """Returns copts and deps of who has the common headers compiled, where that is done.

    Args:
      header: the target of //tools/rules that has them.
    """
    yes = "//tools/rules:precompiled"
    copts = ["-include", "$(BINDIR)/tools/rules/%s.h" % header]
    if header.startswith("plain"):
        copts.append("-O0")
    return (
        select({yes: copts, "//conditions:default": []}),
        select({yes: ["//tools/rules:" + header], "//conditions:default": []}),
    )

def precompiled_for_code():
    """Returns what `precompiled` does, for code that is no test."""
    return precompiled("library_precompiled" if _is_in(_OPTIMIZED) and not _is_in(_NOT_OPTIMIZED) else "plain_precompiled")

def _once(labels):
    return {label: None for label in labels}.keys()

def copse_test_cases(name, srcs = None, deps = [], **kwargs):
    """Declares cases of GoogleTest that several tests run, each in its own way: they are compiled once.

    Args:
      name: the library's; the tests have it in `deps`, and no `srcs`.
      srcs: as cc_library's; NAME.cc unless given.
      deps: what they need besides GoogleTest.
      **kwargs: as cc_library's.
    """
    include, header = precompiled("test_precompiled")
    native.cc_library(
        name = name,
        testonly = True,
        srcs = [name + ".cc"] if srcs == None else srcs,
        copts = include,
        deps = list(_once(deps + ["//third_party:gtest"])) + header,
        alwayslink = True,
        **kwargs
    )

def copse_test(name, srcs = None, deps = [], size = "small", copts = [], main = "//third_party:gtest_main", **kwargs):
    """Declares a test of GoogleTest.

    Args:
      name: the test's.
      srcs: as cc_test's; NAME.cc unless given.
      deps: what it needs besides GoogleTest.
      size: as cc_test's.
      copts: as cc_test's.
      main: GoogleTest with its `main`; without, //third_party:gtest, if `deps` have another.
      **kwargs: as cc_test's.
    """
    include, header = precompiled("test_precompiled")
    native.cc_test(
        name = name,
        size = size,
        srcs = [name + ".cc"] if srcs == None else srcs,
        copts = copts + include,
        deps = list(_once(deps + [main])) + header,
        **kwargs
    )

def copse_binary(name, deps = [], **kwargs):
    """Declares a program.

    Args:
      name: the program's.
      deps: as cc_binary's.
      **kwargs: as cc_binary's.
    """
    include, header = precompiled_for_code()
    native.cc_binary(name = name, copts = include, deps = deps + header, **kwargs)

def copse_library(
        name,
        srcs = None,
        hdrs = None,
        deps = [],
        copts = [],
        test_deps = [],
        test_size = "small",
        test_data = [],
        test_tags = [],
        **kwargs):
    """Declares a library of those of NAME.cc and NAME.h that exist, and its test if NAME_test.cc does.

    Args:
      name: the library's; its test is NAME_test.
      srcs: as cc_library's, for a library of other files, whose test is declared apart.
      hdrs: as cc_library's, likewise.
      deps: as cc_library's. The test has them as well.
      copts: as cc_library's.
      test_deps: what the test needs besides the library, `deps` and GoogleTest.
      test_size: as cc_test's size.
      test_data: as cc_test's data.
      test_tags: as cc_test's tags.
      **kwargs: as cc_library's.
    """
    sources = native.glob([name + ".cc"]) if srcs == None else srcs

    # Not for another target's instructions or language: clang refuses what was compiled with other flags.
    include, header = precompiled_for_code() if sources and not copts else ([], [])
    native.cc_library(
        name = name,
        srcs = sources,
        hdrs = native.glob([name + ".h"]) if hdrs == None else hdrs,
        copts = copts + include,
        deps = deps + header,
        **kwargs
    )
    if srcs == None and hdrs == None and native.glob([name + "_test.cc"]):
        copse_test(
            name = name + "_test",
            size = test_size,
            data = test_data,
            tags = test_tags,
            deps = _once([":" + name] + deps + test_deps),
        )
