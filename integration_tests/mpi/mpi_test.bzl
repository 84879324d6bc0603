# SPDX-License-Identifier: Apache-2.0
"""Tests that start MPI programs."""

load("//third_party:mpi.bzl", "MPI_JOB_TAGS", "of_each_mpi")
load("//tools/rules:library.bzl", "copse_test")

def mpi_test(name, srcs = None, programs = [], data = [], deps = [], tags = [], **kwargs):
    """Declares a test of GoogleTest.

    Args:
      name: the test's.
      srcs: as copse_test's.
      programs: as of_each_mpi()'s names, those that it starts.
      data: as cc_test's, besides.
      deps: as cc_test's, besides mpi_job, Abseil and GoogleTest.
      tags: as cc_test's, besides.
      **kwargs: as cc_test's.
    """
    copse_test(
        name = name,
        srcs = srcs,
        data = of_each_mpi(programs) + data,
        tags = MPI_JOB_TAGS + tags,
        deps = deps + [
            "//integration_tests/mpi:mpi_job",
            "//third_party:absl",
        ],
        **kwargs
    )
