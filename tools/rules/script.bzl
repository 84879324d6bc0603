# SPDX-License-Identifier: Apache-2.0
"""Tests that are scripts."""

def script_test(name, files = [], args = [], data = [], size = "small", **kwargs):
    """Declares an sh_test of NAME.sh or NAME.py.

    Args:
      name: the test's.
      files: files and programs whose paths are the script's first arguments.
      args: further arguments.
      data: as sh_test's, besides `files`.
      size: as sh_test's.
      **kwargs: as sh_test's.
    """
    native.sh_test(
        name = name,
        size = size,
        srcs = native.glob([name + ".sh", name + ".py"]),
        args = ["$(location %s)" % file for file in files] + args,
        data = files + data,
        **kwargs
    )
