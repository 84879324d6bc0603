#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Makes a page and its pictures of benchmarks' JSON lines. `tools/bench --report DIR [FILE...]` runs it.

    report.py DIR [FILE...]

FILEs are what `tools/bench --json` wrote; the default is DIR/*.jsonl. DIR/benchmarks.md and DIR/plots/*.svg are written. For
each benchmark the page has when, from which commit, how and where its rows were measured, and its figures; before these, each row
that has a target, and whether it was met. What is made depends on the lines alone. Exit code 2: bad usage or lines.
"""

import glob
import json
import math
import os
import re
import sys

PAGE = "benchmarks.md"
PLOTS = "plots"

FIELDS = ("bench", "case", "system", "collective", "algorithm", "nodes", "ppn", "ranks", "bytes", "metric", "unit",
          "runs", "p10", "median", "p90", "seed", "note")
SYSTEMS = ("copse", "openmpi+copse", "openmpi", "mpich+copse", "mpich", "sockets", "ucx")
COLOURS = {"copse": "#1f6feb", "openmpi": "#d1570a", "mpich": "#8250df", "sockets": "#6e7781", "ucx": "#1a7f37"}
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
    runs = []
    for row in rows:
        run = tuple(row.get(key, "") for key in ("date", "commit", "command", "machine"))
        if run not in runs:
            runs.append(run)
    return "\n".join(f"Date: {date}. Commit: {commit or 'unknown'}. Command: `{command}`. Machine: {machine}."
                     for date, commit, command, machine in runs)


def rows_table(rows):
    with_targets = any("target" in row for row in rows)
    lines = []
    for row in rows:
        system = f"{row['system']} / {row['peer']}" if "peer" in row else row["system"]
        line = [row["case"], system, row["algorithm"], size(row), row["metric"], spread(row), row["unit"], str(row["runs"])]
        if with_targets:
            line += [figure(row["target"]) if "target" in row else "", verdict(row)]
        lines.append(line + [row["note"]])
    heading = ["case", "system", "algorithm", "nodes x ranks", "metric", "median (p10 to p90)", "unit", "values"]
    return table(heading + (["at most", "target"] if with_targets else []) + ["note"], lines)


def cell_of(row):
    return (row["case"], row["nodes"], row["ppn"])


def compare(rows):
    values = {}  # cell -> system -> row
    ratios = {}  # cell -> peer -> row
    notes = {}
    for row in rows:
        if "peer" in row:
            ratios.setdefault(cell_of(row), {})[row["peer"]] = row
        else:
            values.setdefault(cell_of(row), {})[row["system"]] = row
            if row["system"] == "copse":
                notes[cell_of(row)] = row["note"]
    systems = [system for system in SYSTEMS if any(system in by_system for by_system in values.values())]
    peers = [peer for peer in (*SYSTEMS, "better MPI", "critical path") if any(peer in by_peer for by_peer in ratios.values())]
    lines = []
    for cell, by_system in values.items():
        any_row = next(iter(by_system.values()))
        by_peer = ratios.get(cell, {})
        line = [cell[0], size(any_row), by_system.get("copse", any_row)["algorithm"], any_row["unit"]]
        line += [spread(by_system[system]) if system in by_system else "" for system in systems]
        for peer in peers:
            row = by_peer.get(peer)
            line.append("" if row is None else " ".join(filter(None, [
                spread(row), f"(at most {figure(row['target'])}: {verdict(row)})" if "target" in row else ""])))
        lines.append(line + [notes.get(cell, "")])
    return table(["case", "nodes x ranks", "algorithm", "unit", *systems, *[f"copse / {peer}" for peer in peers], "note"],
                 lines)


def figures(rows):
    """What was measured of each system in each cell; ratios are another table's."""
    lines = {}  # (cell, system) -> metric -> text
    metrics = []
    algorithms = {}
    for row in rows:
        if "peer" in row:
            continue
        metric = f"{row['metric']}, {row['unit']}"
        key = (cell_of(row), row["system"])
        if row["metric"] == "unfinished":
            lines.setdefault(key, {})[None] = "unfinished"
        else:
            if metric not in metrics:
                metrics.append(metric)
            lines.setdefault(key, {})[metric] = spread(row) + (f" (at most {figure(row['target'])}: {verdict(row)})"
                                                               if "target" in row else "")
        algorithms.setdefault(key, (size(row), row["algorithm"]))
    made = []
    for (cell, system), by_metric in lines.items():
        ranks, algorithm = algorithms[(cell, system)]
        values = [by_metric.get(metric, "") for metric in metrics]
        if None in by_metric and metrics and not any(values):
            values[0] = by_metric[None]
        made.append([cell[0], ranks, system, algorithm] + values)
    return table(["case", "nodes x ranks", "system", "algorithm", *metrics], made)


def ratios(rows):
    """Of Copse: other systems' ratios to others say nothing."""
    by_cell = {}
    peers = []
    for row in rows:
        if row.get("peer") is None or row["system"] != "copse":
            continue
        if row["peer"] not in peers:
            peers.append(row["peer"])
        text = spread(row) + (f" (at most {figure(row['target'])}: {verdict(row)})" if "target" in row else "")
        notes = [row["note"]] if row["note"].startswith("at most") or row["peer"] in ("link", "computation and costs") else []
        by_cell.setdefault((row["case"], size(row)), {})[row["peer"]] = "; ".join([text] + notes)
    lines = [[case, ranks] + [by_peer.get(peer, "") for peer in peers] for (case, ranks), by_peer in by_cell.items()]
    return table(["case", "nodes x ranks", *[f"copse / {peer}" for peer in peers]], lines)


def matrix(rows, case):
    """Ratios to the better MPI library, by collective and size; after each which library that was."""
    by_collective = {}
    sizes = {}
    for row in rows:
        if row["bench"] != "collectives" or row.get("peer") != "better MPI" or not row["case"].endswith(", " + case):
            continue
        words = row["case"][:-len(", " + case)].split(" ", 1)
        size_name = words[1] if len(words) > 1 else ""
        sizes[size_name] = row["bytes"]
        text = row["metric"]
        if text == "ratio":
            text = f"{figure(row['median'])} {row['note'].split(';')[0]}"
        by_collective.setdefault(words[0], {})[size_name] = text
    columns = [name for name in sorted(sizes, key=sizes.get) if name]
    lines = []
    for collective, by_size in by_collective.items():
        lines.append([collective] + [by_size.get(name, by_size.get("", "")) for name in columns])
    return table(["collective", *columns], lines)


def pairs(rows):
    """Columns: a system's medians, or `one / another` with its spread. What is about all cells is another table's."""
    by_cell = {}
    systems, ratios_of = [], []
    for row in rows:
        if row["metric"] in ("cells not ahead", "worst ratio"):
            continue
        line = by_cell.setdefault(cell_of(row), {"size": size(row), "unit": ""})
        column = f"{row['system']} / {row['peer']}" if "peer" in row else row["system"]
        columns = ratios_of if "peer" in row else systems
        if column not in columns:
            columns.append(column)
        if "peer" in row:
            line[column] = spread(row) + (f" (at most {figure(row['target'])}: {verdict(row)})" if "target" in row else "")
        else:
            line["unit"] = row["unit"]
            line[column] = "unfinished" if row["metric"] == "unfinished" else figure(row["median"])
    columns = systems + ratios_of
    lines = [[cell[0], line["size"], line["unit"]] + [line.get(column, "") for column in columns]
             for cell, line in by_cell.items()]
    return table(["case", "nodes x ranks", "unit", *columns], lines)


def added(rows, unit):
    """What was added to a function's time, and to which time, if it is not all calls that the line is about."""
    beside = {}  # case, library -> its time alone
    by_case = {}  # function -> (library, conditions) -> text
    columns = []
    for row in rows:
        if row["bench"] != "shim" or row["unit"] != unit:
            continue
        library = row["system"].removesuffix(UNDER_MPI)
        if row["metric"] == "time" and row["system"] == library:
            beside[row["case"], library] = f" to {figure(row['median'])}"
        if row["metric"] not in ("added", "median added", "worst added", "unfinished") or row["system"] == library:
            continue
        function, conditions = row["case"].split(", ", 1)
        if (library, conditions) not in columns:
            columns.append((library, conditions))
        name = f"**{row['metric']}**" if function == "all calls" else function
        note = f" ({row['note'].split(',')[0]})" if row["metric"] == "worst added" else ""
        text = figure(row["median"]) if row["metric"] == "worst added" else spread(row)
        by_case.setdefault(name, {})[library, conditions] = text + beside.get((row["case"], library), "") + note
    columns.sort(reverse=True)
    lines = [[name] + [texts.get(column, "") for column in columns] for name, texts in by_case.items()]
    return table(["function", *[", ".join(column) for column in columns]], lines)


def rates(rows):
    """Medians of copse, by type and operation, and the range of memcpy's beside them."""
    by_type = {}
    operations = []
    for row in rows:
        if row["bench"] != "alu" or "peer" in row:
            continue
        type_name, operation = row["case"].split(" ")
        of_type = by_type.setdefault(type_name, {})
        of_type.setdefault(row["system"], {})[operation] = row["median"]
        if operation not in operations:
            operations.append(operation)
    lines = []
    for type_name, of_type in by_type.items():
        copies = of_type.get("memcpy", {}).values()
        copied = [figure(bound) for bound in (min(copies), max(copies))] if copies else []
        lines.append([type_name] + [figure(of_type["copse"][o]) if o in of_type["copse"] else "" for o in operations] +
                     [" to ".join(dict.fromkeys(copied))])
    return table(["type", *operations, "memcpy beside them"], lines)


# What mgo-table's algorithms are called, by algorithm and what they count while they choose.
def chosen(row):
    return row["algorithm"], row["case"].rsplit(", ", 1)[1]


def mean_times(rows, case):
    """(algorithm, counted) -> nodes -> row."""
    times = {}
    for row in rows:
        if row["bench"] == "mgo-table" and row["metric"] == "mean time" and row["case"].rsplit(", ", 1)[0] == case:
            times.setdefault(chosen(row), {})[row["nodes"]] = row
    return times


def means(rows, case):
    times = mean_times(rows, case)
    nodes = sorted({count for by_nodes in times.values() for count in by_nodes})
    lines = []
    for (algorithm, counted), by_nodes in sorted(times.items(), key=lambda item: item[0][1] != "published"):
        lines.append([algorithm, counted, *[f"{by_nodes[n]['median']:,.0f}" if n in by_nodes else "" for n in nodes]])
    return table(["algorithm", "counted", *[str(n) for n in nodes]], lines)


def improvements(rows):
    ranges = {}  # (peer, counted) -> case -> metric -> percent
    cases = []
    for row in rows:
        if row["bench"] != "mgo-table" or not row["metric"].endswith("improvement"):
            continue
        case, beside, counted = row["case"].split(", ")
        if case not in cases:
            cases.append(case)
        ranges.setdefault((beside.rsplit(" ", 1)[1], counted), {}).setdefault(case, {})[row["metric"]] = row
    lines = []
    for (peer, counted), by_case in ranges.items():
        line = [peer, counted]
        published = ""
        for case in cases:
            ends = [by_case[case][f"{end} improvement"] for end in ("least", "most")] if case in by_case else []
            line.append(" to ".join(str(round(end["median"])) for end in ends))
            found = [re.search(r"published (\d+)$", end["note"]) for end in ends]
            if not published and found and all(found):
                published = " to ".join(match.group(1) for match in found)
        lines.append(line + [published])
    return table(["MGO beside", "counted", *cases, "published (1 kB)"], lines)


# --- Pictures ---


def escape(text):
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


class Svg:

    def __init__(self, width, height, title):
        self.parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
            'font-family="sans-serif" font-size="12">', f"<title>{escape(title)}</title>",
            f'<rect width="{width}" height="{height}" fill="#fff"/>'
        ]
        self.text(16, 22, title, size=14, weight="bold")

    def text(self, x, y, text, anchor="start", colour="#24292f", size=12, weight="normal"):
        self.parts.append(f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{colour}" font-size="{size}" '
                          f'font-weight="{weight}">{escape(text)}</text>')

    def line(self, x1, y1, x2, y2, colour="#d0d7de", width=1):
        self.parts.append(f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}" '
                          f'stroke-width="{width}"/>')

    def rect(self, x, y, width, height, colour):
        self.parts.append(f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" fill="{colour}"/>')

    def circle(self, x, y, colour):
        self.parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>')

    def polyline(self, points, colour, dashed=False):
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        dashes = ' stroke-dasharray="3 4"' if dashed else ""
        self.parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"{dashes}/>')

    def __str__(self):
        return "\n".join(self.parts + ["</svg>"]) + "\n"


def decades(values):
    return math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))


def latency_plot(rows, load):
    """Microseconds against nodes, a line a system, p10 to p90 as bars; both axes logarithmic."""
    case = f"allreduce 48 B, {load}"
    series = {}
    for row in rows:
        if (row["bench"] == "latency" and row["case"] == case and row["ppn"] == 1 and row["metric"] == "latency" and
                row["p10"] > 0):
            series.setdefault(row["system"], []).append((row["nodes"], row["p10"], row["median"], row["p90"]))
    if not series:
        return None
    nodes = sorted({point[0] for points in series.values() for point in points})
    low, high = decades([value for points in series.values() for point in points for value in point[1:]])
    high = max(high, low + 1)
    left, right, top, bottom = 88, 520, 44, 330
    svg = Svg(640, 380, f"{case}: microseconds, slowest rank, by nodes")

    def x_of(count):
        span = math.log2(nodes[-1] / nodes[0]) or 1
        return left + 20 + (right - left - 40) * math.log2(count / nodes[0]) / span

    def y_of(value):
        return bottom - (bottom - top) * (math.log10(value) - low) / (high - low)

    for decade in range(low, high + 1):
        svg.line(left, y_of(10**decade), right, y_of(10**decade))
        svg.text(left - 8, y_of(10**decade) + 4, f"{10**decade:,g} us", anchor="end", colour="#57606a")
    for count in nodes:
        svg.text(x_of(count), bottom + 18, str(count), anchor="middle", colour="#57606a")
    svg.text((left + right) / 2, bottom + 38, "nodes, one rank each", anchor="middle", colour="#57606a")
    labels = []
    for system in (system for system in SYSTEMS if system in series):
        points = sorted(series[system])
        colour = COLOURS[system]
        for count, p10, _, p90 in points:
            svg.line(x_of(count), y_of(p10), x_of(count), y_of(p90), colour)
        svg.polyline([(x_of(count), y_of(median)) for count, _, median, _ in points], colour)
        for count, _, median, _ in points:
            svg.circle(x_of(count), y_of(median), colour)
        labels.append([y_of(points[-1][2]) + 4, system])
    labels.sort()
    for i, (y, system) in enumerate(labels):  # none on another
        labels[i][0] = y if i == 0 else max(y, labels[i - 1][0] + 14)
        svg.text(right + 8, labels[i][0], system, colour=COLOURS[system], weight="bold")
    return str(svg)


PAPER_COLOURS = {"FT": "#6e7781", "BT": "#d1570a", "FEF": "#8250df", "FCEF": "#bf8700", "LA": "#1a7f37", "MGO": "#1f6feb",
                 "best": "#cf222e"}


class NodesPlot:
    """Lines against numbers of nodes, logarithmic to the base 2; each is named at its right end."""

    left, right, top, bottom = 88, 560, 64, 380

    def __init__(self, title, subtitle, nodes):
        self.nodes = nodes
        self.svg = Svg(760, 430, title)
        self.svg.text(16, 42, subtitle, colour="#57606a")
        for count in nodes:
            self.svg.text(self.x_of(count), self.bottom + 18, str(count), anchor="middle", colour="#57606a")
        self.svg.text((self.left + self.right) / 2, self.bottom + 38, "nodes", anchor="middle", colour="#57606a")
        self.labels = []

    def x_of(self, count):
        span = math.log2(self.nodes[-1] / self.nodes[0]) or 1
        return self.left + 20 + (self.right - self.left - 40) * math.log2(count / self.nodes[0]) / span

    def grid(self, y, text):
        self.svg.line(self.left, y, self.right, y)
        self.svg.text(self.left - 8, y + 4, text, anchor="end", colour="#57606a")

    def line(self, name, points, colour, dashed=False):
        """points: (nodes, y); without a name no label."""
        points = [(self.x_of(count), y) for count, y in sorted(points)]
        self.svg.polyline(points, colour, dashed)
        for x, y in points:
            if not dashed:
                self.svg.circle(x, y, colour)
        if name:
            self.labels.append((points[-1][1] + 4, name, colour))

    def __str__(self):
        last = -math.inf
        for y, name, colour in sorted(self.labels):  # none on another
            last = max(y, last + 14)
            self.svg.text(self.right + 8, last, name, colour=colour, weight="bold")
        return str(self.svg)


# Of mgo-table, by the paper's names: FCEF and LA as each comes nearest to the table.
NEAREST = {"FT": ("FT", "sound"), "BT": ("BT", "sound"), "FEF": ("FEF_latency", "sound"), "FCEF": ("FCEF_bhat", "network"),
           "LA": ("LA_bhat", "network"), "MGO": ("MGO", "sound"), "best": ("best", "sound")}
SOUND = {"FT": ("FT", "sound"), "BT": ("BT", "sound"), "FCEF": ("FCEF", "sound"), "MGO": ("MGO", "sound"),
         "best": ("best", "sound")}


def mean_times_plot(rows, case, chosen_names, title, subtitle):
    """Milliseconds by nodes, both logarithmic, with what was published dashed."""
    times = mean_times(rows, case)
    series = {name: times[key] for name, key in chosen_names.items() if key in times}
    if not series:
        return None
    published = {name: times[(name, "published")] for name in series if (name, "published") in times}
    values = [row["median"] for lines in (series, published) for by_nodes in lines.values() for row in by_nodes.values()]
    low, high = math.log10(min(values)) - 0.1, math.log10(max(values)) + 0.1
    plot = NodesPlot(title, subtitle, sorted({count for by_nodes in series.values() for count in by_nodes}))

    def points(by_nodes):
        span = (plot.bottom - plot.top) / (high - low)
        return [(n, plot.bottom - span * (math.log10(row["median"]) - low)) for n, row in by_nodes.items()]

    for decade in range(math.ceil(low), math.floor(high) + 1):
        plot.grid(plot.bottom - (plot.bottom - plot.top) * (decade - low) / (high - low), f"{10**decade:,g} ms")
    for name, by_nodes in series.items():
        if name in published:
            plot.line("", points(published[name]), PAPER_COLOURS[name], dashed=True)
        plot.line(name, points(by_nodes), PAPER_COLOURS[name])
    return str(plot)


def mgo_means_plot(rows):
    return mean_times_plot(rows, "bcast 1 kB", NEAREST, "bcast 1 kB, clusters like the MGO paper's: mean time",
                           "lines: computed; dashes: published. FCEF and LA choose as table 1 suggests: network alone")


def mgo_scatter_plot(rows):
    return mean_times_plot(rows, "scatter 1 kB", SOUND, "scatter 1 kB a node, clusters like the MGO paper's: mean time",
                           "trees made for one block, as in the paper; best is made for the scatter")


def mgo_improvements_plot(rows):
    """By how many percent MGO's mean is below the others', by what FCEF and LA count; the published ones dashed."""
    times = mean_times(rows, "bcast 1 kB")
    if ("MGO", "sound") not in times:
        return None
    mgo = times[("MGO", "sound")]
    plot = NodesPlot("bcast 1 kB: MGO beside FCEF and LA, by what these count while they choose",
                     "percent less time; dashes: published (table 1)", sorted(mgo))
    low, high = -20, 80

    def y_of(percent):
        return plot.bottom - (plot.bottom - plot.top) * (percent - low) / (high - low)

    for percent in range(low, high + 1, 20):
        plot.grid(y_of(percent), f"{percent} %")

    def line(name, peer, base, colour, dashed):
        points = [(n, y_of(100 * (1 - base[n]["median"] / row["median"]))) for n, row in peer.items() if n in base]
        plot.line(name, points, colour, dashed)

    for peer in ("FCEF", "LA"):
        for (algorithm, counted), by_nodes in times.items():
            if counted == "published" and algorithm == peer:
                line(f"{peer}, published", by_nodes, times[("MGO", "published")], PAPER_COLOURS[peer], True)
            elif counted != "published" and algorithm.split("_")[0] == peer:
                line(f"{peer}, {counted}", by_nodes, mgo, PAPER_COLOURS[peer], False)
    return str(plot)


def ratio_plot(rows):
    """Measured ratios that have a target: a bar from 1, with the target as a mark. Logarithmic."""
    bars = [row for row in rows
            if row["metric"] == "ratio" and "target" in row and row["median"] > 0 and row["bench"] != "mgo-table"]
    if not bars:
        return None
    low, high = decades([row["median"] for row in bars] + [row["target"] for row in bars] + [1])
    left, right, top, step = 360, 760, 64, 26
    bottom = top + step * len(bars)
    svg = Svg(800, bottom + 40, "Copse / peer, and the target (black): below 1, Copse is faster")

    def x_of(value):
        return left + (right - left) * (math.log10(value) - low) / (high - low)

    for decade in range(low, high + 1):
        svg.line(x_of(10**decade), top - 8, x_of(10**decade), bottom)
        svg.text(x_of(10**decade), bottom + 18, f"{10**decade:g}", anchor="middle", colour="#57606a")
    for i, row in enumerate(bars):
        y = top + step * i
        begin, end = sorted((x_of(1), x_of(row["median"])))
        svg.text(left - 8, y + 14, f"{row['case']}, {size(row)} / {row['peer']}", anchor="end", size=11)
        svg.rect(begin, y + 3, max(end - begin, 1), step - 10, "#1a7f37" if row["met"] else "#cf222e")
        svg.line(x_of(row["target"]), y, x_of(row["target"]), y + step - 4, "#24292f", 2)
    svg.line(x_of(1), top - 8, x_of(1), bottom, "#57606a")
    return str(svg)


def plots_of(rows):
    made = {
        "latency_idle": latency_plot(rows, "idle"),
        "latency_busy": latency_plot(rows, "busy"),
        "ratios": ratio_plot(rows),
        "mgo_means": mgo_means_plot(rows),
        "mgo_scatter": mgo_scatter_plot(rows),
        "mgo_improvements": mgo_improvements_plot(rows)
    }
    return {name: svg for name, svg in made.items() if svg is not None}


# --- All ---


def captioned(caption, text):
    return f"{caption}:\n\n{text}"


def shim_tables(rows):
    return [captioned(f"What was added, in {unit}", added(rows, unit)) for unit in ("ns", "ms")]


def collectives_tables(rows):
    cases = [captioned(f"Copse / better MPI, {case}", matrix(rows, case)) for case in ("unshaped", "shaped 1 Gbit/s")]
    return [*cases, compare(rows)]


def mgo_tables(rows):
    cases = dict.fromkeys(row["case"].rsplit(", ", 1)[0] for row in rows if row["metric"] == "mean time")
    return [captioned("By how many percent MGO is faster, of means, the least and the most", improvements(rows)),
            *[captioned(f"Mean times of {case} in ms, by number of nodes", means(rows, case)) for case in cases]]


# Each benchmark has its tables here; where none are named, its rows are shown.
TABLES = {
    "alu": lambda rows: [rates(rows)],
    "apps": lambda rows: [compare(rows)],
    "bandwidth": lambda rows: [ratios(rows), figures(rows)],
    "collectives": collectives_tables,
    "comm": lambda rows: [pairs(rows)],
    "gatherv": lambda rows: [ratios(rows), figures(rows)],
    "latency": lambda rows: [compare(rows)],
    "mgo-table": mgo_tables,
    "mpi-collectives": lambda rows: [pairs(rows)],
    "noise": lambda rows: [compare(rows)],
    "overlap": lambda rows: [ratios(rows), figures(rows)],
    "shim": shim_tables,
    "tnbc-order": lambda rows: [pairs(rows)],
    "tnbc-scenarios": lambda rows: [pairs(rows)],
}
PICTURES = {"latency": ("latency_idle", "latency_busy"), "mgo-table": ("mgo_means", "mgo_improvements", "mgo_scatter")}


def generate(rows):
    """The files that the rows make: path below DIR, text."""
    plots = plots_of(rows)

    def pictures(*names):
        return [f"![{name}]({PLOTS}/{name}.svg)" for name in names if name in plots]

    parts = ["# Benchmarks", "## Targets", targets(rows), *pictures("ratios")]
    for bench in dict.fromkeys(row["bench"] for row in rows):
        of_bench = [row for row in rows if row["bench"] == bench]
        tables = TABLES.get(bench, lambda rows: [rows_table(rows)])(of_bench)
        parts += [f"## {bench}", provenance(of_bench), *pictures(*PICTURES.get(bench, ())), *tables]
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
        files = generate(read_rows(paths))
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
