#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Measures the page of a large cluster: a planner, copse-web, many fake daemons with teams, and a browser.

Arguments: copse-planner, copse-web, control_swarm, planner_cluster.py, browser.py, then the numbers of nodes, teams and
viewers, two numbers of seconds, the number of rounds, and a folder. Each round is a line of fields, "round paint_s=S
memory_mb=M task_ms=T planner=P web=W alone=A scrape_ms=S": the first paint of the cluster, the tab's memory and its longest task while
it shows the cluster for the first number of seconds, and what planner and copse-web take of a core for the viewers, beyond
`alone`, what the planner takes without any, and the median time of a scrape then. The second number is how long the viewers look: longer than copse-web's longest
pause. The last line is "end", or "skipped: why", or "failed: why".
"""

import http.client
import json
import os
import re
import statistics
import subprocess
import sys
import threading
import time
import urllib.request

CONNECT_S = 120
TEAMS_S = 120
# Lists are no longer asked for when nobody has looked for so long (cli/web/planner_view.h).
INTEREST_S = 10
PAUSE_S = 1
SCRAPES = 100
WATCH = """
let longest = 0;
new PerformanceObserver((list) => { for (const task of list.getEntries()) longest = Math.max(longest, task.duration); })
    .observe({type: "longtask", buffered: true});
const seen = new MutationObserver(() => {
  const says = (id) => document.getElementById(id)?.textContent.includes("%s");
  if (!says("states") || !says("cluster")) return;
  seen.disconnect();
  // The second frame begins when the first one is painted.
  requestAnimationFrame(() => requestAnimationFrame(() => painted(String(performance.now()))));
});
seen.observe(document, {childList: true, subtree: true, characterData: true});
"""


def topology(nodes):
    """Returns the topology of a cluster in racks of 40 nodes, 25 racks a row."""
    lines = ["version: 1", "switches:", "  - {name: core}"]
    racks = range((nodes + 39) // 40)
    lines += [f"  - {{name: row{row}, parent: core, bandwidth: 100Gbit}}" for row in range((len(racks) + 24) // 25)]
    lines += [f"  - {{name: rack{rack}, parent: row{rack // 25}, bandwidth: 40Gbit}}" for rack in racks]
    lines += ["nodes:"]
    for rack in racks:
        last = min(40 * rack + 39, nodes - 1)
        lines.append(f'  - {{name: "node[{40 * rack:06}-{last:06}]", switch: rack{rack}}}')
    return "\n".join(lines) + "\n"


class Viewer(threading.Thread):
    """Asks copse-web as the page does, until it is told to end."""

    def __init__(self, address, token, number):
        super().__init__()
        self.address = address
        self.headers = {"Cookie": f"copse_web={token}", "X-Copse-Viewer": f"viewer{number}",
                        "Accept-Encoding": "gzip, deflate, br"}
        self.ends = threading.Event()
        self.shown = threading.Event()
        self.number = number
        self.after = ""
        self.refused = None

    def ask(self, path):
        connection = http.client.HTTPConnection(self.address, timeout=60)
        connection.request("GET", path, headers=self.headers)
        answer = connection.getresponse()
        text = answer.read()
        connection.close()
        if answer.status != 200:
            raise ConnectionError(f"{path}: {answer.status}")
        return text

    def run(self):
        turn, team = 0, None
        try:
            while not self.ends.wait(PAUSE_S):
                text = self.ask(f"/api/cluster{self.after}")
                if b'"teams"' in text:
                    teams = json.loads(text)["teams"]
                    team = teams[self.number % len(teams)]["id"]
                    self.shown.set()
                if found := re.match(rb'{"version":(\d+)', text):
                    self.after = f"?after={int(found[1])}"
                if team is not None:
                    self.ask(f"/api/team?id={team}")
                if turn % 5 == 0:
                    self.ask("/api/history")
                turn += 1
        except OSError as error:
            self.refused = error
            self.shown.set()


def cpu_s(process):
    with open(f"/proc/{process.pid}/stat", encoding="ascii") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Bench:

    def __init__(self, processes, nodes, teams, viewers, seconds, viewed_s):
        self.processes, self.nodes, self.viewers = processes, nodes, viewers
        self.seconds, self.viewed_s = seconds, viewed_s
        folder = self.folder = processes.folder
        with open(f"{folder}/topology.yaml", "w", encoding="ascii") as file:
            file.write(topology(nodes))
        self.planner, planner = self.processes.start_serving(PROGRAMS["planner"], "--set", "listen=127.0.0.1:0", "--set",
                                                             f"run_dir={folder}", "--set", f"topology={folder}/topology.yaml")
        self.swarm = self.processes.start(PROGRAMS["swarm"], planner, str(nodes), stdin=subprocess.PIPE,
                                          stdout=subprocess.PIPE, text=True)
        self.ask_swarm(f"connect {CONNECT_S}", f"registered={nodes} ")
        self.ask_swarm(f"keep {teams} {TEAMS_S}", f"kept={teams} ")
        self.web, self.address = self.processes.start_serving(
            PROGRAMS["web"], "--listen", "127.0.0.1:0", "--planner", f"unix:{folder}/view.sock", "--set",
            f"page_file={folder}/page")
        until("the page's address", lambda: os.path.exists(f"{folder}/page"))
        with open(f"{folder}/page", encoding="ascii") as file:
            self.url = file.read().strip()

    def ask_swarm(self, command, wanted):
        self.swarm.stdin.write(f"{command}\n")
        self.swarm.stdin.flush()
        answer = self.swarm.stdout.readline()
        if wanted not in answer:
            raise AssertionError(f"the swarm has not done it ({command}): {answer.strip()}")

    def use(self, seconds):
        """Returns the parts of a core that planner and copse-web take, in percent."""
        processes = (self.planner, self.web)
        begun, before = time.monotonic(), [cpu_s(process) for process in processes]
        time.sleep(seconds)  # tidy: allow(sleep) because it is how long is measured
        passed = time.monotonic() - begun
        return [100 * (cpu_s(process) - was) / passed for process, was in zip(processes, before)]

    def scrape_ms(self):
        """Returns the median time from the connection to the last byte of the planner's metrics."""
        times = []
        for _ in range(SCRAPES):
            begun = time.monotonic()
            with urllib.request.urlopen(f"http://{self.address}/metrics", timeout=60) as answer:
                if b"\ncopse_planner_up 1\n" not in answer.read():
                    raise AssertionError("copse-web does not show the planner")
            times.append(1000 * (time.monotonic() - begun))
        return statistics.median(times)

    def look(self):
        """Returns the time of the first paint, the tab's highest memory, and the longest task after the paint."""
        with browser.Browser(self.folder) as tab:
            tab.run_at_start(WATCH % f"{self.nodes} ready", "painted")
            tab.open(self.url)
            paint_s = float(tab.wait_for("painted")) / 1000
            tab.evaluate("longest = 0")
            memory_mb = 0
            until_s = time.monotonic() + self.seconds
            while time.monotonic() < until_s:
                memory_mb = max(memory_mb, tab.renderers_pss_mb())
                time.sleep(0.5)  # tidy: allow(sleep) because it is how often memory is read
            if tab.complaints:
                raise AssertionError(f"the browser complains: {tab.complaints}")
            return paint_s, memory_mb, tab.evaluate("longest")

    def use_by_viewers(self):
        viewers = [Viewer(self.address, self.url.rsplit("=", 1)[1], i) for i in range(self.viewers)]
        for viewer in viewers:
            viewer.start()
        try:
            for viewer in viewers:
                if not viewer.shown.wait(60):
                    raise AssertionError("a viewer does not see the teams")
            use = self.use(self.viewed_s)
        finally:
            for viewer in viewers:
                viewer.ends.set()
            for viewer in viewers:
                viewer.join()
        refused = [str(viewer.refused) for viewer in viewers if viewer.refused]
        if refused:
            raise AssertionError(f"viewers were refused: {refused}")
        return use

    def round(self):
        time.sleep(INTEREST_S + PAUSE_S)  # tidy: allow(sleep) because it is how long interest lasts
        alone = self.use(self.seconds)
        scrape_ms = self.scrape_ms()
        paint_s, memory_mb, task_ms = self.look()
        planner, web = (with_them - without for with_them, without in zip(self.use_by_viewers(), alone))
        return f"round paint_s={paint_s:.3f} memory_mb={memory_mb:.1f} task_ms={task_ms:.0f} planner={planner:.2f} web={web:.2f} alone={alone[0]:.2f} scrape_ms={scrape_ms:.3f}"


def main(nodes, teams, viewers, seconds, viewed_s, rounds, folder):
    if not browser.is_installed():
        print("skipped: chromium is not installed (tools/setup --all)", flush=True)
        return
    processes = Processes(folder)
    last = "end"
    try:
        bench = Bench(processes, int(nodes), int(teams), int(viewers), float(seconds), float(viewed_s))
        for _ in range(int(rounds)):
            print(bench.round(), flush=True)
    except AssertionError as why:
        last = f"failed: {why}"
    finally:
        processes.end()
    print(last, flush=True)  # the reader ends this program


if __name__ == "__main__":
    PROGRAMS = dict(zip(("planner", "web", "swarm"), map(os.path.abspath, sys.argv[1:4])))
    for module in sys.argv[4:6]:
        sys.path.insert(0, os.path.dirname(os.path.abspath(module)))
    import browser
    from planner_cluster import Processes, until
    main(*sys.argv[6:])
