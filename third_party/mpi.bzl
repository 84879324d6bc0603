# SPDX-License-Identifier: Apache-2.0
"""Programs for MPI, built once with each library."""

MPI_LIBRARIES = ["mpich", "openmpi"]

def mpi_binaries(name, srcs, deps = [], **kwargs):
    """Declares NAME_mpich and NAME_openmpi, cc_binary targets of the same sources.

    Args:
      name: the targets' names begin with it.
      srcs: C or C++ sources that include <mpi.h>.
      deps: what both need besides the MPI library.
      **kwargs: as cc_binary's.
    """
    for library in MPI_LIBRARIES:
        native.cc_binary(
            name = name + "_" + library,
            srcs = srcs,
            deps = deps + ["@%s//:%s" % (library, library)],
            **kwargs
        )
