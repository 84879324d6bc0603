# SPDX-License-Identifier: Apache-2.0
"""Fuzz targets: what parses bytes that we do not control."""

load("//tools/rules:library.bzl", "precompiled_for_code")

def copse_fuzz(name, deps, mutations = 5000, **kwargs):
    """Declares a fuzz target, and a test of it.

    `name` is a libFuzzer program. It needs --config=fuzz, so no wildcard builds it: tools/fuzz does. `name`_test runs
    the same code on its seeds and on mutations of them, with any compiler.

    Args:
      name: "SUBJECT_fuzz"; the source is SUBJECT_fuzz.cc, which defines what tools/fuzzing/target.h declares.
      deps: of the source.
      mutations: the number of mutations that the test takes.
      **kwargs: of both, such as size.
    """
    include, header = precompiled_for_code()
    native.cc_library(
        name = name + "_target",
        testonly = True,
        srcs = [name + ".cc"],
        copts = include,
        deps = deps + ["//tools/fuzzing:target"] + header,
        # The programs below call it, and come before it on the linker's command line.
        alwayslink = True,
    )
    native.cc_binary(
        name = name,
        testonly = True,
        linkopts = ["-fsanitize=fuzzer"],
        tags = [
            "fuzz",
            "manual",
        ],
        deps = [
            ":" + name + "_target",
            "//tools/fuzzing:libfuzzer_main",
        ],
    )
    native.cc_test(
        name = name + "_test",
        size = "small",
        args = [str(mutations)],
        deps = [
            ":" + name + "_target",
            "//tools/fuzzing:mutations_main",
        ],
        **kwargs
    )
