#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that clang-format would change nothing. Usage: format.py [--fix] [FILE...]; by default of all, and
only of C++."""

import concurrent.futures
import os
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
import tidy  # pylint: disable=wrong-import-position

# One version, since they disagree.
CLANG_FORMAT = "clang-format-14"
# Files of one run, since its start takes longer than a file.
BATCH = 50


def badly_formatted(root, paths):
    """Returns those of the files that clang-format would change."""
    run = subprocess.run([CLANG_FORMAT, "--dry-run", "-Werror", *paths], cwd=root, stdin=subprocess.DEVNULL,
                         stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    if run.returncode == 0:
        return []
    return paths if len(paths) == 1 else [path for path in paths if badly_formatted(root, [path])]


def main(arguments):
    root = tidy.checkout()
    fix = "--fix" in arguments
    given = [os.path.relpath(os.path.abspath(argument), root) for argument in arguments if argument != "--fix"]
    # clang-format would take a script for C++.
    paths = [path for path in given or tidy.paths_in(root)
             if path.endswith(tidy.CXX) and os.path.isfile(os.path.join(root, path))]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        batches = [paths[i:i + BATCH] for i in range(0, len(paths), BATCH)]
        bad = [path for some in pool.map(lambda batch: badly_formatted(root, batch), batches) for path in some]
    if fix and bad:
        subprocess.run([CLANG_FORMAT, "-i", *bad], cwd=root, check=True)
    for path in bad:
        print(f"{path}: {'formatted' if fix else 'not formatted'}")
    print(f"format: {len(paths)} files, {len(bad)} {'changed' if fix else 'to change (tools/tidy/format.py --fix)'}")
    return 1 if bad and not fix else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
