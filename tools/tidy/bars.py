#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures the tree's structure: one line a measure, with the places that make it.

    tools/tidy/bars.py [--places N]    N places of each measure, default 3

Product is what is installed: no tests, no `testing` folders, no targets that BUILD marks testonly, nothing below
integration_tests/, testbed/, bench/ and tools/. Lines are counted without blanks and comments. Classes and their members
are found by text, so counts are right to a few per cent.
"""
import argparse
import ast
import collections
import os
import re
import subprocess

CODE = (".h", ".hpp", ".cc", ".c")
NOT_PRODUCT = ("integration_tests/", "testbed/", "bench/", "tools/", "third_party/", "deploy/")
# Folders whose code is linked into one program.
PROCESSES = {
    "copsed": ("base", "collectives", "protocol", "schedule", "offload_emu", "daemon", "rpc"),
    "copse-planner": ("base", "collectives", "protocol", "schedule", "sim", "planner", "rpc"),
    "application": ("base", "collectives", "protocol", "client"),
    "copse-sim": ("base", "collectives", "schedule", "offload_emu", "sim", "planner", "cli/command_line", "cli/sim"),
    "copsectl": ("base", "rpc", "cli/command_line", "cli/ctl"),
    "copse-perftest": ("base", "collectives", "cli/command_line", "cli/perftest"),
}
NESTED_NAMES = {"State", "Kind", "Options", "Row"}
STRONG_ORDER = re.compile(r"memory_order_(acquire|release|acq_rel|seq_cst)|\.(load|store(?!\(\))|exchange|fetch_\w+)\((?![^;]*memory_order)")


def tracked():
    return [path for path in subprocess.check_output(["git", "ls-files"], text=True).split("\n") if os.path.isfile(path)]


def testonly_files(paths):
    """Files of targets that are testonly, by BUILD."""
    found = set()
    for path in paths:
        if os.path.basename(path) != "BUILD":
            continue
        folder = os.path.dirname(path)
        for statement in ast.parse(open(path, encoding="utf-8").read()).body:
            if not (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call)):
                continue
            keywords = {keyword.arg: keyword.value for keyword in statement.value.keywords}
            if "testonly" not in keywords:
                continue
            if statement.value.func.id in ("copse_library", "mpi_library"):
                found.update(os.path.join(folder, keywords["name"].value + end) for end in (".h", ".cc"))
            for argument in ("srcs", "hdrs"):
                for item in ast.walk(keywords.get(argument, ast.Constant(0))):
                    if isinstance(item, ast.Constant) and isinstance(item.value, str):
                        found.add(os.path.join(folder, item.value))
    return found


def strip(text):
    """Without comments; what is in strings stays."""
    return re.sub(r'("(?:\\.|[^"\\\n])*")|//[^\n]*|/\*.*?\*/', lambda match: match[1] or "", text, flags=re.S)


def code_lines(text):
    return sum(1 for line in strip(text).split("\n") if line.strip())


def script_lines(text):
    return sum(1 for line in text.split("\n") if line.strip() and not line.strip().startswith("#"))


def closing(text, opening):
    """The index behind the brace that closes the one at `opening`."""
    depth = 0
    for index in range(opening, len(text)):
        depth += {"{": 1, "}": -1}.get(text[index], 0)
        if depth == 0:
            return index + 1
    return len(text)


def types_in(text):
    """(name, body) of each class, struct and enum that is defined, nested ones too."""
    for match in re.finditer(r"\b(?:class|struct|enum(?:\s+class)?)\s+(?:\w+\s+)*?(?:\w+::)*(\w+)(?:\s+final)?\s*(?::(?!:)[^;{]*)?{", text):
        yield match[1], text[match.end() - 1:closing(text, match.end() - 1)]


def own_part(body):
    """The body without those of nested types and of functions."""
    depth, kept = 0, []
    for character in body:
        depth -= character == "}"
        if depth <= 1:
            kept.append(character)
        depth += character == "{"
    return "".join(kept)


def without_functions(body):
    """The body without those of functions, so that their variables are not taken for members."""
    kept, index = [], 0
    while index < len(body):
        if body[index] == "{" and index > 0 and "(" in re.split(r"[;{}]", body[:index])[-1]:
            index = closing(body, index)
            kept.append(";")
        else:
            kept.append(body[index])
            index += 1
    return "".join(kept)


def members_in(body):
    return len(re.findall(r"^\s+(?!return|using|friend|static|typedef|case|if|for)[\w:<>,*&\s\[\]]+?[\s*&]\w+(?:\[\w*\])*(?:\s*=[^;(]*|{[^;]*})?;",
                          body, flags=re.M))


def cycles(graph):
    """Nodes in strongly connected components of more than one node (Tarjan)."""
    index, low, stack, on_stack, found = {}, {}, [], set(), []

    def visit(node):
        index[node] = low[node] = len(index)
        stack.append(node)
        on_stack.add(node)
        for other in graph.get(node, ()):
            if other not in index:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in on_stack:
                low[node] = min(low[node], index[other])
        if low[node] == index[node]:
            component = []
            while not component or component[-1] != node:
                component.append(stack.pop())
                on_stack.discard(component[-1])
            if len(component) > 1:
                found.extend(component)

    for node in list(graph):
        if node not in index:
            visit(node)
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--places", type=int, default=3, help="places of each measure (default 3)")
    places_max = parser.parse_args().places
    os.chdir(os.path.join(os.path.dirname(os.path.realpath(__file__)), "../.."))
    paths = tracked()
    testonly = testonly_files(paths)

    def is_test(path):
        stem = os.path.splitext(os.path.basename(path))[0]
        return path in testonly or "/testing/" in path or stem.endswith(("_test", "_fuzz")) or stem.startswith("fake_")

    code = {path: open(path, encoding="utf-8").read() for path in paths if path.endswith(CODE)}
    product = {path: text for path, text in code.items() if not path.startswith(NOT_PRODUCT) and not is_test(path)}
    stripped = {path: strip(text) for path, text in product.items()}

    def show(what, value, places=()):
        print(f"{value:>8}  {what}")
        for place in list(places)[:places_max]:
            print(f"            {place}")

    named = [path for path, text in stripped.items() if re.search(r"\bkExscan\b|\w*EXSCAN\b", text)
             and not path.startswith("client/mpi/")]
    show("product files that name one rarer collective (exscan), MPI's table apart", len(named), named)

    holders = [f"{path}: {name}" for path, text in stripped.items() if path.startswith("daemon/core/")
               for name, body in types_in(text)
               if re.search(r"^\s+(const )?CallArguments \w+( = [^;]*|\{\})?;", own_part(body), flags=re.M)]
    show("types in daemon/core that hold a call's arguments", len(holders), holders)

    twice = {}
    for process, rooms in PROCESSES.items():
        homes = collections.defaultdict(set)
        for path, text in stripped.items():
            if path.startswith(tuple(room + "/" for room in rooms)):
                for name, _ in types_in(text):
                    homes[name].add(path)
        for name, where in homes.items():
            if len(where) > 1 and name not in NESTED_NAMES:
                twice.setdefault(name, set()).update(where)
    ranked = sorted(twice.items(), key=lambda item: -len(item[1]))
    show("type names defined in two product files of one process", len(twice),
         [f"{name}: {', '.join(sorted(where))}" for name, where in ranked])

    bodies, methods = {}, collections.Counter()
    for path, text in stripped.items():
        for name, body in types_in(text):
            lines = sum(1 for line in body.split("\n") if line.strip())
            key = (os.path.dirname(path), name)
            if lines > bodies.get(key, (0, ""))[0]:
                bodies[key] = (lines, body)
        for match in re.finditer(r"^[^\s#}][^\n;{]*?\b(?:\w+::)*?(\w+)::~?\w+\([^;{]*\)[^;{]*{", text, flags=re.M):
            end = closing(text, match.end() - 1)
            methods[(os.path.dirname(path), match[1])] += text[match.start():end].count("\n") + 1
    sizes = sorted(((lines + methods[key], key) for key, (lines, _) in bodies.items()), reverse=True)
    show("lines of the largest class over all its files", sizes[0][0], [f"{size} {'/'.join(key)}" for size, key in sizes])
    bodies = {key: (lines, without_functions(body)) for key, (lines, body) in bodies.items()}
    members = sorted(((members_in(body), key) for key, (_, body) in bodies.items()), reverse=True)
    show("data members of a class, with nested ones", members[0][0], [f"{size} {'/'.join(key)}" for size, key in members])
    bools = sorted(((len(re.findall(r"^\s+(?:std::atomic<)?bool>? \w+( = \w+|{\w*})?;", body, flags=re.M)), key)
                    for key, (_, body) in bodies.items()), reverse=True)
    show("bools of a class, with nested ones", bools[0][0], [f"{size} {'/'.join(key)}" for size, key in bools])

    graph = {}
    for path, text in product.items():
        unit = os.path.splitext(path)[0]
        graph.setdefault(unit, set()).update(
            os.path.splitext(include)[0] for include in re.findall(r'#include "([^"]+)"', text)
            if include in product and os.path.splitext(include)[0] != unit)
    looped = cycles(graph)
    show("units in a cycle", len(looped), sorted(looped))
    folders = collections.Counter(os.path.dirname(path) for path in code if not is_test(path))
    show("source files of one folder, tests apart", folders.most_common(1)[0][1],
         [f"{count} {folder}" for folder, count in folders.most_common(places_max)])

    starts = [f"{path}:{number}" for path, text in product.items() for number, line in enumerate(text.split("\n"), 1)
              if re.match(r"\s*// (Of|Who|Whom|Whoever|Those)\b", line)]
    show("comment lines that begin with Of, Who, Whom, Whoever, Those", len(starts), starts)
    unguarded = []
    for path, text in stripped.items():
        for name, body in types_in(text):
            for mutex in re.findall(r"\bMutex (\w+)(?:{[^}]*})?;", body):
                if not re.search(rf"GUARDED_BY\((?:\w+->)?{mutex}\)", body):
                    unguarded.append(f"{path}: {name}::{mutex}")
    show("mutexes that guard nothing by name", len(unguarded), unguarded)
    unpaired = []
    for path, text in product.items():
        lines = text.split("\n")
        for number, line in enumerate(lines):
            if not line.strip().startswith("//") and STRONG_ORDER.search(line) and not any(
                    "//" in other for other in lines[max(0, number - 3):number + 1]):
                unpaired.append(f"{path}:{number + 1}")
    show("accesses to atomics stronger than relaxed, or of no named order, without a comment", len(unpaired), unpaired)

    totals = collections.Counter()
    for path, text in code.items():
        kind = "bench" if path.startswith("bench/") else "product" if path in product else "tests"
        totals[kind] += code_lines(text)
    for path in paths:
        if os.path.basename(path) == "BUILD" or path.endswith(".bzl"):
            totals["BUILD and bzl"] += script_lines(open(path, encoding="utf-8").read())
        elif path.startswith("bench/") and path.endswith((".py", ".yaml")):
            totals["bench"] += script_lines(open(path, encoding="utf-8").read())
    for kind in ("product", "tests", "bench", "BUILD and bzl"):
        show(f"lines: {kind}", totals[kind])
    show("bytes of docs/", sum(os.path.getsize(path) for path in paths if path.startswith("docs/")))


if __name__ == "__main__":
    main()
