#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""copse-web beside a real planner and daemon.

Arguments: copse-web, copsectl, copsed, copse-planner, libcopse.so.0, barrier_rank.py, copse-ca, planner_cluster.py, browser.py.
"""

import http.client
import json
import os
import re
import shutil
import socket
import ssl
import stat
import subprocess
import sys
import tempfile
import unittest
import urllib.error
import urllib.request

for module in sys.argv[8:10]:
    sys.path.insert(0, os.path.dirname(os.path.abspath(module)))
import browser
from planner_cluster import PATIENCE_S, Processes, until

PROGRAMS = {}
# What each panel says of the cluster of the browser's test: the answers to the questions in docs/reference/copse-web.md.
QUESTIONS = {
    "leader": r"leads\s+127\.0\.0\.1:\d+ .*\n.*for\s+\d+ s\s+term\s+1: at most 0 changes of planner before",
    "states": "1 ready.*all of the planner's version",
    "formations": r"p50\s+[\d.]+ ms\s+p99\s+[\d.]+ ms\s+a second\s+\S+.*\s+formed\s+[2-9]\s+failed\s+0",
    "thread": r"longest turn\s+[\d.]+ ms of processor time.*\s+turn, p99\s+[\d.]+ ms\s+oldest task\s+[\d.]+ ms of \d+ that wait",
    "store": r"commit, p99\s+[\d.]+ ms\s+commits\s+\d+\s+failed\s+0[^$]*disk left\s+\d+ [MGT]iB",
    "streams": r"streams\s+1\s+registered in the last minute\s+\d+: [\d.]+ a second[^$]*n1\s+[\d.]+ s",
    "rates": r"barrier\s+10\s+",
    "latency": r"barrier\s+0 to 0\s+10\s+[\d.]+ µs\s+[\d.]+ s\s+[\d.]+ µs\s+[\d.]+",
    "calls": r"0 of \d are older than 10 s",
    "failures": r"n1\s+barrier\s+member_lost\s+1",
    "limits": r"reserved\s+\d+ \w+, in use \d+ \w+, of \d+ \w+\s+refused\s+none\s+leaked.*\s+0[^$]*teams",
    "network": r"credit stalls\s+0\s+frames waiting, now\s+0[^$]*neighbors lost\s+0[^$]*1 daemons answered",
}


class Web(unittest.TestCase):

    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        self.processes = Processes(self.folder)
        self.addCleanup(self.processes.end)
        self.planner = self.processes.start_serving(PROGRAMS["planner"], "--set", "listen=127.0.0.1:0", "--set",
                                                    f"run_dir={self.folder}", *self.planner_settings())
        self.processes.start_serving(PROGRAMS["copsed"], "--set", "node=n1", "--set", f"planner={self.planner[1]}",
                                     "--set", f"socket=@web-{os.getpid()}", "--set", "admin_listen=127.0.0.1:0",
                                     "--set", f"run_dir={self.folder}")
        self.web = self.processes.start_serving(PROGRAMS["web"], "--listen", "127.0.0.1:0", "--planner",
                                                f"unix:{self.folder}/view.sock", *self.settings())

    def settings(self):
        return []

    def planner_settings(self):
        return ["--set", f"state={self.folder}/planner.db"]

    def get(self, path, **headers):
        """Returns the answer's code and text."""
        request = urllib.request.Request(f"http://{self.web[1]}{path}", headers=headers)
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as refused:
            with refused:
                return refused.code, refused.read().decode()

    def metrics(self):
        code, text = self.get("/metrics")
        self.assertEqual(code, 200)
        return dict(line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))

    def copsectl(self, *verb):
        run = subprocess.run([PROGRAMS["copsectl"], "-e", self.planner[1], "-w", "json", *verb], capture_output=True,
                             check=True, timeout=PATIENCE_S)
        return json.loads(run.stdout)


class MetricsTest(Web):

    def test_metrics_are_what_copsectl_shows_and_what_the_pages_list(self):
        until("a node that is ready", lambda: self.metrics().get('copse_nodes{state="ready"}') == "1")
        shown = self.metrics()
        status = self.copsectl("planner", "status")
        self.assertEqual(shown["copse_planner_up"], "1")
        self.assertEqual(float(shown["copse_planner_term"]), float(status["term"]))
        self.assertEqual(float(shown["copse_sessions"]), float(status["sessions"]))
        self.assertEqual(shown["copse_planner_leader"], "1")
        self.assertIn(f'copse_planner_info{{version="{status["version"]}"}}', shown)
        with open("docs/reference/metrics.md", encoding="utf-8") as page:
            listed = set(re.findall(r"`(copse_\w+)`", page.read()))
        with open("docs/reference/instruments.md", encoding="utf-8") as page:
            described = set(re.findall(r"`([\w.]+)`", page.read()))
        stems = set()
        for counter in self.copsectl("stats", "--planner")[0]["counters"]:
            family, _, last = counter.rpartition(".")
            self.assertTrue({counter, f".{last}", f"{family}.STATE"} & described, counter)
            stems.add(re.sub("_(at_)?(us|ms|s)$", "", f"copse_{counter.replace('.', '_')}"))
        for name in {re.sub("_seconds_(bucket|count|sum)$", "_seconds", name.split("{")[0]) for name in shown} - listed:
            self.assertIn(re.sub("(_timestamp)?_seconds(_total)?$|_total$", "", name), stems)
        if shutil.which("promtool"):
            subprocess.run(["promtool", "check", "metrics"], input=self.get("/metrics")[1], text=True, check=True)

    def test_a_planner_that_ends_is_down(self):
        self.assertEqual(self.get("/healthz"), (200, "ok\n"))
        self.planner[0].kill()
        self.planner[0].wait()
        until("its end to be seen", lambda: self.get("/healthz")[0] == 503)
        shown = self.metrics()
        self.assertEqual(shown.pop("copse_planner_up"), "0")
        self.assertEqual([name.split("{")[0] for name in shown], ["copse_web_info"])

    def test_nothing_is_served_beside(self):
        for path in ("/etc/passwd", "/../metrics", "/metrics/x"):
            self.assertEqual(self.get(path)[0], 404, path)

    def test_bad_settings_are_refused(self):
        for flag, value in (("--listen", "0.0.0.0:0"), ("--listen", "here"), ("--planner", "nowhere")):
            run = subprocess.run([PROGRAMS["web"], flag, value], capture_output=True, text=True, timeout=PATIENCE_S,
                                 check=False)
            self.assertEqual(run.returncode, 2, run.stderr)
            self.assertTrue(run.stderr.startswith(f"copse-web: {flag[2:]}: "), run.stderr)
            self.assertIn(value, run.stderr)

    def test_it_ends_when_told_to(self):
        self.web[0].terminate()
        self.assertEqual(self.web[0].wait(PATIENCE_S), 0)


class HttpsTest(Web):
    """Beyond loopback, with a certificate."""

    def setUp(self):
        self.authorities = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.authorities)
        self.issue("site", "viewer", "web", "--hosts", "localhost")
        super().setUp()
        self.port = self.web[1].rsplit(":", 1)[1]
        self.token = self.copsectl("page", "--file", f"{self.folder}/page")["url"].rsplit("=", 1)[1]

    def issue(self, authority, *words):
        ca = [PROGRAMS["ca"], "--dir", f"{self.authorities}/{authority}"]
        if not os.path.exists(f"{self.authorities}/{authority}"):
            subprocess.run([*ca, "init"], check=True, stdout=subprocess.DEVNULL)
        subprocess.run([*ca, *words], check=True, stdout=subprocess.DEVNULL)

    def path(self, name, authority="site"):
        return f"{self.authorities}/{authority}/{name}"

    def settings(self):
        tls = {"tls_cert": self.path("viewer/web.pem"), "tls_key": self.path("viewer/web.key"),
               "tls_ca": self.path("ca.pem"), "tls_crl_dir": self.path("crl"), "page_file": f"{self.folder}/page"}
        return ["--set", "listen=0.0.0.0:0", *(word for key, value in tls.items() for word in ("--set", f"{key}={value}"))]

    def ask(self, path, certificate=None, **headers):
        """Asks as a client that checks the server's name, and has this certificate."""
        context = ssl.create_default_context(cafile=self.path("ca.pem"))
        if certificate is not None:
            context.load_cert_chain(f"{certificate}.pem", f"{certificate}.key")
        connection = http.client.HTTPSConnection(f"localhost:{self.port}", context=context, timeout=PATIENCE_S)
        connection.request("GET", path, headers=headers)
        self.shown = connection.sock.getpeercert()["serialNumber"]
        answer = connection.getresponse()
        answer.text = answer.read().decode()
        connection.close()
        return answer

    def test_browsers_need_the_token_and_no_certificate(self):
        self.assertRegex(self.copsectl("page", "--file", f"{self.folder}/page")["url"],
                         rf"^https://{re.escape(socket.gethostname())}:{self.port}/")
        first = self.ask(f"/?token={self.token}")
        self.assertEqual(first.status, 303)
        cookie = first.headers["Set-Cookie"]
        self.assertTrue(cookie.endswith("; Secure"), cookie)
        self.assertIn("<title>Copse</title>", self.ask("/", Cookie=cookie.split(";")[0]).text)
        self.assertEqual(self.ask("/").status, 403)

    def test_metrics_are_for_those_who_have_a_certificate_of_the_cluster(self):
        self.issue("site", "viewer", "prometheus")
        self.issue("elsewhere", "viewer", "prometheus")
        for path in ("/metrics", "/healthz"):
            self.assertEqual(self.ask(path).status, 403)
            self.assertEqual(self.ask(path, self.path("viewer/prometheus", "elsewhere")).status, 403)
            self.assertEqual(self.ask(path, self.path("viewer/prometheus")).status, 200)

    def test_plain_text_gets_no_answer(self):
        connection = http.client.HTTPConnection(f"localhost:{self.port}", timeout=PATIENCE_S)
        connection.request("GET", "/metrics")
        with self.assertRaises((http.client.HTTPException, ConnectionError)):
            connection.getresponse()
        connection.close()

    def test_a_new_certificate_is_shown_without_a_restart(self):
        self.ask("/")
        first = self.shown
        self.issue("site", "revoke", "viewer", "web")
        self.issue("site", "viewer", "web", "--hosts", "localhost")
        until("the new certificate", lambda: self.ask("/") and self.shown != first)


class Page(Web):

    VIEWERS = 2

    def setUp(self):
        super().setUp()
        self.url = self.copsectl("page", "--file", f"{self.folder}/page")["url"]
        self.token = self.url.rsplit("=", 1)[1]
        self.cookie = {"Cookie": f"other=1; copse_web={self.token}"}

    def settings(self):
        return ["--set", f"page_file={self.folder}/page", "--set", f"viewers={self.VIEWERS}"]

    def ask(self, path, **headers):
        """Returns the answer, read, of a request with these headers; a Host among them replaces the true one."""
        connection = http.client.HTTPConnection(self.web[1], timeout=PATIENCE_S)
        connection.request("GET", path, headers=headers)
        answer = connection.getresponse()
        answer.text = answer.read().decode()
        connection.close()
        return answer

    def cluster(self):
        return json.loads(self.ask("/api/cluster", **self.cookie).text)


class PageTest(Page):

    def form_team(self, name="world"):
        ranks = [self.processes.start(sys.executable, PROGRAMS["rank"], PROGRAMS["libcopse"], f"@web-{os.getpid()}",
                                      name, str(rank), "2", stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                      text=True) for rank in range(2)]
        for rank in ranks:
            self.assertEqual(rank.stdout.readline(), "ready\n")
        return ranks

    @staticmethod
    def call_barriers(count, *ranks):
        for rank in ranks:
            rank.stdin.write(f"{count}\n")
            rank.stdin.flush()

    def test_the_token_opens_the_page_and_leaves_the_address(self):
        self.assertEqual(self.url, f"http://{self.web[1]}/?token={self.token}")
        self.assertEqual(stat.S_IMODE(os.stat(f"{self.folder}/page").st_mode), 0o600)
        first = self.ask(f"/?token={self.token}")
        self.assertEqual((first.status, first.headers["Location"]), (303, "/"))
        cookie = first.headers["Set-Cookie"]
        self.assertIn("; HttpOnly; SameSite=Strict", cookie)
        page = self.ask("/", Cookie=cookie.split(";")[0])
        self.assertEqual(page.status, 200)
        self.assertIn("<title>Copse</title>", page.text)

    def test_only_its_own_files_are_used(self):
        page = self.ask("/", **self.cookie)
        policy = dict(part.strip().split(" ", 1) for part in page.headers["Content-Security-Policy"].split(";"))
        self.assertEqual(policy["default-src"], "'none'")
        for what in ("script-src", "style-src", "connect-src"):
            self.assertEqual(policy[what], "'self'")
        self.assertEqual(page.headers["X-Content-Type-Options"], "nosniff")
        waiting, files = ["/"], {}
        while waiting:
            path = waiting.pop()
            files[path] = self.ask(path, **self.cookie)
            self.assertEqual(files[path].status, 200, path)
            found = re.findall(r'(?:href|src|from) ?=? ?"(/[\w.]+)"', files[path].text)
            waiting += [name for name in found if name not in files]
            hosts = re.findall(r"https?://[\w.]+", files[path].text)
            self.assertLessEqual(set(hosts), {"http://www.w3.org"}, path)
        self.assertEqual(set(files), {"/", "/app.js", "/draw.js", "/panels.js", "/questions.js",
                                      "/style.css"})
        self.assertTrue(files["/app.js"].headers["Content-Type"].startswith("text/javascript"))

    def test_strangers_are_refused(self):
        strangers = [{}, {"Cookie": "copse_web=0"}, {**self.cookie, "Host": "evil.site"},
                     {**self.cookie, "Origin": "http://evil.site"}, {**self.cookie, "Origin": "null"}]
        for path in ("/", "/app.js", "/api/cluster", "/api/team?id=1", "/api/history"):
            for headers in strangers:
                answer = self.ask(path, **headers)
                self.assertEqual(answer.status, 403, (path, headers))
                self.assertNotIn(self.token, answer.text)
        self.assertEqual(self.ask("/?token=0").status, 403)
        port = self.web[1].rsplit(":", 1)[1]
        own = {**self.cookie, "Host": f"localhost:{port}", "Origin": f"http://localhost:{port}"}
        self.assertEqual(self.ask("/api/cluster", **own).status, 200)

    def test_viewers_beyond_the_limit_come_again(self):
        for name in ("a", "b", "a"):
            self.assertEqual(self.ask("/api/cluster", **self.cookie, **{"X-Copse-Viewer": name}).status, 200)
        refused = self.ask("/api/cluster", **self.cookie, **{"X-Copse-Viewer": "c"})
        self.assertEqual(refused.status, 503)
        self.assertEqual(refused.headers["Retry-After"], "10")
        self.assertIn(f"limit={self.VIEWERS}", refused.text)
        self.assertEqual(self.ask("/api/cluster", **self.cookie, **{"X-Copse-Viewer": "x" * 65}).status, 400)

    def test_the_cluster_is_what_copsectl_shows(self):
        ranks = self.form_team()
        self.call_barriers(5, *ranks)
        for rank in ranks:
            self.assertEqual(rank.stdout.readline(), "done\n")
        cluster = until("the calls to be seen", lambda: (seen := self.cluster()).get("latency") and seen)
        self.assertEqual(cluster.get("error", ""), "")
        self.assertEqual([(node["name"], node["state"]) for node in cluster["nodes"]], [("n1", "ready")])
        self.assertEqual([(team["name"], team["state"], team["members"]) for team in cluster["teams"]],
                         [("world", "ready", [])])
        self.assertIn("barrier", [row["collective"] for row in cluster["latency"]])
        self.assertIn("formed", [row["method"] for row in cluster["events"]])
        self.assertIn("is_default", cluster["topology"])
        self.assertIsNone(cluster["audit"])
        team = cluster["teams"][0]["id"]
        path = f"/api/team?id={team}"
        answer = until("the team", lambda: (seen := json.loads(self.ask(path, **self.cookie).text)).get("team") and seen)
        self.assertEqual([member["rank"] for member in answer["team"]["members"]], [0, 1])
        self.assertEqual([plan["id"] for plan in answer["plans"]],
                         [plan["id"] for plan in self.copsectl("plan", "list", "--team", str(team))])

    def test_what_has_not_changed_does_not_come_again(self):
        cluster = until("the nodes", lambda: (seen := self.cluster()).get("nodes") and seen.get("topology") and seen)
        later = json.loads(self.ask(f"/api/cluster?after={cluster['version']}", **self.cookie).text)
        self.assertGreaterEqual(later["version"], cluster["version"])
        self.assertNotIn("nodes", later)
        self.assertNotIn("topology", later)
        self.assertIn("nodes", json.loads(self.ask("/api/cluster?after=9999999", **self.cookie).text))
        self.assertEqual(self.ask("/api/cluster?after=x", **self.cookie).status, 400)

    @unittest.skipUnless(browser.is_installed(), "chromium is not installed (tools/setup --all)")
    def test_a_browser_shows_it(self):
        first, second = self.form_team("first"), self.form_team("second")
        with browser.Browser(self.folder) as page:
            page.open(self.url)
            page.wait_until("document.getElementById('teams')?.textContent.includes('second')")
            page.wait_until("document.querySelector('#team svg') && document.querySelector('#history polyline')")
            self.assertEqual(page.evaluate("location.search"), "")
            self.assertRegex(page.evaluate("document.getElementById('events').innerText"), "team \\d+\\s+formed")

            # j and k choose the next and the previous team.
            chosen = "document.querySelector('#teams [aria-pressed=true]').closest('tr').children[1].textContent"
            self.assertEqual(page.evaluate(chosen), "first")
            page.press("j")
            page.wait_until("document.getElementById('team').textContent.startsWith('second, 2 ranks')")
            self.assertEqual(page.evaluate(chosen), "second")
            page.press("k")
            page.wait_until("document.getElementById('team').textContent.startsWith('first, 2 ranks')")

            # A call that waits for a rank; then calls that end well; then one whose rank has died.
            self.call_barriers(5, first[0])
            page.wait_until("document.getElementById('calls').textContent.includes('1 of 1 are older than 10 s')")
            self.assertRegex(page.evaluate("document.getElementById('calls').innerText"), r"barrier 0\s+1\d\.\d s\s+1\s+1\s+n1")
            self.call_barriers(5, first[1])
            for rank in first:
                self.assertEqual(rank.stdout.readline(), "done\n")
            page.wait_until("document.getElementById('latency').textContent.includes('barrier')")
            self.call_barriers(1, second[0])
            page.wait_until("document.getElementById('calls').textContent.includes('0 of 1 are older')")
            second[1].kill()
            page.wait_until("document.getElementById('failures').textContent.includes('member_lost')")
            for panel, said in QUESTIONS.items():
                with self.subTest(panel=panel):
                    self.assertRegex(page.evaluate(f"document.getElementById('{panel}').innerText"), said)

            # Light and dark.
            colors = set()
            for scheme in ("light", "dark"):
                page.send("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
                colors.add(page.evaluate("getComputedStyle(document.querySelector('.ready')).color"))
                page.picture(f"{os.environ.get('TEST_UNDECLARED_OUTPUTS_DIR', self.folder)}/page-{scheme}.png")
            self.assertEqual(len(colors), 2)
            self.assertEqual(page.complaints, [])

    def test_a_team_that_is_gone_and_no_team(self):
        self.assertEqual(self.ask("/api/team?id=x", **self.cookie).status, 400)
        until("an error", lambda: "error" in json.loads(self.ask("/api/team?id=99", **self.cookie).text))

    def test_metrics_history_and_the_page_agree(self):
        until("the node", lambda: self.cluster().get("counters", {}).get("sessions") == 1)
        self.assertEqual(self.metrics()["copse_sessions"], "1")
        history = json.loads(self.ask("/api/history", **self.cookie).text)
        self.assertEqual(len(history["times"]), len(history["series"]["sessions"]))
        self.assertGreaterEqual(len(history["times"]), 1)

    def test_the_end_of_the_planner_is_told(self):
        self.planner[0].kill()
        self.planner[0].wait()
        until("an error", lambda: self.cluster().get("error"))
        self.assertNotIn("nodes", self.cluster())


class ManyViewersTest(Page):
    """More viewers than copse-web serves, and clients that never read."""

    VIEWERS = 32
    COMERS = 200

    def planner_settings(self):
        # The cluster is larger than what sockets' buffers hold.
        with open(f"{self.folder}/topology.yaml", "w", encoding="ascii") as file:
            file.write("version: 1\nswitches:\n  - {name: core}\nnodes:\n  - {name: \"absent[0001-1500]\", switch: core}\n")
        return ["--set", f"topology={self.folder}/topology.yaml"]

    def viewer(self, number):
        return {**self.cookie, "X-Copse-Viewer": f"viewer{number}"}

    def ask_at_once(self):
        """Returns the answers of all viewers, who have all asked before the first one reads."""
        connections = [http.client.HTTPConnection(self.web[1], timeout=PATIENCE_S) for _ in range(self.COMERS)]
        for number, connection in enumerate(connections):
            connection.request("GET", "/api/cluster", headers=self.viewer(number))
        answers = [connection.getresponse() for connection in connections]
        for answer in answers:
            answer.text = answer.read().decode()
        for connection in connections:
            connection.close()
        return answers

    def ask_without_reading(self, number):
        host, port = self.web[1].split(":")
        one = socket.socket()
        self.addCleanup(one.close)
        one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        one.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, 536)
        one.connect((host, int(port)))
        request = "".join(f"{name}: {value}\r\n" for name, value in self.viewer(number).items())
        one.sendall(f"GET /api/cluster HTTP/1.1\r\nHost: {self.web[1]}\r\n{request}\r\n".encode())
        one.recv(1, socket.MSG_PEEK)
        return one

    def threads(self):
        with open(f"/proc/{self.web[0].pid}/status", encoding="ascii") as status:
            return int(re.search(r"Threads:\s+(\d+)", status.read())[1])

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.web[0].pid}/fd"))

    def test_viewers_beyond_the_limit_and_clients_that_never_read_keep_nobody_waiting(self):
        until("the cluster", lambda: len(self.ask("/api/cluster", **self.viewer(0)).text) > 256 << 10)
        threads = self.threads()

        served = None
        for _ in range(3):
            answers = self.ask_at_once()
            now_served = [number for number, answer in enumerate(answers) if answer.status == 200]
            self.assertEqual(len(now_served), self.VIEWERS)
            self.assertIn(served, (None, now_served))
            served = now_served
            for number in set(range(self.COMERS)) - set(served):
                self.assertEqual((answers[number].status, answers[number].headers["Retry-After"]), (503, "10"))
            for number in served:
                self.assertIn("topology", json.loads(answers[number].text))
        self.assertLess(self.threads(), threads + self.VIEWERS // 2)

        unread = [self.ask_without_reading(served[number % self.VIEWERS]) for number in range(self.COMERS)]
        self.assertEqual(self.metrics()["copse_planner_up"], "1")
        for number in served:
            self.assertEqual(self.ask("/api/cluster", **self.viewer(number)).status, 200)
        # Nobody has waited until they were given up.
        self.assertGreater(self.descriptors(), self.COMERS)
        self.assertLess(self.threads(), threads + self.VIEWERS // 2)
        self.assertEqual(self.ask("/api/cluster", **self.viewer("new")).status, 503)

        for one in unread:
            one.close()
        until("a place", lambda: self.ask("/api/cluster", **self.viewer("new")).status == 200)


if __name__ == "__main__":
    PROGRAMS.update(zip(("web", "copsectl", "copsed", "planner", "libcopse", "rank", "ca"), map(os.path.abspath, sys.argv[1:8])))
    unittest.main(argv=sys.argv[:1], verbosity=2)
