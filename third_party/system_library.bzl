# SPDX-License-Identifier: Apache-2.0
"""A C++ library of the system, found by the linker in its default directories."""

def system_library(name, libs = None, as_needed = True, **kwargs):
    """Declares a cc_library that carries only the linker flags of system libraries.

    Bazel links with --no-as-needed; without the flags below every program would load all of Abseil at start.

    Args:
      name: the target's name.
      libs: names as the linker takes them after -l, dependents first; `name` unless given.
      as_needed: False for a library that works by being loaded (its static constructors register something).
      **kwargs: visibility, testonly, defines, deps.
    """
    native.cc_library(
        name = name,
        linkopts = (
            ["-Wl,--push-state,--as-needed" if as_needed else "-Wl,--push-state,--no-as-needed"] +
            ["-l" + lib for lib in libs or [name]] +
            ["-Wl,--pop-state", "-pthread"]
        ),
        **kwargs
    )
