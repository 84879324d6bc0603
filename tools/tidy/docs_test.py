#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Pages say what the programs say.

Arguments: copsed, copse-planner, copsectl, copse-sim.
"""

import os
import re
import subprocess
import sys
import unittest

DOCS = os.path.realpath(os.path.join(os.path.dirname(os.path.realpath(__file__)), "../../docs"))
PROGRAMS = [os.path.realpath(path) for path in sys.argv[1:]]


def read(name):
    with open(os.path.join(DOCS, name), encoding="utf-8") as stream:
        return stream.read()


def output(*command):
    return subprocess.run(command, env={}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
                          check=True).stdout


def pages():
    yield os.path.join(DOCS, "..", "README.md")
    yield os.path.join(DOCS, "..", "CONTRIBUTING.md")
    for folder, _, names in os.walk(DOCS):
        for name in sorted(names):
            if name.endswith(".md"):
                yield os.path.join(folder, name)


def anchor(title):
    """Returns how GitHub names the section of this title in links."""
    return re.sub(r"[^\w -]", "", re.sub(r"\]\([^)]*\)", "]", title).lower()).replace(" ", "-")


class DocsTest(unittest.TestCase):

    def test_every_configuration_key_has_a_row_with_its_default(self):
        page = read("reference/configuration.md")
        sections = dict(zip(("copsed", "copse-planner"), re.split(r"^## copse-planner$", page, flags=re.M)))
        for program in PROGRAMS[:2]:
            section = sections[os.path.basename(program)]
            printed = output(program, "--config", "/dev/null", "--print-config")
            keys = re.findall(r"^# Default: (.*?)(?:; .*)?\. Environment: .*\n(\w+):", printed, flags=re.M)
            self.assertGreater(len(keys), 5, printed)
            for default, key in keys:
                row = re.search(rf"^\| `{key}` \| (.*?) \|", section, flags=re.M)
                self.assertIsNotNone(row, f"no row for {program}: {key}")
                if default != "(empty)":
                    self.assertEqual(row.group(1), f"`{default}`", key)
            rows = set(re.findall(r"^\| `(\w+)` \|", section, flags=re.M))
            self.assertEqual(rows, {key for _, key in keys}, program)

    def test_every_verb_of_copsectl_is_described(self):
        page = read("reference/copsectl.md")
        copsectl = PROGRAMS[2]
        verbs = re.findall(r"^  (\w+)  +(.*)$", output(copsectl, "--help").split("Verbs:")[1], flags=re.M)
        self.assertGreater(len(verbs), 5)
        for name, what in verbs:
            verb_help = output(copsectl, name, "--help")
            members = re.findall(r"^  ([\w-]+) ", verb_help.split("Verbs:")[1], flags=re.M) if "Verbs:" in verb_help else []
            self.assertEqual(members, what.split(", ") if members else [], name)
            for command in [f"{name} {member}" for member in members] or [name]:
                self.assertIn(f"`{command}", page)

    def test_every_verb_of_copse_sim_has_a_section(self):
        page = read("reference/copse-sim.md")
        copse_sim = PROGRAMS[3]
        verbs = re.findall(r"^  (\w+)  +", output(copse_sim, "--help").split("Verbs:")[1], flags=re.M)
        self.assertGreater(len(verbs), 4)
        for verb in verbs:
            self.assertRegex(page, rf"(?m)^## .*`{verb}")

    def test_links_lead_somewhere(self):
        texts = {}
        for page in pages():
            with open(page, encoding="utf-8") as stream:
                texts[os.path.realpath(page)] = re.sub(r"```.*?```", "", stream.read(), flags=re.S)
        anchors = {page: {anchor(title) for title in re.findall(r"^#+ (.*)$", text, flags=re.M)} for page, text in texts.items()}
        count = 0
        for page, text in texts.items():
            for path, section in re.findall(r"\]\(([^)#\s]*)#?([^)]*)\)", text):
                if "://" in path:
                    continue
                count += 1
                target = os.path.realpath(os.path.join(os.path.dirname(page), path)) if path else page
                where = f"{os.path.relpath(page, DOCS)}: {path}#{section}"
                self.assertTrue(os.path.exists(target), where)
                if section and target in anchors:
                    self.assertIn(section, anchors[target], where)
        self.assertGreater(count, 100)

    def test_paths_of_code_in_the_architecture_and_its_decisions_exist(self):
        names = ["ARCHITECTURE.md"] + [f"decisions/{name}" for name in os.listdir(os.path.join(DOCS, "decisions"))]
        for name in names:
            for path in re.findall(r"`(\w[\w.-]*/[\w./-]*)`", re.sub(r"```.*?```", "", read(name), flags=re.S)):
                self.assertTrue(os.path.exists(os.path.join(DOCS, "..", path)), f"{name}: {path}")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
