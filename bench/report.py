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
import re
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


def new_axes(title, width, height, **settings):
    """The axes of a picture of its own; pixels are hundredths of inches."""
    figure_of_all, axes = pyplot.subplots(figsize=(width / 100, height / 100), layout="constrained")
    axes.set_title(title, loc="left", fontsize=11)
    axes.grid(color="#d0d7de")
    axes.set(**settings)
    axes.figure_of_all = figure_of_all
    return axes


def number_nodes(axes, nodes):
    axes.set_xscale("log", base=2)
    axes.set_xticks(nodes, [str(count) for count in nodes])


def svg_of(axes):
    stream = io.StringIO()
    axes.figure_of_all.savefig(stream, format="svg", metadata={"Date": None})
    pyplot.close(axes.figure_of_all)
    return stream.getvalue()


def latency_plot(rows, load):
    """Microseconds against nodes, a line a system, p10 to p90 as bars; both axes logarithmic."""
    case = f"allreduce 48 B, {load}"
    series = {}
    for row in rows:
        if (row["bench"] == "latency" and row["case"] == case and row["ppn"] == 1 and row["metric"] == "latency" and
                row["p10"] > 0):
            series.setdefault(row["system"], []).append((row["nodes"], row["median"], row["p10"], row["p90"]))
    if not series:
        return None
    axes = new_axes(f"{case}: microseconds, slowest rank, by nodes", 640, 380, yscale="log", ylabel="us",
                    xlabel="nodes, one rank each")
    for system in (system for system in SYSTEMS if system in series):
        nodes, medians, lows, highs = zip(*sorted(series[system]))
        errors = [[m - low for m, low in zip(medians, lows)], [high - m for m, high in zip(medians, highs)]]
        axes.errorbar(nodes, medians, yerr=errors, color=COLOURS[system], marker="o", label=system)
    number_nodes(axes, sorted({point[0] for points in series.values() for point in points}))
    axes.legend()
    return svg_of(axes)


PAPER_COLOURS = {"FT": "#6e7781", "BT": "#d1570a", "FEF": "#8250df", "FCEF": "#bf8700", "LA": "#1a7f37", "MGO": "#1f6feb",
                 "best": "#cf222e"}

# Of mgo-table, by the paper's names: FCEF and LA as each comes nearest to the table.
NEAREST = {"FT": ("FT", "sound"), "BT": ("BT", "sound"), "FEF": ("FEF_latency", "sound"), "FCEF": ("FCEF_bhat", "network"),
           "LA": ("LA_bhat", "network"), "MGO": ("MGO", "sound"), "best": ("best", "sound")}
SOUND = {"FT": ("FT", "sound"), "BT": ("BT", "sound"), "FCEF": ("FCEF", "sound"), "MGO": ("MGO", "sound"),
         "best": ("best", "sound")}


def line(axes, points, colour, name="", published=False):
    """points: nodes -> y. What was published is dashed."""
    nodes, values = zip(*sorted(points.items()))
    axes.plot(nodes, values, color=colour, linestyle="--" if published else "-", marker="" if published else "o",
              label=name or None)


def medians(by_nodes):
    return {nodes: row["median"] for nodes, row in by_nodes.items()}


def mean_times_plot(rows, case, chosen_names, title):
    """Milliseconds by nodes, both logarithmic, with what was published dashed."""
    times = mean_times(rows, case)
    series = {name: times[key] for name, key in chosen_names.items() if key in times}
    if not series:
        return None
    axes = new_axes(title, 760, 430, yscale="log", ylabel="ms", xlabel="nodes")
    for name, by_nodes in series.items():
        if (name, "published") in times:
            line(axes, medians(times[(name, "published")]), PAPER_COLOURS[name], published=True)
        line(axes, medians(by_nodes), PAPER_COLOURS[name], name)
    number_nodes(axes, sorted({count for by_nodes in series.values() for count in by_nodes}))
    axes.legend()
    return svg_of(axes)


def mgo_means_plot(rows):
    return mean_times_plot(
        rows, "bcast 1 kB", NEAREST, "bcast 1 kB, clusters like the MGO paper's: mean time\nlines: computed; dashes: "
        "published. FCEF and LA choose as table 1 suggests: network alone")


def mgo_scatter_plot(rows):
    return mean_times_plot(
        rows, "scatter 1 kB", SOUND, "scatter 1 kB a node, clusters like the MGO paper's: mean time\ntrees made for one "
        "block, as in the paper; best is made for the scatter")


def mgo_improvements_plot(rows):
    """By how many percent MGO's mean is below the others', by what FCEF and LA count; the published ones dashed."""
    times = mean_times(rows, "bcast 1 kB")
    if ("MGO", "sound") not in times:
        return None
    axes = new_axes("bcast 1 kB: MGO beside FCEF and LA, by what these count while they choose\ndashes: published (table 1)",
                    760, 430, ylim=(-20, 80), ylabel="percent less time", xlabel="nodes")
    for (algorithm, counted), by_nodes in times.items():
        peer, is_published = algorithm.split("_")[0], counted == "published"
        if peer not in ("FCEF", "LA"):
            continue
        base = times[("MGO", "published" if is_published else "sound")]
        percent = {n: 100 * (1 - base[n]["median"] / row["median"]) for n, row in by_nodes.items() if n in base}
        line(axes, percent, PAPER_COLOURS[peer], f"{peer}, {counted}", is_published)
    number_nodes(axes, sorted(times[("MGO", "sound")]))
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
