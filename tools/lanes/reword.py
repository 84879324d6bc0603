#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Makes a copy of the tree with other wording of errors and log lines, to show that no test depends on it.

    tools/lanes/reword.py COPY

In the product's sources in the folder COPY, each word in a string literal that is an argument of something that makes an
error, a failure's report or a log line is put in capitals. What tests may ask for stays as it is: names of things and
values beside them (`plan: `, `ranks=2`, `node 3`), numbers, paths, flags, identifiers, formats.
"""

import os
import re
import shutil
import subprocess
import sys

# Calls whose literals are worded for people: absl's errors, those that wrap them, refusals, reports, log lines.
CALL = re.compile(r"""\b(?:\w*Error|ErrorAt|Fail\w*|\w*Defect|\w*Mistake|Bad|Break\w*|Say\w*|Refuse\w*|Invalid|Doom|Die
                      |Wrong|OutOfRange|Log|COPSE_LOG|ReportOf|FailureReport|Complain\w*|TellFailure|OnTeamFailed
                      |LogLine|Annotate\w*|Warn\w*)\s*(?=[({])""", re.X)
# A word of a literal, on its own. It is not a name before its value (`name=`, `name: `, `name %d`, `name 3`, or `name ` where
# the next argument is the value), nor a value, nor part of a path, a flag, an identifier, an escape or a format.
WORD = re.compile(r"=[^,;()\"]*|(?<![\w./%\\\-<>@$'])[a-z]{3,}(?![\w=./\-<>@(:'\\]|\s+[%\d]|\s+\"$|, \"$)")
# What a call has in front, `OutOfRange("type", value`, is a name before its value, too, and so is all that a call inside
# it has: `config.Text("heartbeat")`, `node["seconds"]`.
FIRST_NAME = re.compile(r'"[a-z]+",')
ONLY_NAME = re.compile(r'(?<=[(\[])"[a-z]+"[)\]]')
TOKEN = re.compile(r'R"(\w*)\((.*?)\)\1"|"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)+\'|//[^\n]*|/\*.*?\*/', re.S)
LEFT_OUT = ("_test.cc", "_fuzz.cc")
ROOMS_LEFT_OUT = ("integration_tests", "testbed", "tools", "bench", "out", "third_party", "docs")


def spans(text):
    """(start, end) of string literals, and of all else that is no code."""
    for match in TOKEN.finditer(text):
        yield match.start(), match.end(), match.group().startswith('"')


def ends_of_calls(text, code):
    """(start, end) of the arguments of each such call; brackets are counted in `code`, where literals are blank."""
    for match in CALL.finditer(code):
        depth = 0
        for end in range(match.end(), len(code)):
            if code[end] in "({[":
                depth += 1
            elif code[end] in ")}]":
                depth -= 1
                if depth == 0:
                    yield match.end(), end
                    break


def reworded(text):
    """The source with its wording changed, and how many words were."""
    literals = []
    blank = list(text)
    for start, end, is_string in spans(text):
        if is_string:
            literals.append((start, end))
        for i in range(start, end):
            if blank[i] != "\n":
                blank[i] = " "
    code = "".join(blank)
    inside = set()
    for start, end in ends_of_calls(text, code):
        inside.update(literal for literal in literals if start < literal[0] < end
                      and not (FIRST_NAME if literal[0] == start + 1 else ONLY_NAME).match(text, literal[0]))
    words = 0
    pieces = []
    last = 0
    for start, end in sorted(inside):
        literal = WORD.sub(lambda match: match.group() if match.group()[0] == "=" else match.group().upper(),
                           text[start:end])
        words += sum(1 for before, after in zip(text[start:end].split(), literal.split()) if before != after)
        pieces += [text[last:start], literal]
        last = end
    return "".join(pieces) + text[last:], words


def is_product(path):
    return (path.endswith((".cc", ".h", ".c")) and not path.endswith(LEFT_OUT)
            and path.split("/")[0] not in ROOMS_LEFT_OUT and "/testing/" not in path)


def write_copy(copy):
    """Makes `copy` the tree's reworded copy. What is there already is left alone, so that Bazel builds little again."""
    listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], check=True,
                            stdout=subprocess.PIPE).stdout.decode()
    paths = {path for path in listed.split("\0") if path and os.path.exists(path)}
    words = files = 0
    for path in sorted(paths):
        with open(path, "rb") as stream:
            content = stream.read()
        if is_product(path):
            text, count = reworded(content.decode())
            content = text.encode()
            words += count
            files += count > 0
        target = os.path.join(copy, path)
        if os.path.exists(target):
            with open(target, "rb") as stream:
                if stream.read() == content:
                    continue
        os.makedirs(os.path.dirname(target), exist_ok=True)
        with open(target, "wb") as stream:
            stream.write(content)
        shutil.copymode(path, target)
    for folder, folders, names in os.walk(copy):
        if folder == copy:
            folders[:] = [name for name in folders if name != "out" and not name.startswith("bazel-")]
        for name in names:
            path = os.path.join(folder, name)
            if os.path.relpath(path, copy) not in paths and name != "user.bazelrc":
                os.remove(path)
    return words, files


def main(arguments):
    if len(arguments) != 1 or arguments[0].startswith("-"):
        print("usage: tools/lanes/reword.py COPY", file=sys.stderr)
        return 2
    words, files = write_copy(arguments[0])
    print(f"reworded: {words} words in {files} files")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
