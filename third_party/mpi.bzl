# SPDX-License-Identifier: Apache-2.0
"""Programs for MPI, built once with each library."""

MPI_LIBRARIES = ["mpich", "openmpi"]

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
