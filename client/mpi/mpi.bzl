# SPDX-License-Identifier: Apache-2.0
"""Libraries and tests that are compiled once with each MPI's header, as MPIs' handles differ."""

load("//third_party:mpi.bzl", "MPI_LIBRARIES")
load("//tools/rules:library.bzl", "precompiled")

def _headers(library):
    return ["@%s//:headers" % library] + (["@pmix//:headers"] if library == "openmpi" else [])

_MPI_API = "//client/mpi/api:mpi_api"

def _of(library, labels):
    return ["%s_%s" % (label, library) for label in labels]

def mpi_library(name, srcs = None, hdrs = None, deps = [], mpi_deps = [], **kwargs):
    """Declares NAME_mpich and NAME_openmpi, cc_library targets that are linked with no MPI.

    Args:
      name: the targets' names begin with it.
      srcs: as cc_library's; `{mpi}` in a name stands for mpich or openmpi. NAME.cc, if it exists, unless given.
      hdrs: as cc_library's. NAME.h unless given.
      deps: what does not depend on the MPI.
      mpi_deps: other targets of this macro, besides mpi_api.
      **kwargs: as cc_library's.
    """
    is_mpi_api = "//%s:%s" % (native.package_name(), name) == _MPI_API
    all_mpi_deps = mpi_deps if is_mpi_api else mpi_deps + [_MPI_API]
    include, header = precompiled("plain_hidden_precompiled")
    for library in MPI_LIBRARIES:
        native.cc_library(
            name = "%s_%s" % (name, library),
            srcs = [src.replace("{mpi}", library) for src in srcs or native.glob([name + ".cc"])],
            hdrs = hdrs or [name + ".h"],
            copts = ["-fvisibility=hidden"] + include,
            deps = deps + _of(library, all_mpi_deps) + _headers(library) + header,
            **kwargs
        )

def mpi_test(name, deps = [], mpi_deps = [], **kwargs):
    """Declares NAME_mpich_test and NAME_openmpi_test, small tests that are linked with the MPI.

    Args:
      name: the targets' names begin with it; the source is NAME_test.cc.
      deps: what does not depend on the MPI.
      mpi_deps: targets of mpi_library.
      **kwargs: as cc_test's.
    """
    include, header = precompiled("test_precompiled")
    for library in MPI_LIBRARIES:
        native.cc_test(
            name = "%s_%s_test" % (name, library),
            size = "small",
            srcs = [name + "_test.cc"],
            copts = include,
            # The MPIs' plugins leave memory behind at their end.
            env = {"LSAN_OPTIONS": "detect_leaks=0"},
            deps = deps + _of(library, mpi_deps) + [
                "//third_party:gtest_main",
                "@%s//:%s" % (library, library),
            ] + _headers(library) + header,
            **kwargs
        )

def mpi_job_test(name, env = {}, **kwargs):
    """Declares NAME_mpich_test and NAME_openmpi_test, tests whose program is a job of MPI (testing/mpi_job.h).

    Args:
      name: the targets' names begin with it; the source is NAME_test.cc.
      env: what the ranks have in their environment.
      **kwargs: as cc_test's.
    """
    include, header = precompiled("test_precompiled")
    for library in MPI_LIBRARIES:
        native.cc_test(
            name = "%s_%s_test" % (name, library),
            size = "small",
            srcs = [name + "_test.cc"],
            copts = include,
            args = [library],
            data = ["//client/mpi:libcopse-mpi.so", "//client/mpi:libcopse-mpi-%s.so" % library],
            env = env,
            # What is preloaded comes before a sanitizer's runtime.
            tags = ["nosanitizer"],
            deps = _of(library, ["//client/mpi/testing:mpi_job", _MPI_API]) + [
                "//third_party:gtest",
                "@%s//:%s" % (library, library),
            ] + _headers(library) + header,
            **kwargs
        )
