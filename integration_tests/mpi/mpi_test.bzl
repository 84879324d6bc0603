# SPDX-License-Identifier: Apache-2.0
"""Tests that start MPI programs."""

load("//third_party:mpi.bzl", "MPI_JOB_TAGS", "MPI_LIBRARIES")

def with_both(names):
    """The targets NAME_mpich and NAME_openmpi; in `names`, {} is where the library stands if not at the end."""
    return [
        (name if "{}" in name else name + "_{}").format(library)
        for name in names
        for library in MPI_LIBRARIES
    ]

def mpi_test(name, srcs = None, programs = [], data = [], deps = [], tags = [], **kwargs):
    """Declares a test of GoogleTest.

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
        tags = MPI_JOB_TAGS + tags,
        deps = deps + [
            "//integration_tests/mpi:mpi_job",
            "//third_party:absl",
            "//third_party:gtest_main",
        ],
        **kwargs
    )
