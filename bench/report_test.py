#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What lines make."""

import contextlib
import io
import json
import os
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
import report  # pylint: disable=wrong-import-position


def row(**fields):
    made = {field: "" for field in report.FIELDS}
    made.update(bench="latency", case="allreduce 48 B, idle", system="copse", collective="allreduce", algorithm="flat",
                nodes=8, ppn=1, ranks=8, bytes=48, metric="latency", unit="us", runs=10, p10=90, median=100, p90=1234.5,
                seed=0, date="2026-11-21", commit="abc", command="tools/bench latency", machine="2 cores")
    made.update(fields)
    return made


def ratio(**fields):
    return row(**{"metric": "ratio", "unit": "1", "peer": "openmpi", "p10": 0.4, "median": 0.5, "p90": 0.6, **fields})


class TablesTest(unittest.TestCase):

    def test_systems_stand_beside_each_other_before_their_ratios(self):
        rows = [row(system="openmpi+copse", runs=1), ratio(system="openmpi+copse", target=0.4, met=False),
                row(system="openmpi", median=20, p10=10, p90=30), row(system="copse", metric="unfinished"),
                row(metric="cells not ahead")]
        self.assertEqual(report.by_system(rows).splitlines(),
                         ["| case | nodes x ranks | unit | openmpi+copse | openmpi | copse | openmpi+copse / openmpi |",
                          "| --- | --- | --- | --- | --- | --- | --- |",
                          "| allreduce 48 B, idle | 8 x 1 | us | 100 | 20 (10 to 30) | unfinished | "
                          "0.5 (0.4 to 0.6) (at most 0.4: **missed**) |"])
        self.assertEqual(report.by_system([row(metric="worst ratio")]), report.NOT_MEASURED)

    def test_figures_of_a_cell_stand_in_a_line(self):
        rows = [row(runs=1), row(metric="p99", runs=1, median=300, target=400, met=True),
                row(system="mpich", metric="unfinished"), ratio(peer="link", target=0.333, met=False)]
        self.assertEqual(report.by_metric(rows).splitlines(), [
            "| case | nodes x ranks | system | algorithm | latency, us | p99, us | unfinished, us | ratio / link |",
            "| --- | --- | --- | --- | --- | --- | --- | --- |",
            "| allreduce 48 B, idle | 8 x 1 | copse | flat | 100 | 300 (at most 400: met) |  | "
            "0.5 (0.4 to 0.6) (at most 0.333: **missed**) |",
            "| allreduce 48 B, idle | 8 x 1 | mpich | flat |  |  | unfinished |  |"])

    def test_mean_times_stand_by_nodes_beside_what_was_published(self):
        rows = [row(case=f"bcast 1 kB, {counted}", algorithm="MGO", nodes=nodes, metric="mean time", unit="ms", runs=1, median=ms)
                for nodes, counted, ms in ((8, "sound", 2000), (4, "published", 900), (4, "sound", 1000))]
        self.assertEqual(report.by_nodes(rows).splitlines()[2:],
                         ["| bcast 1 kB, published | MGO | mean time, ms | 900 |  |",
                          "| bcast 1 kB, sound | MGO | mean time, ms | 1,000 | 2,000 |"])

    def test_targets_say_what_was_met(self):
        page = report.targets([
            ratio(target=0.4, met=False), row(), row(system="openmpi+copse", metric="added", target=100, met=True),
            row(bench="idle", case="daemon", metric="memory", unit="MB", runs=1, median=7, target=40, met=True)
        ])
        self.assertIn("| latency | allreduce 48 B, idle | 8 x 1 | 0.5 (0.4 to 0.6) | 0.4 x openmpi | **missed** |", page)
        self.assertIn("| idle | daemon, memory | 8 x 1 | 7 | 40 MB | met |", page)
        self.assertIn("| allreduce 48 B, idle, added, openmpi+copse |", page)
        self.assertEqual(len(page.split("\n")), 5)


class ListTest(unittest.TestCase):

    def test_every_benchmark_is_listed(self):
        folder = os.path.dirname(os.path.realpath(__file__))
        with open(os.path.join(folder, "cases.yaml"), encoding="utf-8") as source:
            names = [line.split()[-1] for line in source if line.startswith("  - name: ")]
        listed = subprocess.run([os.path.join(folder, "../tools/bench"), "--list"], capture_output=True, text=True,
                                check=True).stdout.splitlines()
        self.assertEqual([line.split()[0] for line in listed], names)
        self.assertIn("plan-time", [line.split()[0] for line in listed])

    def test_mistakes_are_told_before_anything_is_built(self):
        bench = os.path.join(os.path.dirname(os.path.realpath(__file__)), "../tools/bench")
        for words, said in ((["hopp"], "no such benchmark; try --list (name=hopp)"),
                            (["hop", "--qiuck"], "no such option; try --help (argument=--qiuck)"),
                            (["--only", "x", "plan"], "no such benchmark; try --list (name=plan)"),
                            (["hop", "--only"], "value missing (flag=--only)"),
                            (["--json", "", "hop"], "value missing (flag=--json)")):
            ended = subprocess.run([bench, *words], capture_output=True, text=True, check=False, timeout=20)
            self.assertEqual(ended.returncode, 2, words)
            self.assertEqual(ended.stderr, f"tools/bench: usage: {said}\n")
        ended = subprocess.run([bench, "--json", "/nonexistent/rows", "hop"], capture_output=True, text=True,
                               check=False, timeout=20)
        self.assertEqual((ended.returncode, ended.stderr),
                         (2, "tools/bench: --json: cannot be written (file=/nonexistent/rows)\n"))


class ReportTest(unittest.TestCase):

    def test_figures_have_three_digits(self):
        for value, text in ((0, "0"), (0.012345, "0.0123"), (1.5, "1.5"), (99.96, "100"), (1234.5, "1,234"), (20, "20")):
            self.assertEqual(report.figure(value), text)

    @unittest.skipIf(report.pyplot is None, "no matplotlib")
    def test_a_benchmark_has_its_provenance_and_its_tables(self):
        page = report.generate([row(bench="hop", note="a|b"), row(bench="noise"), row(bench="hop")])[report.PAGE]
        self.assertEqual([line for line in page.split("\n") if line.startswith("#")],
                         ["# Benchmarks", "## Targets", "## hop", "## noise"])
        self.assertIn("Date: 2026-11-21. Commit: abc. Command: `tools/bench latency`. Machine: 2 cores.", page)
        self.assertEqual(page.count("| a\\|b |"), 1)

    @unittest.skipIf(report.pyplot is None, "no matplotlib")
    def test_pictures_are_made_where_there_are_figures(self):
        rows = [row(nodes=nodes, system=system, median=10 * nodes, p90=11 * nodes, p10=9 * nodes)
                for nodes in (2, 4) for system in ("copse", "mpich")] + [ratio(target=1.2, met=True)]
        rows += [row(bench="mgo-table", case=f"bcast 1 kB, {counted}", algorithm="MGO", nodes=nodes, metric="mean time")
                 for nodes in (4, 8) for counted in ("sound", "published")]
        files = report.generate(rows)
        self.assertEqual(sorted(files), ["benchmarks.md", "plots/latency_idle.svg", "plots/mgo_means.svg", "plots/ratios.svg"])
        self.assertIn("<svg", files["plots/latency_idle.svg"])
        self.assertIn("(plots/latency_idle.svg)", files[report.PAGE])
        self.assertNotIn("latency_busy", files[report.PAGE])
        self.assertEqual(files, report.generate(rows))

    @unittest.skipIf(report.pyplot is None, "no matplotlib")
    def test_files_are_written_into_the_folder_of_the_lines_that_it_has_or_that_are_named(self):
        with tempfile.TemporaryDirectory() as root, contextlib.redirect_stdout(io.StringIO()):
            lines = os.path.join(root, "a.jsonl")
            with open(lines, "w", encoding="utf-8") as stream:
                stream.write(json.dumps(row()) + "\n")
            self.assertEqual(report.main([root]), 0)
            self.assertEqual(sorted(os.listdir(root)), ["a.jsonl", "benchmarks.md", "plots"])
            self.assertEqual(os.listdir(os.path.join(root, "plots")), ["latency_idle.svg"])
            other = os.path.join(root, "new/other")
            self.assertEqual(report.main([other, lines]), 0)
            self.assertEqual(sorted(os.listdir(other)), ["benchmarks.md", "plots"])

    def test_bad_input_is_named(self):
        with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as file:
            for text, wanted in (("{", ":1: not JSON"), ('{"bench": "x"}', "fields are missing .fields=case")):
                file.seek(0)
                file.truncate()
                file.write(text)
                file.flush()
                with self.assertRaisesRegex(report.BadInput, wanted):
                    report.read_rows([file.name])
        with tempfile.TemporaryDirectory() as root:
            for words, said in (([], "usage: DIR is missing"), ([root, "--no"], "no such option (option=--no)"),
                                ([root], f"{root}: no *.jsonl"), ([root, "/no/such/file"], "No such file")):
                errors = io.StringIO()
                with contextlib.redirect_stderr(errors):
                    self.assertEqual(report.main(words), 2)
                self.assertIn(said, errors.getvalue())
            self.assertEqual(os.listdir(root), [])


if __name__ == "__main__":
    unittest.main()
