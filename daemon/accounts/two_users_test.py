#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What one user of a node does to the others: takes all of a quota, meddles with their sleep, removes its memory.

Needs root, for two other users. Arguments: copsed, copse-planner, copsectl, libcopse.so.0, testbed/script/barrier_rank.py
and planner_cluster.py.
"""

import ctypes
import glob
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

# The copies that attack are programs of another user, and need none of this.
if not sys.argv[1].startswith("--"):
    sys.path.insert(0, os.path.dirname(os.path.abspath(sys.argv[6])))
    from planner_cluster import PATIENCE_S, Processes, until

CLIENTS_MAX = 16
KEPT = CLIENTS_MAX // 8
GREEDY, MODEST = 65534, 12345
MIB = 1 << 20
DATA_BYTES_FIELD = 1 << 4  # COPSE_INIT_PARAM_FIELD_DATA_BYTES
SOME_CALLS = 200
SYS_FUTEX, FUTEX_REQUEUE, FUTEX_WAKE = 202, 3, 1
MADV_REMOVE = 9
UINT8 = 4  # COPSE_DT_UINT8
COLL_ARGS_BYTES = 88  # of copse_coll_args_t; all zero: a barrier
IN_PROGRESS = 1  # COPSE_INPROGRESS
PING_S = 30
MEMBER_LOST = -6  # COPSE_ERR_MEMBER_LOST
PROGRAMS = {}


class InitParams(ctypes.Structure):
    _fields_ = [("mask", ctypes.c_uint64), ("socket", ctypes.c_char_p), ("job", ctypes.c_char_p),
                ("dq_entries", ctypes.c_uint32), ("eq_entries", ctypes.c_uint32), ("data_bytes", ctypes.c_uint64)]


class Oob(ctypes.Structure):
    _fields_ = [("calls", ctypes.c_void_p * 3), ("info", ctypes.c_void_p), ("n", ctypes.c_uint32),
                ("ep", ctypes.c_uint32)]


class TeamParams(ctypes.Structure):
    _fields_ = [("mask", ctypes.c_uint64), ("name", ctypes.c_char_p), ("rank", ctypes.c_uint32),
                ("size", ctypes.c_uint32), ("oob", Oob), ("nonce", ctypes.c_uint64), ("timeout", ctypes.c_double)]


# --- What the greedy user does ---


def load(library):
    copse = ctypes.CDLL(library, use_errno=True)
    copse.copse_last_error.restype = ctypes.c_char_p
    return copse


def attach(copse, params=None):
    """Returns a context, or None if the daemon refuses."""
    context = ctypes.c_void_p()
    return context if copse.copse_init(params, ctypes.byref(context)) == 0 else None


def form(copse, context, name, rank=0, size=1):
    """Returns a team, or None if it cannot be formed."""
    team = ctypes.c_void_p()
    params = TeamParams(mask=7, name=name.encode(), rank=rank, size=size)
    return team if copse.copse_team_create(context, ctypes.byref(params), ctypes.byref(team)) == 0 else None


def take_until_refused(copse, take):
    """Takes until it is refused, says how often it was not, and why, and stays. Each line of input asks for once more."""
    count = 0
    while take(count):
        count += 1
    print(count, copse.copse_last_error().decode(), flush=True)
    for _ in sys.stdin:
        print("granted" if take(count) else copse.copse_last_error().decode(), flush=True)


def take_clients(library, data_bytes):
    copse = load(library)
    params = InitParams(mask=DATA_BYTES_FIELD, data_bytes=int(data_bytes))
    take_until_refused(copse, lambda _: attach(copse, ctypes.byref(params)))


def take_teams(library):
    copse = load(library)
    context = attach(copse)
    take_until_refused(copse, lambda count: form(copse, context, f"greedy{count}"))


def take_posts(library):
    copse = load(library)
    first, second = attach(copse), attach(copse)
    team, _ = form_pair(copse, first, second)  # the other rank makes no call
    barrier = ctypes.create_string_buffer(COLL_ARGS_BYTES)

    def post(_):
        request = ctypes.c_void_p()
        assert copse.copse_collective_init(team, barrier, ctypes.byref(request)) == 0
        assert copse.copse_post(request) == 0
        copse.copse_ping(first, ctypes.c_double(PING_S))  # the daemon has seen the post when it answers
        return copse.copse_wait(request, ctypes.c_double(0)) == IN_PROGRESS

    take_until_refused(copse, post)


def take_regions(library, count, byte_count):
    """Allocates so many; beyond a quota, memory is not registered, which shows at the daemon alone."""
    copse = load(library)
    context, memory = attach(copse), ctypes.c_void_p()
    for _ in range(int(count)):
        assert copse.copse_alloc(context, ctypes.c_uint64(int(byte_count)), ctypes.byref(memory)) == 0
    print(count, "as asked", flush=True)
    sys.stdin.read()


def meddle(library, seconds):
    """Requeues and wakes, for so long, whatever sleeps on the words of the daemon's page; prints how many that were."""
    copse = load(library)
    attach(copse)
    begin = mapping_of("copse-daemon")[0]
    own = ctypes.c_uint32()
    caught = 0
    syscall = ctypes.CDLL(None, use_errno=True).syscall
    end = time.monotonic() + float(seconds)
    print("ready", flush=True)
    while time.monotonic() < end:
        for word in range(begin, begin + 4096, 4):
            caught += max(0, syscall(SYS_FUTEX, ctypes.c_void_p(word), FUTEX_REQUEUE, 0, ctypes.c_void_p(2**31 - 1),
                                     ctypes.byref(own), 0))
            caught += max(0, syscall(SYS_FUTEX, ctypes.c_void_p(word), FUTEX_WAKE, 2**31 - 1, None, None, 0))
    print(caught, flush=True)


def connect(address):
    """Connects and hangs up as often as each line of input says, and says so."""
    for line in sys.stdin:
        for _ in range(int(line)):
            with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as connection:
                connection.connect("\0" + address[1:])
        print("done", flush=True)


def mapping_of(name):
    """Returns begin and end of the first mapping of the memfd."""
    with open("/proc/self/maps", encoding="ascii") as maps:
        for line in maps:
            if line.rstrip().endswith(f"/memfd:{name} (deleted)"):
                return [int(address, 16) for address in line.split()[0].split("-")]
    raise AssertionError(f"no mapping of {name}")


def remove_pages(library, byte_count, root):
    """Allocates memory, removes its pages, and has the daemon write there, or read if `root` is 0.

    Says what came of the call, and how many pages there are then. Goes on after each line of input.
    """
    byte_count = int(byte_count)
    copse = load(library)
    first, second = attach(copse), attach(copse)
    memory = ctypes.c_void_p()
    assert copse.copse_alloc(first, ctypes.c_uint64(byte_count), ctypes.byref(memory)) == 0
    teams = form_pair(copse, first, second)
    begin, end = mapping_of("copse")
    libc = ctypes.CDLL(None, use_errno=True)
    other = ctypes.create_string_buffer(byte_count)
    print("ready", flush=True)
    sys.stdin.readline()
    assert libc.madvise(ctypes.c_void_p(begin), ctypes.c_size_t(end - begin), MADV_REMOVE) == 0
    print(broadcast(copse, teams, (memory, other), byte_count, int(root)), flush=True)
    resident = (ctypes.c_ubyte * ((end - begin) // 4096))()
    assert libc.mincore(ctypes.c_void_p(begin), ctypes.c_size_t(end - begin), resident) == 0
    print(sum(page & 1 for page in resident), flush=True)
    sys.stdin.read()


def form_pair(copse, first, second):
    """Forms a team of two contexts of this process, one in a thread."""
    teams = [None, None]

    def join(rank, context):
        teams[rank] = form(copse, context, "pair", rank, 2)

    threads = [threading.Thread(target=join, args=each) for each in ((0, first), (1, second))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return teams


def broadcast(copse, teams, buffers, byte_count, root):
    """Returns what rank 0's call returns."""
    count = ctypes.c_uint64(byte_count)
    results = [None, None]

    def call(rank):
        results[rank] = copse.copse_bcast(teams[rank], buffers[rank], count, UINT8, root)

    threads = [threading.Thread(target=call, args=(rank,)) for rank in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results[0]


# --- Memory of a control group ---


class MemoryGroup:
    """A control group whose memory is counted. Those of tests that were killed are removed, too."""

    PREFIX = "copse-two-users-"

    def __init__(self):
        parent, self.count = self.place()
        for old in glob.glob(f"{parent}/{self.PREFIX}*"):
            if not os.path.exists(f"/proc/{old.rsplit('-', 1)[1]}"):
                os.rmdir(old)
        self.folder = f"{parent}/{self.PREFIX}{os.getpid()}"
        os.mkdir(self.folder)

    @staticmethod
    def place():
        """Returns the folder of this host's memory groups, and the file that has the bytes of one."""
        with open("/proc/self/mounts", encoding="ascii") as mounts:
            for _, folder, kind, options, *_ in map(str.split, mounts):
                if kind == "cgroup" and "memory" in options.split(","):
                    return folder, "memory.usage_in_bytes"
                control = f"{folder}/cgroup.subtree_control"
                if kind == "cgroup2" and os.path.exists(control):
                    with open(control, encoding="ascii") as file:
                        if "memory" in file.read().split():
                            return folder, "memory.current"
        raise OSError("no control groups with memory are mounted")

    def wrap(self, folder, program):
        """Returns a program that is `program` in this group."""
        path = f"{folder}/grouped"
        with open(path, "w", encoding="ascii") as file:
            file.write(f'#!/bin/sh\necho $$ >{self.folder}/cgroup.procs && exec {os.path.abspath(program)} "$@"\n')
        os.chmod(path, 0o755)
        return path

    def byte_count(self):
        with open(f"{self.folder}/{self.count}", encoding="ascii") as file:
            return int(file.read())

    def remove(self):
        os.rmdir(self.folder)


# --- What the others see ---


class TwoUsers(unittest.TestCase):

    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        os.chmod(self.folder, 0o755)
        for file in (PROGRAMS["libcopse"], PROGRAMS["rank"], os.path.abspath(__file__)):
            shutil.copy(file, self.folder)
            os.chmod(f"{self.folder}/{os.path.basename(file)}", 0o755)
        self.library = f"{self.folder}/{os.path.basename(PROGRAMS['libcopse'])}"
        self.socket = f"@users-{os.getpid()}"
        self.processes = Processes(self.folder)
        self.addCleanup(self.processes.end)
        _, self.planner = self.processes.start_serving(PROGRAMS["planner"], "--set", "listen=127.0.0.1:0")
        self.copsed = None

    def start_daemon(self, *settings, program=None):
        self.config = f"{self.folder}/copsed.yaml"
        with open(self.config, "w", encoding="ascii") as file:
            file.write("\n".join((*settings, "")))
        self.copsed, _ = self.processes.start_serving(
            program or PROGRAMS["copsed"], "--config", self.config, "--set", "node=n1", "--set", f"planner={self.planner}", "--set",
            f"socket={self.socket}", "--set", "admin_listen=127.0.0.1:0", "--set", f"run_dir={self.folder}", "--set",
            f"clients_max={CLIENTS_MAX}")

    def reload(self, *settings):
        with open(self.config, "w", encoding="ascii") as file:
            file.write("\n".join((*settings, "")))
        log = f"{self.folder}/1.log"

        def reloads():
            with open(log, encoding="utf-8") as file:
                return len(re.findall("^.*reload: ", file.read(), re.MULTILINE))

        before = reloads()
        self.copsed.send_signal(signal.SIGHUP)
        until("the reload", lambda: reloads() > before)

    def quota(self, *arguments):
        done = subprocess.run([PROGRAMS["copsectl"], "-e", self.planner, "-w", "json", "quota", *arguments],
                              capture_output=True, check=True)
        return json.loads(done.stdout)

    def counters(self):
        done = subprocess.run([PROGRAMS["copsectl"], "-e", self.planner, "-w", "json", "stats"], capture_output=True,
                              check=True)
        return json.loads(done.stdout)[0]["counters"]

    def run_as(self, uid, script, *arguments, before=()):
        process = subprocess.Popen([*before, sys.executable, f"{self.folder}/{script}", *arguments], user=uid, group=uid,
                                   extra_groups=[], env={"COPSE_SOCKET": self.socket}, cwd="/", stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, text=True)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stdin.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def greedy(self, what, *arguments, uid=GREEDY):
        return self.run_as(uid, os.path.basename(__file__), f"--{what}", self.library, *map(str, arguments))

    def take(self, what, *arguments):
        """Returns the process of a user who has taken all that it could get, how much that is, and its refusal."""
        greedy = self.greedy(what, *arguments)
        count, why = greedy.stdout.readline().split(" ", 1)
        return greedy, int(count), why

    def once_more(self, greedy):
        greedy.stdin.write("\n")
        greedy.stdin.flush()
        return greedy.stdout.readline()

    def form_a_team(self, name="team"):
        ranks = [
            self.run_as(MODEST, "barrier_rank.py", self.library, self.socket, name, str(rank), str(KEPT))
            for rank in range(KEPT)
        ]
        for rank in ranks:
            self.assertEqual(rank.stdout.readline(), "ready\n")
        return ranks

    def make_calls(self, ranks, count):
        for rank in ranks:
            rank.stdin.write(f"{count}\n")
            rank.stdin.flush()
        for rank in ranks:
            self.assertEqual(rank.stdout.readline(), "done\n")

    def check_that_the_other_user_forms_a_team(self):
        self.make_calls(self.form_a_team(), 10)

    # --- Who they are ---

    def test_users_who_have_no_number_in_the_daemons_namespace_are_refused(self):
        """They would all be one user, and in each other's teams."""
        copsed = f"{self.folder}/copsed"
        with open(copsed, "w", encoding="ascii") as file:
            file.write(f'#!/bin/sh\nexec unshare --user --map-root-user {os.path.abspath(PROGRAMS["copsed"])} "$@"\n')
        os.chmod(copsed, 0o755)
        self.start_daemon(program=copsed)
        for uid in (GREEDY, MODEST):
            said = self.greedy("take-clients", MIB, uid=uid).stdout.readline()
            self.assertTrue(said.startswith("0 "), said)
            self.assertIn("uid=65534", said)
        root = self.run_as(0, "barrier_rank.py", self.library, self.socket, "own", "0", "1")
        self.assertEqual(root.stdout.readline(), "ready\n")

    def test_a_program_to_which_the_daemons_user_has_no_number_believes_the_folder(self):
        """As in a container with users of its own."""
        run = f"{self.folder}/run"
        os.mkdir(run)
        self.socket = f"{run}/copsed.sock"
        self.start_daemon()
        rank = ["barrier_rank.py", self.library, self.socket, "own", "0", "1"]
        inside = {"before": ("unshare", "--user", f"--map-user={MODEST}")}
        for mode, said in ((0o777, ""), (0o755, "ready\n")):
            os.chmod(run, mode)
            self.assertEqual(self.run_as(MODEST, *rank, **inside).stdout.readline(), said)
        self.assertEqual([row["uid"] for row in self.quota()], [MODEST])
        # Whoever gets a name without a folder may be anybody.
        self.socket = f"@outside-{os.getpid()}"
        self.copsed.terminate()
        self.copsed.wait()
        self.start_daemon()
        rank[2] = self.socket
        self.assertEqual(self.run_as(MODEST, *rank, **inside).stdout.readline(), "")
        self.assertEqual(self.run_as(MODEST, *rank).stdout.readline(), "ready\n")

    # --- Shares ---

    def test_a_user_who_takes_all_clients_leaves_some_for_others(self):
        self.start_daemon()
        greedy, count, why = self.take("take-clients", MIB)
        self.assertEqual(count, CLIENTS_MAX - KEPT, why)
        self.assertIn(f"uid={GREEDY}, used={count}, used by all={count}, limit={CLIENTS_MAX}", why)
        self.check_that_the_other_user_forms_a_team()
        third = self.run_as(MODEST, "barrier_rank.py", self.library, self.socket, "other", "0", "1")
        self.assertEqual(third.stdout.readline(), "", "the limit is one for all")
        # What was the greedy user's is anybody's when it has gone.
        greedy.kill()
        greedy.wait()
        deadline = time.monotonic() + PATIENCE_S
        last = ["barrier_rank.py", self.library, self.socket, "last", "0", "1"]
        while self.run_as(MODEST, *last).stdout.readline() != "ready\n":
            self.assertLess(time.monotonic(), deadline)

    def test_a_user_who_takes_all_memory_of_clients_leaves_some_for_others(self):
        self.start_daemon()
        _, count, why = self.take("take-clients", 4 * MIB)
        self.assertLess(count, CLIENTS_MAX - KEPT, why)
        for part in (f"uid={GREEDY}", "used=", "used by all=", "limit=", "wanted="):
            self.assertIn(part, why)
        self.check_that_the_other_user_forms_a_team()

    def test_a_user_who_takes_all_memory_of_the_engine_leaves_some_for_others(self):
        self.start_daemon("memory_limit: 16MiB")
        greedy, count, why = self.take("take-teams")
        self.assertGreater(count, 1, why)
        for part in (f"uid={GREEDY}", "used=", f"limit={16 * MIB}", "wanted="):
            self.assertIn(part, why)
        row = self.quota("--user", str(GREEDY))[0]
        self.assertEqual(row["teams"], count)
        self.assertGreater(row["bytes_reserved"], 11 * MIB)
        self.assertLessEqual(row["bytes_reserved"], 12 * MIB)
        self.assertEqual(row["limits"]["memory"], 12 * MIB)
        self.check_that_the_other_user_forms_a_team()
        self.assertGreater(self.counters()["quota.refused.memory"], 0)
        greedy.kill()
        until("the greedy user's end", lambda: not self.quota("--user", str(GREEDY)))

    # --- Jobs ---

    def test_an_exclusive_job_gets_all_and_leaves_nothing_when_it_ends(self):
        self.socket = f"{self.folder}/copsed.sock"
        self.start_daemon()
        greedy, count, why = self.take("take-clients", MIB)
        self.assertEqual(count, CLIENTS_MAX - KEPT, why)
        job = self.quota("--user", str(GREEDY))[0]["job"]

        def daemon(verb, *options):
            return subprocess.run([PROGRAMS["copsectl"], "-e", f"unix:{self.socket}.admin", "-w", "json", "daemon", verb, job, "--user",
                                   str(GREEDY), *options], capture_output=True, text=True, check=False)

        self.assertEqual(os.stat(f"{self.socket}.admin").st_mode & 0o777, 0o660)
        self.assertNotEqual(self.once_more(greedy), "granted\n")
        begun = daemon("begin-job", "--exclusive")
        self.assertEqual(begun.returncode, 0, begun.stderr)
        self.assertEqual(self.quota("--user", str(GREEDY))[0]["limits"]["clients"], CLIENTS_MAX)
        self.assertEqual(self.once_more(greedy), "granted\n")
        before = time.monotonic()
        ended = daemon("end-job")
        self.assertEqual((ended.returncode, json.loads(ended.stdout)["clients"]), (0, count + 1), ended.stderr)
        until("nothing to be held", lambda: not self.quota("--user", str(GREEDY)))
        self.assertLess(time.monotonic() - before, PATIENCE_S)
        self.check_that_the_other_user_forms_a_team()

    # --- Maxima ---

    def test_maxima_of_users_are_in_force_and_change_at_a_reload(self):
        self.start_daemon(f"quotas: {{default: {{clients: 5}}, users: {{'{MODEST}': {{clients: 4}}}}}}")
        greedy, count, why = self.take("take-clients", MIB)
        self.assertEqual(count, 5, why)
        self.assertIn(f"uid={GREEDY}, used=5, limit=5, wanted=1", why)
        self.assertEqual(self.quota("--user", str(GREEDY))[0]["limits"]["clients"], 5)
        self.reload("quotas: {default: {clients: 2}}")
        self.assertIn(f"uid={GREEDY}, used=5, limit=2", self.once_more(greedy))
        self.assertEqual(self.quota("--user", str(GREEDY))[0]["clients"], 5, "what is held stays")
        self.reload("quotas: {default: {clients: many}}")
        self.assertIn("limit=2", self.once_more(greedy), "a reload that makes no sense changes nothing")
        self.reload(f"quotas: {{groups: {{'{GREEDY}': {{clients: 6}}}}, default: {{clients: 2}}}}")
        self.assertEqual(self.once_more(greedy), "granted\n")
        self.assertIn("used=6, limit=6", self.once_more(greedy))
        self.check_that_the_other_user_forms_a_team()
        self.assertEqual(self.counters()["quota.refused.clients"], 4)

    def test_a_user_who_takes_all_teams_it_may_leaves_the_others_theirs(self):
        self.start_daemon("quotas: {default: {teams: 3}}")
        _, count, why = self.take("take-teams")
        self.assertEqual(count, 3, why)
        self.assertIn(f"uid={GREEDY}, used=3, limit=3, wanted=1", why)
        self.check_that_the_other_user_forms_a_team()

    def test_what_a_job_holds_is_counted_by_its_control_group_and_ends_with_it(self):
        self.start_daemon()
        ranks = self.form_a_team()
        rows = self.quota()
        self.assertEqual([(row["uid"], row["clients"], row["teams"], row["nodes"]) for row in rows],
                         [(MODEST, KEPT, 1, ["n1"])])
        self.assertGreater(rows[0]["client_memory"], KEPT * MIB)
        self.assertEqual(self.quota("--node", "n[1-2]", "--job", rows[0]["job"]), rows)
        self.assertNotEqual(rows[0]["job"], "")
        for rank in ranks:
            rank.kill()
        until("the end of what they held", lambda: self.quota() == [])

    def test_a_user_who_makes_all_calls_it_may_leaves_the_others_theirs(self):
        self.start_daemon("quotas: {default: {posts: 3}}")
        _, count, why = self.take("take-posts")
        self.assertEqual(count, 3, why)
        self.assertIn(f"uid={GREEDY}, used=3, limit=3", why)
        self.check_that_the_other_user_forms_a_team()
        self.assertGreater(self.counters()["quota.refused.posts"], 0)

    def test_a_user_who_takes_all_regions_it_may_leaves_the_others_theirs(self):
        self.start_daemon()
        for quota, limit, byte_count, regions in (("regions", "3", 64 << 10, 3), ("region_bytes", "5MiB", 2 * MIB, 2)):
            with self.subTest(quota=quota):
                self.reload(f"quotas: {{default: {{{quota}: {limit}}}}}")
                greedy, _, _ = self.take("take-regions", 6, byte_count)
                self.assertEqual(self.quota("--user", str(GREEDY))[0]["regions"], regions)
                self.assertGreater(self.counters()[f"quota.refused.{quota}"], 0)
                self.check_that_the_other_user_forms_a_team()
                greedy.kill()
                until("the greedy user's end", lambda: not self.quota("--user", str(GREEDY)))

    # --- Others' sleep, and memory ---

    def test_a_user_reaches_the_futexes_of_no_other(self):
        self.start_daemon()
        ranks = self.form_a_team()
        seconds = 2
        for uid, is_other in ((GREEDY, True), (MODEST, False)):
            meddler = self.greedy("meddle", seconds, uid=uid)
            self.assertEqual(meddler.stdout.readline(), "ready\n")
            calls = 0
            while meddler.poll() is None:
                self.make_calls(ranks, SOME_CALLS)
                calls += SOME_CALLS
            caught = int(meddler.stdout.readline())
            if is_other:
                self.assertEqual(caught, 0)
                self.assertGreater(calls, SOME_CALLS, "barriers that wait for the end of a slice of sleep, of 50 ms")
            else:
                self.assertGreater(caught, 0, "who shares the page does: else this test would find nothing")

    def test_connections_wait_beside_another_users_calls_alone(self):
        self.start_daemon()
        ranks = self.form_a_team()
        connector = self.run_as(GREEDY, os.path.basename(__file__), "--connect", self.socket)
        before = self.counters()["clients.waited"]
        self.connect(connector, SOME_CALLS)
        self.assertEqual(connector.stdout.readline(), "done\n")
        self.assertEqual(self.counters()["clients.waited"], before, "nobody else makes calls")
        beside = threading.Thread(target=lambda: self.make_calls(ranks, 20 * SOME_CALLS))
        beside.start()
        while beside.is_alive():
            self.connect(connector, SOME_CALLS)
            self.assertEqual(connector.stdout.readline(), "done\n")
        beside.join()
        self.assertGreater(self.counters()["clients.waited"], before)
        # What had to wait is done, and forgotten.
        until("the end of all connections", lambda: [row["uid"] for row in self.quota()] == [MODEST])
        greedy, _, _ = self.take("take-teams")
        self.assertIsNone(greedy.poll())

    def connect(self, connector, count):
        connector.stdin.write(f"{count}\n")
        connector.stdin.flush()

    def test_memory_whose_pages_are_removed_is_not_made_again_and_costs_its_user_alone(self):
        try:
            group = MemoryGroup()
        except OSError as error:
            self.skipTest(f"no control group for the daemon: {error}")
        self.addCleanup(group.remove)
        self.addCleanup(self.processes.end)  # before the group goes
        self.start_daemon(program=group.wrap(self.folder, PROGRAMS["copsed"]))
        ranks = self.form_a_team()
        byte_count = 64 * MIB
        for root in (0, 1):
            with self.subTest(daemon="reads" if root == 0 else "writes"):
                remover = self.greedy("remove-pages", byte_count, root)
                self.assertEqual(remover.stdout.readline(), "ready\n")
                before = group.byte_count()
                remover.stdin.write("\n")
                remover.stdin.flush()
                self.assertEqual(int(remover.stdout.readline()), MEMBER_LOST, "what the call returns")
                pages = int(remover.stdout.readline())
                self.assertLess(pages, 16, "the daemon has made pages of a client's memory")
                self.assertLess(group.byte_count() - before, byte_count // 16, "they were charged to the daemon")
                self.assertIsNone(self.copsed.poll())
                self.make_calls(ranks, 10)


ATTACKS = {"take-clients": take_clients, "take-teams": take_teams, "take-posts": take_posts, "take-regions": take_regions,
           "meddle": meddle, "connect": connect, "remove-pages": remove_pages}

if __name__ == "__main__":
    if sys.argv[1].startswith("--"):
        ATTACKS[sys.argv[1][2:]](*sys.argv[2:])
    else:
        PROGRAMS.update(zip(("copsed", "planner", "copsectl", "libcopse", "rank"), map(os.path.abspath, sys.argv[1:6])))
        unittest.main(argv=sys.argv[:1], verbosity=2)
