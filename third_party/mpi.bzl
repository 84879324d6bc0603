# SPDX-License-Identifier: Apache-2.0
"""Programs for MPI, built once with each library."""

load("//tools/rules:library.bzl", "MACHINE_TAGS")

MPI_LIBRARIES = ["mpich", "openmpi"]

# Tags of a test that launches MPI jobs: launchers make files in /tmp and sockets on loopback. Sanitizers find the MPIs'
# own leaks, and programs that others compiled cannot load a library with a sanitizer's runtime.
MPI_JOB_TAGS = MACHINE_TAGS + ["nosanitizer"]

def of_each_mpi(names):
    """The targets NAME_mpich and NAME_openmpi; in `names`, {} is where the library stands if not at the end."""
    return [
        (name if "{}" in name else name + "_{}").format(library)
        for name in names
        for library in MPI_LIBRARIES
    ]

# MPICH's header declares arrays of statuses, for which gcc takes MPI_STATUSES_IGNORE. Clang does not know this warning.
_COPTS = [
    "-Wno-unknown-warning-option",
    "-Wno-stringop-overflow",
]

def mpi_binaries(name, srcs, deps = [], copts = [], **kwargs):
    """Declares NAME_mpich and NAME_openmpi, cc_binary targets of the same sources.

    Args:
      name: the targets' names begin with it.
      srcs: C or C++ sources that include <mpi.h>.
      deps: what both need besides the MPI library.
      copts: as cc_binary's.
      **kwargs: as cc_binary's.
    """
    for library in MPI_LIBRARIES:
        native.cc_binary(
            name = name + "_" + library,
            srcs = srcs,
            copts = copts + _COPTS,
            deps = deps + ["@%s//:%s" % (library, library)],
            **kwargs
        )
