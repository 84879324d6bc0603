# SPDX-License-Identifier: Apache-2.0
"""Tests that start MPI programs."""

load("//third_party:mpi.bzl", "MPI_LIBRARIES")

def with_both(names):
    """The targets NAME_mpich and NAME_openmpi; in `names`, {} is where the library stands if not at the end."""
    return [
        (name if "{}" in name else name + "_{}").format(library)
        for name in names
        for library in MPI_LIBRARIES
    ]

def mpi_test(name, srcs = None, programs = [], data = [], deps = [], tags = [], **kwargs):
    """Declares a test of GoogleTest.

    Launchers make files in /tmp and sockets on loopback. Sanitizers find the MPIs' own leaks, and programs that others
    compiled cannot load a library with a sanitizer's runtime.

    Args:
      name: the test's.
      srcs: as cc_test's; NAME.cc if there are none.
      programs: as with_both()'s names, those that it starts.
      data: as cc_test's, besides.
      deps: as cc_test's, besides mpi_job, Abseil and GoogleTest.
      tags: as cc_test's, besides.
      **kwargs: as cc_test's.
    """
    native.cc_test(
        name = name,
        srcs = srcs or [name + ".cc"],
        data = with_both(programs) + data,
        tags = ["exclusive", "local", "no-sandbox", "nosanitizer"] + tags,
        deps = deps + [
            "//integration_tests/mpi:mpi_job",
            "//third_party:absl",
            "//third_party:gtest_main",
        ],
        **kwargs
    )
