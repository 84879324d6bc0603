#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What a journal gets of planner, daemons, exporter and page, as from units: levels, and fields to select lines by. The
test takes journald's place, in a /run that only its processes see.

Arguments: copsed, copse-planner, copse-exporter, copse-web, libcopse.so.0, testbed/script/barrier_rank.py and
planner_cluster.py.
"""

import os
import queue
import socket
import subprocess
import sys
import tempfile
import threading
import unittest
import urllib.request

PROGRAMS = {}
JOURNALD = "/run/systemd/journal/socket"
WARNING, INFO = "4", "6"


def fields_of(record):
    """Returns a record's fields; none of these lines has one that needs the protocol's binary form."""
    return dict(line.split("=", 1) for line in record.decode().splitlines())


class JournalTest(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="journal")  # pylint: disable=consider-using-with
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.stderr = open(os.path.join(self.folder, "stderr"), "w+b")  # pylint: disable=consider-using-with
        self.addCleanup(self.stderr.close)
        status = os.fstat(self.stderr.fileno())
        self.environment = {**os.environ, "JOURNAL_STREAM": f"{status.st_dev}:{status.st_ino}"}
        os.makedirs(os.path.dirname(JOURNALD), exist_ok=True)
        self.journald = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.addCleanup(self.journald.close)
        self.addCleanup(self.journald.shutdown, socket.SHUT_RD)
        self.journald.bind(JOURNALD)
        self.addCleanup(os.unlink, JOURNALD)
        # Programs wait while a few records are unread.
        self.records = queue.Queue()
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        while True:
            try:
                self.records.put(fields_of(self.journald.recv(1 << 16)))
            except OSError:  # the test is over
                return

    def start(self, program, *settings):
        words = [word for setting in settings for word in ("--set", setting)]
        port_file = os.path.join(self.folder, f"{program}.{len(settings)}.{settings[0].replace('/', '_')}.port")
        process = subprocess.Popen(  # pylint: disable=consider-using-with
            [PROGRAMS[program], "--config", "/dev/null", "--port-file", port_file, *words], stdin=subprocess.DEVNULL,
            stderr=self.stderr, env=self.environment)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        planner_cluster.until(f"{program} to listen", lambda: os.path.exists(port_file))
        with open(port_file, encoding="utf-8") as stream:
            return stream.read().strip()

    def rank(self, node, rank):
        process = subprocess.Popen(  # pylint: disable=consider-using-with
            [sys.executable, PROGRAMS["rank"], PROGRAMS["libcopse"], f"@{self.folder}-{node}", "world", str(rank), "2"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            env={**self.environment, "COPSE_JOB": "job-17"})
        for stream in (process.stdin, process.stdout):
            self.addCleanup(stream.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def record(self, program, **wanted):
        """Waits for a record of the program with these fields, and returns all of it."""
        while True:
            fields = self.records.get(timeout=planner_cluster.PATIENCE_S)
            if fields["SYSLOG_IDENTIFIER"] == program and wanted.items() <= fields.items():
                return fields

    def test_records_say_what_they_concern(self):
        planner = self.start("copse-planner", "listen=127.0.0.1:0", f"run_dir={self.folder}")
        self.assertNotIn("COPSE_TEAM", self.record("copse-planner", PRIORITY=INFO))
        for node in ("n1", "n2"):
            self.start("copsed", f"node={node}", f"planner={planner}", f"socket=@{self.folder}-{node}",
                       "admin_listen=127.0.0.1:0", f"run_dir={self.folder}")
            self.record("copse-planner", COPSE_NODE=node, PRIORITY=INFO)
        ranks = [self.rank("n1", 0), self.rank("n2", 1)]
        formed = self.record("copse-planner", COPSE_JOB="job-17", PRIORITY=INFO)
        self.assertTrue(formed["COPSE_TEAM"].isdigit(), formed)
        self.assertIn(f"team {formed['COPSE_TEAM']} ", formed["MESSAGE"])
        for rank in ranks:
            self.assertEqual(rank.stdout.readline(), b"ready\n")
        ranks[1].kill()
        broken = self.record("copsed", COPSE_TEAM=formed["COPSE_TEAM"], COPSE_JOB="job-17", PRIORITY=WARNING)
        self.assertIn(broken["COPSE_NODE"], ("n1", "n2"))
        self.assertNotIn("WARNING", broken["MESSAGE"])
        self.assertEqual(os.fstat(self.stderr.fileno()).st_size, 0, "lines were written as text, too")

    def test_exporter_and_page(self):
        nobody = "127.0.0.1:1"
        exporter = self.start("copse-exporter", "listen=127.0.0.1:0", f"daemon={nobody}")
        with urllib.request.urlopen(f"http://{exporter}/metrics", timeout=planner_cluster.PATIENCE_S) as answer:
            answer.read()
        self.assertIn(nobody, self.record("copse-exporter", PRIORITY=WARNING)["MESSAGE"])
        self.start("copse-web", "listen=127.0.0.1:0", f"planner={nobody}", f"page_file={self.folder}/page")
        self.assertIn(nobody, self.record("copse-web", PRIORITY=WARNING)["MESSAGE"])

    def test_a_redirected_standard_error_gets_text(self):
        self.environment["JOURNAL_STREAM"] = "1:1"
        self.start("copse-planner", "listen=127.0.0.1:0", f"run_dir={self.folder}")
        self.stderr.seek(0)
        self.assertIn(b" INFO copse-planner: ", self.stderr.read())
        self.assertTrue(self.records.empty())


def in_own_run():
    """Runs this test again where /run is its own."""
    words = ["unshare", "--mount"] + ([] if os.geteuid() == 0 else ["--map-root-user"])
    if subprocess.call(words + ["mount", "-t", "tmpfs", "tmpfs", "/run"], stderr=subprocess.DEVNULL) != 0:
        print("SKIPPED: no file system can be mounted")
        sys.exit(0)
    os.execvp("unshare", words + ["sh", "-c", 'mount -t tmpfs tmpfs /run && exec "$@"', "sh", sys.executable,
                                  *sys.argv, "--inside"])


if __name__ == "__main__":
    if sys.argv[-1] != "--inside":
        in_own_run()
    sys.argv.pop()
    sys.path.insert(0, os.path.dirname(os.path.abspath(sys.argv[7])))
    import planner_cluster
    PROGRAMS.update(zip(("copsed", "copse-planner", "copse-exporter", "copse-web", "libcopse", "rank"),
                        sys.argv[1:7]))
    unittest.main(argv=sys.argv[:1])
