#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The commands of admin.md's Certificates make four nodes with TLS, as they are printed. A report of a bug has no key.

Arguments: admin.md, copse-ca, copse-planner, copsed, copsectl.
"""

import os
import re
import signal
import subprocess
import sys
import tempfile
import time

PATIENCE_S = 60
COMMANDS_MAX = 10


def run(shell, command):
    """Returns the lines that the shell's command prints."""
    shell.stdin.write(f"{command} || true\necho END\n")
    shell.stdin.flush()
    lines = []
    for line in shell.stdout:
        if line == "END\n":
            break
        lines.append(line)
    assert shell.poll() is None, f"a command failed: {lines}"
    return lines


def check_support(shell, folder, copsectl):
    """Collects a report with this user's key, and with a node's key in the place of a configuration."""
    said = run(shell, f"{copsectl} support support.tar --config copse-ca/node/n1.key")
    with open(os.path.join(folder, "support.tar"), "rb") as stream:
        archive = stream.read()
    assert b'"n4"' in archive, said
    for key in ("node/n1.key", "administrator/tester.key"):
        with open(os.path.join(folder, "copse-ca", key), "rb") as stream:
            lines = [line for line in stream.read().split() if len(line) > 20]
        assert lines and not any(line in archive for line in lines), key


def main():
    page, *programs = sys.argv[1:]
    with open(page, encoding="utf-8") as stream:
        section = stream.read().split("\n## Certificates\n")[1]
    commands = re.search(r"```sh\n(.*?)```", section, re.DOTALL).group(1).strip().split("\n")
    assert len(commands) <= COMMANDS_MAX, commands
    path = os.pathsep.join({os.path.dirname(os.path.realpath(program)) for program in programs})
    with tempfile.TemporaryDirectory(prefix="copse") as folder:
        # Bash reads the page's commands, then the test's: the last one again until the nodes are there.
        shell = subprocess.Popen(["bash", "-e"], cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                 env={"PATH": path + os.pathsep + os.environ["PATH"], "USER": "tester"},
                                 start_new_session=True)
        try:
            shell.stdin.write("\n".join(commands[:-1]) + "\n")
            deadline = time.monotonic() + PATIENCE_S
            ready = 0
            while ready < 4:
                assert time.monotonic() < deadline, f"{ready} nodes are ready after {PATIENCE_S} s"
                ready = sum(1 for line in run(shell, commands[-1]) if re.match(r"n[1-4] +ready ", line))
                if ready < 4:
                    time.sleep(0.1)  # tidy: allow(sleep) because another process's state gives no event here
            check_support(shell, folder, commands[-1].removesuffix("node list"))
        finally:
            os.killpg(shell.pid, signal.SIGTERM)
            shell.stdin.close()
            shell.wait()
            # The programs have the shell's output, which ends with the last of them.
            shell.stdout.read()


if __name__ == "__main__":
    main()
