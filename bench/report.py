#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Makes a page and its pictures of benchmarks' JSON lines. `tools/bench --report DIR [FILE...]` runs it.

    report.py DIR [FILE...]

FILEs are what `tools/bench --json` wrote; the default is DIR/*.jsonl. DIR/benchmarks.md and DIR/plots/*.svg are written. For
each benchmark the page has when, from which commit, how and where its rows were measured, and its figures; before these, each row
that has a target, and whether it was met. What is made depends on the lines alone. Exit code 2: bad usage or lines.
"""

import glob
import io
import json
import math
import os
import sys

try:
    import matplotlib
    matplotlib.use("svg")
    from matplotlib import pyplot
    matplotlib.rcParams["svg.hashsalt"] = "copse"  # the same rows make the same files
    matplotlib.rcParams["svg.fonttype"] = "none"
except ImportError:
    pyplot = None

PAGE = "benchmarks.md"
PLOTS = "plots"

FIELDS = ("bench", "case", "system", "collective", "algorithm", "nodes", "ppn", "ranks", "bytes", "metric", "unit",
          "runs", "p10", "median", "p90", "seed", "note")
SYSTEM_COLORS = {"copse": "#1f6feb", "openmpi": "#d1570a", "mpich": "#8250df", "sockets": "#6e7781"}
UNDER_MPI = "+copse"
NOT_MEASURED = "Not measured yet."


class BadInput(Exception):
    pass


def read_rows(paths):
    rows = []
    for path in paths:
        with open(path, encoding="utf-8") as stream:
            for number, line in enumerate(stream, 1):
                try:
                    row = json.loads(line)
                except ValueError:
                    raise BadInput(f"{path}:{number}: not JSON") from None
                missing = [field for field in FIELDS if field not in row]
                if missing:
                    raise BadInput(f"{path}:{number}: fields are missing (fields={','.join(missing)})")
                rows.append(row)
    return rows


# --- Text ---


def figure(value):
    """Three significant digits, without an exponent."""
    if value == 0:
        return "0"
    digits = max(0, 2 - math.floor(math.log10(abs(value))))
    text = f"{value:,.{min(digits, 4)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def spread(row):
    if row["metric"] == "unfinished":
        return "unfinished"
    if row["runs"] == 1:
        return figure(row["median"])
    return f"{figure(row['median'])} ({figure(row['p10'])} to {figure(row['p90'])})"


def compared(row):
    return f"{row['system']} / {row['peer']}" if "peer" in row else row["system"]


def size(row):
    return f"{row['nodes']} x {row['ppn']}" if row["nodes"] else "all"


def verdict(row):
    return "" if "target" not in row else "met" if row["met"] else "**missed**"


def table(heading, lines):
    if not lines:
        return NOT_MEASURED
    rows = [heading, ["---"] * len(heading)] + lines
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in rows)


def targets(rows):
    lines = []
    for row in rows:
        if "target" not in row:
            continue
        unit = f"x {row['peer']}" if "peer" in row else row["unit"]
        what = row["case"] if "peer" in row else f"{row['case']}, {row['metric']}"
        if row["system"].endswith(UNDER_MPI):
            what += f", {row['system']}"
        lines.append([row["bench"], what, size(row), spread(row), f"{figure(row['target'])} {unit}", verdict(row)])
    return table(["benchmark", "case", "nodes x ranks", "measured (p10 to p90)", "at most", "target"], lines)


def provenance(rows):
    runs = dict.fromkeys(tuple(row.get(key, "") for key in ("date", "commit", "command", "machine")) for row in rows)
    return "\n".join(f"Date: {date}. Commit: {commit or 'unknown'}. Command: `{command}`. Machine: {machine}."
                     for date, commit, command, machine in runs)


def shown(row):
    """A cell of a table: the figure, and what became of its target."""
    return spread(row) + (f" (at most {figure(row['target'])}: {verdict(row)})" if "target" in row else "")


def pivot(rows, names, line_of, column_of):
    """A line for each `line_of`, whose fields have `names`, and a column for each `column_of` of the rows."""
    lines, columns = {}, {}
    for row in rows:
        columns.setdefault(column_of(row))
        lines.setdefault(line_of(row), {})[column_of(row)] = shown(row)
    return table([*names, *columns], [[*line, *[cells.get(column, "") for column in columns]] for line, cells in lines.items()])


def rows_table(rows):
    """Each row as it is."""
    heading = ["case", "system", "algorithm", "nodes x ranks", "metric", "median (p10 to p90)", "unit", "values", "note"]
    return table(heading, [[row["case"], compared(row), row["algorithm"], size(row), row["metric"], shown(row), row["unit"],
                            str(row["runs"]), row["note"]] for row in rows])


def by_system(rows):
    """What systems took beside each other, then their ratios. What is about all cells is another table's."""
    cells = [row for row in rows if row["metric"] not in ("cells not ahead", "worst ratio")]
    units = {(row["case"], size(row)): row["unit"] for row in cells if "peer" not in row}
    return pivot(sorted(cells, key=lambda row: "peer" in row), ["case", "nodes x ranks", "unit"],
                 lambda row: (row["case"], size(row), units.get((row["case"], size(row)), "")), compared)


def by_metric(rows):
    """What was measured of each system in each cell."""
    return pivot(rows, ["case", "nodes x ranks", "system", "algorithm"],
                 lambda row: (row["case"], size(row), row["system"], row["algorithm"]),
                 lambda row: f"ratio / {row['peer']}" if "peer" in row else f"{row['metric']}, {row['unit']}")


def by_nodes(rows):
    """The medians of each algorithm, by the number of nodes."""
    return pivot(sorted(rows, key=lambda row: row["nodes"]), ["case", "algorithm", "metric, unit"],
                 lambda row: (row["case"], row["algorithm"], f"{row['metric']}, {row['unit']}"), lambda row: str(row["nodes"]))


# --- Pictures ---


def new_axes(title, width, height, **settings):
    """The axes of a picture of its own; pixels are hundredths of inches."""
    figure_of_all, axes = pyplot.subplots(figsize=(width / 100, height / 100), layout="constrained")
    axes.set_title(title, loc="left", fontsize=11)
    axes.grid(color="#d0d7de")
    axes.set(**settings)
    axes.figure_of_all = figure_of_all
    return axes


def svg_of(axes):
    stream = io.StringIO()
    axes.figure_of_all.savefig(stream, format="svg", metadata={"Date": None})
    pyplot.close(axes.figure_of_all)
    return stream.getvalue()


def latency_lines(load):
    return {(f"allreduce 48 B, {load}", "latency", system): {"color": color, "label": system}
            for system, color in SYSTEM_COLORS.items()}


def mean_time_lines(case, chosen):
    """Of each chosen algorithm what was computed, and what was published of it under the paper's name."""
    lines = {}
    for name, (algorithm, counted) in chosen.items():
        lines[(f"{case}, {counted}", "mean time", algorithm)] = {"color": PAPER_COLORS[name], "label": name}
        lines[(f"{case}, published", "mean time", name)] = {"color": PAPER_COLORS[name], "linestyle": "--"}
    return lines


def curves_plot(rows, bench, name_of_line, title, unit, lines):
    """Medians by nodes of one rank, both logarithmic, with p10 to p90 as bars. `lines` has the style of each line by case, metric
    and the row's field `name_of_line`."""
    points = {}
    for row in rows:
        line = (row["case"], row["metric"], row[name_of_line])
        if row["bench"] == bench and row["ppn"] == 1 and "peer" not in row and line in lines:
            points.setdefault(line, {})[row["nodes"]] = row
    if not any("label" in lines[line] for line in points):
        return None
    axes = new_axes(title, 760, 430, yscale="log", ylabel=unit, xlabel="nodes")
    for line in (line for line in lines if line in points):
        ordered = sorted(points[line].items())
        medians = [row["median"] for _, row in ordered]
        errors = [[max(0, row["median"] - row["p10"]) for _, row in ordered],
                  [max(0, row["p90"] - row["median"]) for _, row in ordered]]
        axes.errorbar([nodes for nodes, _ in ordered], medians, yerr=errors, marker="o", **lines[line])
    nodes = sorted({count for by_nodes_of_line in points.values() for count in by_nodes_of_line})
    axes.set_xscale("log", base=2)
    axes.set_xticks(nodes, [str(count) for count in nodes])
    axes.legend()
    return svg_of(axes)


def ratio_plot(rows):
    """Measured ratios that have a target: a bar from 1, with the target as a mark. Logarithmic."""
    bars = [row for row in rows
            if row["metric"] == "ratio" and "target" in row and row["median"] > 0 and row["bench"] != "mgo-table"]
    if not bars:
        return None
    axes = new_axes("Copse / peer, and the target (black):\nbelow 1, Copse is faster", 800, 120 + 26 * len(bars), xscale="log")
    names = [f"{row['case']}, {size(row)} / {row['peer']}" for row in bars]
    for place, row in enumerate(bars):
        axes.barh(place, row["median"] - 1, left=1, color="#1a7f37" if row["met"] else "#cf222e")
        axes.plot(row["target"], place, color="#24292f", marker="|", markersize=12, markeredgewidth=2)
    axes.axvline(1, color="#57606a")
    axes.set_yticks(range(len(bars)), names, fontsize=8)
    axes.invert_yaxis()
    return svg_of(axes)


PAPER_COLORS = {"FT": "#6e7781", "BT": "#d1570a", "FEF": "#8250df", "FCEF": "#bf8700", "LA": "#1a7f37", "MGO": "#1f6feb",
                 "best": "#cf222e"}
# The algorithms of mgo-table by the paper's names, and what they count. FCEF and LA as each comes nearest to the table.
NEAREST = {"FT": ("FT", "sound"), "BT": ("BT", "sound"), "FEF": ("FEF_latency", "sound"), "FCEF": ("FCEF_bhat", "network"),
           "LA": ("LA_bhat", "network"), "MGO": ("MGO", "sound"), "best": ("best", "sound")}
SOUND = {name: (name, "sound") for name in ("FT", "BT", "FCEF", "MGO", "best")}
# Pictures of curves: benchmark, the field that tells lines apart, title, unit, lines.
CURVES = {
    "latency_idle": ("latency", "system", "allreduce 48 B, idle: slowest rank", "us", latency_lines("idle")),
    "latency_busy": ("latency", "system", "allreduce 48 B, busy: slowest rank", "us", latency_lines("busy")),
    "mgo_means": (
        "mgo-table", "algorithm", "bcast 1 kB, clusters like the MGO paper's: mean time\nlines: computed; dashes: published. FCEF "
        "and LA choose as table 1 suggests: network alone", "ms", mean_time_lines("bcast 1 kB", NEAREST)),
    "mgo_scatter": (
        "mgo-table", "algorithm", "scatter 1 kB a node, clusters like the MGO paper's: mean time\ntrees made for one block, as in "
        "the paper; best is made for the scatter", "ms", mean_time_lines("scatter 1 kB", SOUND)),
}


def plots_of(rows):
    made = {"ratios": ratio_plot(rows), **{name: curves_plot(rows, *what) for name, what in CURVES.items()}}
    return {name: svg for name, svg in made.items() if svg is not None}


# --- All ---

# What of each benchmark is shown how; of the others each row is.
TABLES = {
    by_metric: ("bandwidth", "gatherv", "overlap", "shim", "tnbc-scenarios"),
    by_nodes: ("mgo-table",),
    by_system: ("alu", "apps", "collectives", "comm", "latency", "mpi-collectives", "noise", "tnbc-order"),
}


def generate(rows):
    """The files that the rows make: path below DIR, text."""
    plots = plots_of(rows)

    def pictures(*names):
        return [f"![{name}]({PLOTS}/{name}.svg)" for name in names if name in plots]

    parts = ["# Benchmarks", "## Targets", targets(rows), *pictures("ratios")]
    for bench in dict.fromkeys(row["bench"] for row in rows):
        of_bench = [row for row in rows if row["bench"] == bench]
        make = next((make for make, benches in TABLES.items() if bench in benches), rows_table)
        parts += [f"## {bench}", provenance(of_bench), make(of_bench),
                  *pictures(*[name for name, what in CURVES.items() if what[0] == bench])]
    return {PAGE: "\n\n".join(parts) + "\n", **{f"{PLOTS}/{name}.svg": svg for name, svg in plots.items()}}


def main(arguments):
    for argument in arguments:
        if argument.startswith("-"):
            print(f"tools/bench: --report: usage: no such option (option={argument})", file=sys.stderr)
            return 2
    if not arguments:
        print("tools/bench: --report: usage: DIR is missing", file=sys.stderr)
        return 2
    folder = arguments[0]
    paths = arguments[1:] or sorted(glob.glob(os.path.join(glob.escape(folder), "*.jsonl")))
    try:
        if not paths:
            raise BadInput(f"{folder}: no *.jsonl")
        rows = read_rows(paths)
        if pyplot is None:
            raise BadInput("no matplotlib; install python3-matplotlib")
        files = generate(rows)
        os.makedirs(os.path.join(folder, PLOTS), exist_ok=True)
        for path, text in files.items():
            with open(os.path.join(folder, path), "w", encoding="utf-8") as stream:
                stream.write(text)
            print(os.path.join(folder, path))
    except (BadInput, OSError) as error:
        print(f"tools/bench: --report: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
