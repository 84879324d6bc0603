# SPDX-License-Identifier: Apache-2.0
"""Builds programs of earlier releases, for tests of clusters that are upgraded."""

import os
import shutil
import subprocess

# Releases whose daemons and planners must work with today's (docs/reference/versions.md), by commit.
RELEASES = {"0.2.0": "e3d163f8ef7334f429b49baf4b182eb388db0c4b"}
PROGRAMS = ("planner/server/copse-planner", "daemon/copsed", "cli/ctl/copsectl", "client/libcopse.so.0",
            "cli/perftest/copse-perftest")


def make(bazel):
    """Returns a folder with a folder for each release, which has its programs. `bazel` makes the words of a command."""
    made = os.path.join(os.getcwd(), "out", "releases")
    for name, commit in RELEASES.items():
        target = os.path.join(made, name)
        if all(os.path.exists(os.path.join(target, os.path.basename(program))) for program in PROGRAMS):
            continue
        print(f"== release {name}: bazel build", flush=True)
        source = os.path.join(os.getcwd(), "out", f"source-{name}")
        subprocess.run(["git", "worktree", "remove", "--force", source], stderr=subprocess.DEVNULL, check=False)
        subprocess.run(["git", "worktree", "add", "--force", "--detach", source, commit], check=True)
        try:
            targets = [f"//{os.path.dirname(program)}:{os.path.basename(program)}" for program in PROGRAMS]
            subprocess.run(bazel("build", "--noshow_progress", *targets), stdin=subprocess.DEVNULL, cwd=source, check=True)
            root = subprocess.run(bazel("info", "bazel-bin"), cwd=source, stdout=subprocess.PIPE, text=True, check=True)
            os.makedirs(target, exist_ok=True)
            for program in PROGRAMS:
                shutil.copy(os.path.join(root.stdout.strip(), program), target)
        finally:
            subprocess.run(bazel("clean", "--expunge"), stdin=subprocess.DEVNULL, cwd=source, check=False)
            subprocess.run(["git", "worktree", "remove", "--force", source], check=False)
    return made
