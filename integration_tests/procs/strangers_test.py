#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What strangers and programs with a certificate do to all ports and sockets of running daemons and a planner: they send
mutated bytes, or next to nothing.

Arguments: copse-ca, copsectl, copsed, copse-planner, libcopse.so.0, barrier_rank.py, planner_cluster.py, how many mutated
bytes are sent. COPSE_STRANGERS_SEED says which.
"""

import collections
import concurrent.futures
import os
import random
import re
import select
import shutil
import socket
import ssl
import struct
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(sys.argv[7])))
from planner_cluster import Authority, PATIENCE_S, Processes, until

CA, COPSECTL, COPSED, PLANNER, LIBCOPSE, RANK = sys.argv[1:7]
NODES = ("n1", "n2", "n3")
STRANGERS_NODE = "n9"  # a node whose certificate a stranger has
MUTATED_BYTES = int(sys.argv[8])
SEED = int(os.environ.get("COPSE_STRANGERS_SEED", "20261130"))
MIB = 1 << 20
GROWTH_MAX_BYTES = 64 * MIB
LOG_MAX_BYTES = 512 << 10  # as much as the budget of lines has room for, whatever is sent
SANITIZERS_BYTES = 1 << 40  # of address space
# A handshake may take 10 s; the rest is a loaded machine's.
DROPPED_WITHIN_S = 20
LONG_BYTES = 256 * MIB
MANY = 2000  # connections to a port
SLOW_AT_ONCE = 40  # connections a port
SOURCES = 8

Port = collections.namedtuple("Port", "program kind address")  # kind: tls (gRPC), data, grpc (a Unix socket), attach


# --- What a process listens on ---


def listening(pid):
    """Returns what the process listens on: (family, type, address)."""
    inodes = set()
    for descriptor in os.listdir(f"/proc/{pid}/fd"):
        try:
            match = re.fullmatch(r"socket:\[(\d+)\]", os.readlink(f"/proc/{pid}/fd/{descriptor}"))
        except FileNotFoundError:
            continue
        if match:
            inodes.add(match[1])
    found = []
    for table in ("tcp", "tcp6"):
        with open(f"/proc/{pid}/net/{table}", encoding="ascii") as rows:
            for row in map(str.split, rows):
                if row[3] == "0A" and row[9] in inodes:  # all are on loopback
                    found.append((socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", int(row[1].rsplit(":", 1)[1], 16))))
    with open(f"/proc/{pid}/net/unix", encoding="ascii") as rows:
        for row in map(str.split, rows):
            if row[3] == "00010000" and row[6] in inodes:
                found.append((socket.AF_UNIX, int(row[4], 16), row[7].replace("@", "\0", 1)))
    return found


def ports_of(pid, admin_port):
    ports = []
    for family, kind, address in listening(pid):
        if family == socket.AF_INET:
            ports.append(Port(pid, "tls" if address[1] == admin_port else "data", address))
        else:
            ports.append(Port(pid, "attach" if kind == socket.SOCK_SEQPACKET else "grpc", address))
    return ports


def connect(port, source="127.0.0.1"):
    if isinstance(port.address, tuple):
        connection = socket.socket()
        connection.bind((source, 0))
    else:
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET if port.kind == "attach" else socket.SOCK_STREAM)
    connection.settimeout(PATIENCE_S)
    connection.connect(port.address)
    return connection


# --- What is said to them ---


def http2_frame(kind, flags, stream, payload):
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


def http2_begin(method):
    """Returns the begin of a call as gRPC makes it (RFC 9113, 7541): nothing of it is compressed."""
    fields = {":method": "POST", ":scheme": "http", ":path": f"/copse.v1.{method}", ":authority": "localhost",
              "content-type": "application/grpc", "te": "trailers"}
    headers = b"".join(b"\0" + b"".join(bytes([len(text)]) + text.encode() for text in field) for field in fields.items())
    return (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + http2_frame(4, 0, 0, struct.pack(">HI", 4, 65535)) +
            http2_frame(1, 4, 1, headers))


def http2_call(method):
    return http2_begin(method) + http2_frame(0, 1, 1, b"\0\0\0\0\2\x0a\0")


class LongCall:
    """A call whose request is longer than it may be, and is sent as the server has room for it (RFC 9113, section 6.9)."""

    def __init__(self, connection, method, length):
        self.connection = connection
        self.rest = length  # of the request
        self.windows = {0: 65535, 1: 65535}  # room at the server: in the connection, in the call
        self.first = 65535  # of a new call
        self.ended = False
        self.received = b""
        connection.sendall(http2_begin(method))
        self.text = struct.pack(">BI", 0, length)  # what the first frame begins with

    def step(self):
        """Sends what there is room for, or awaits and takes what the server says."""
        size = min(self.windows[0], self.windows[1], 16384 - len(self.text), self.rest)
        if size > 0:
            text = self.text + bytes(size)
            self.connection.sendall(http2_frame(0, size == self.rest, 1, text))
            self.text = b""
            for stream in self.windows:
                self.windows[stream] -= len(text)
            self.rest -= size
        if size <= 0 or select.select([self.connection], [], [], 0)[0]:
            self.take(self.connection.recv(65536))

    def take(self, text):
        self.ended |= not text
        self.received += text
        while len(self.received) >= 9:
            length, kind, flags, stream = struct.unpack(">I", b"\0" + self.received[:3]) + struct.unpack(">BBI", self.received[3:9])
            if len(self.received) < 9 + length:
                break
            self.obey(kind, flags, stream, self.received[9:9 + length])
            self.received = self.received[9 + length:]

    def obey(self, kind, flags, stream, payload):
        if kind == 8 and stream in self.windows:  # WINDOW_UPDATE
            self.windows[stream] += struct.unpack(">I", payload)[0]
        elif kind == 4 and not flags & 1:  # SETTINGS
            for name, value in struct.iter_unpack(">HI", payload):
                if name == 4:
                    self.windows[1] += value - self.first
                    self.first = value
            self.connection.sendall(http2_frame(4, 1, 0, b""))
        elif kind == 6 and not flags & 1:  # PING
            self.connection.sendall(http2_frame(6, 1, 0, payload))
        elif kind in (3, 7) or (kind == 1 and flags & 1):  # RST_STREAM, GOAWAY, the call's end
            self.ended = True


def shake_hands(connection, name):
    """Returns the connection after a handshake with the certificate of that path, which need not be believed."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.set_alpn_protocols(["h2"])
    context.load_cert_chain(f"{name}.pem", f"{name}.key")
    return context.wrap_socket(connection)


def has_ended(connection):
    """Takes what has come on a connection. Returns whether the server has ended it."""
    try:
        return not connection.recv(4096)
    except (BlockingIOError, ssl.SSLWantReadError):
        return False
    except OSError:
        return True


def client_hello():
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.set_alpn_protocols(["grpc-exp", "h2"])
    output = ssl.MemoryBIO()
    with_nobody = context.wrap_bio(ssl.MemoryBIO(), output)
    try:
        with_nobody.do_handshake()
    except ssl.SSLWantReadError:
        pass
    return output.read()


def attach_messages():
    """Returns an AttachRequest and a TeamCreate (protocol/attach_protocol.h), with what else they may have in place."""
    attach = struct.pack("<IIQIIIIQ32s64s", 0x41535043, 1, 1, 4, 0, 0, 0, 0, b"0.2.0", b"job")
    team = struct.pack("<IIQIIIIQd128s", 0x41535043, 3, 2, 0, 0, 1, 0, 0, 0.0, b"team")
    return [attach, team]


CALLS = [http2_call(method) for method in ("AdminService/ListNodes", "AdminService/GetPlannerStats", "DaemonService/Attach",
                                           "NodeAdminService/Status", "NodeAdminService/Ping")]
SAMPLES = {"tls": [client_hello()] + CALLS, "data": [client_hello()], "grpc": CALLS, "attach": attach_messages()}


def mutated(chance, samples):
    """Returns a sample in which some bytes are others, missing, or there twice."""
    text = bytearray(chance.choice(samples))
    for _ in range(chance.randrange(1, 8)):
        place = chance.randrange(len(text) + 1)
        what = chance.randrange(5)
        if what == 0 and place < len(text):
            text[place] ^= 1 << chance.randrange(8)
        elif what == 1 and place < len(text):
            text[place] = chance.choice((0, 1, 0x7f, 0x80, 0xff))
        elif what == 2 and len(text) > 8:
            del text[place:place + chance.randrange(16)]
        elif what == 3:
            text[place:place] = chance.randbytes(chance.randrange(1, 64))
        else:
            text += text[place:place + 256]
    return bytes(text)


# --- Programs ---


class Planner(unittest.TestCase):

    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        self.authority = Authority(CA, self.folder, (*NODES, STRANGERS_NODE))
        self.authority.run("viewer", "stranger")
        self.processes = Processes(self.folder)
        self.addCleanup(self.processes.end)
        self.programs = {}  # pid: its own gRPC port
        planner, self.planner = self.start(PLANNER, "planner/p0", "listen=127.0.0.1:0", f"run_dir={self.folder}")
        self.servers = [planner]

    def start(self, program, name, *settings):
        words = [word for setting in settings for word in ("--set", setting)]
        process, address = self.processes.start_serving(program, *self.authority.settings(name), *words)
        self.programs[process.pid] = int(address.rsplit(":", 1)[1])
        return process, address

    def await_ready(self, nodes):
        until("all nodes", lambda: [(row["name"], row["state"]) for row in self.authority.ask(COPSECTL, self.planner, "node", "list")] ==
              [(node, "ready") for node in nodes])

    def certified(self, port, connection):
        """Returns the connection after a handshake as a viewer, or as a node where only nodes are believed."""
        return shake_hands(connection, f"{self.authority.folder}/" + (f"node/{STRANGERS_NODE}" if port.kind == "data" else "viewer/stranger"))

    @staticmethod
    def memory(process, what="VmRSS"):
        with open(f"/proc/{process.pid}/status", encoding="ascii") as status:
            return int(re.search(rf"^{what}:\s+(\d+) kB", status.read(), re.MULTILINE)[1]) << 10


class Cluster(Planner):

    def setUp(self):
        super().setUp()
        for node in NODES[:2]:
            self.start_daemon(node)
        self.await_ready(NODES[:2])
        # Daemons have a data port as soon as a team has an edge between them.
        self.ranks = self.form("before", *NODES[:2])
        self.call(self.ranks, 10)
        self.ports = [port for server in self.servers for port in ports_of(server.pid, self.programs[server.pid])]
        kinds = collections.Counter(port.kind for port in self.ports)
        self.assertEqual(kinds, {"tls": 3, "data": 2, "attach": 2, "grpc": 4}, self.ports)

    def start_daemon(self, node):
        self.servers.append(self.start(COPSED, f"node/{node}", f"node={node}", f"planner={self.planner}", "transport=tcp",
                                       f"socket={self.socket(node)}", "admin_listen=127.0.0.1:0", f"run_dir={self.folder}")[0])

    def socket(self, node):
        return f"{self.folder}/{node}.sock"

    def form(self, name, *nodes):
        ranks = [self.processes.start(sys.executable, RANK, LIBCOPSE, self.socket(node), name, str(rank), str(len(nodes)),
                                      stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
                 for rank, node in enumerate(nodes)]
        for rank in ranks:
            self.assertEqual(rank.stdout.readline(), "ready\n")
        return ranks

    def call(self, ranks, times):
        for rank in ranks:
            rank.stdin.write(f"{times}\n")
            rank.stdin.flush()
        for rank in ranks:
            self.assertEqual(rank.stdout.readline(), "done\n")

    def check_that_all_go_on(self, *nodes):
        for server in self.servers:
            self.assertIsNone(server.poll(), server.args[0])
        self.call(self.ranks, 100)
        self.await_ready(nodes)
        self.call(self.form("after", *nodes), 100)

    def log_bytes(self):
        return [os.path.getsize(f"{self.folder}/{self.processes.processes.index(server)}.log") for server in self.servers]


class MutatedBytesTest(Cluster):

    def send(self, chance, port):
        """Sends a few mutated texts to the port. Returns the connection, or None, and the number of bytes."""
        text = [mutated(chance, SAMPLES[port.kind]) for _ in range(chance.randrange(1, 8))]
        connection = connect(port, f"127.{chance.randrange(1, 255)}.{chance.randrange(255)}.{chance.randrange(1, 255)}")
        sent = 0
        try:
            if port.kind in ("tls", "data") and chance.randrange(4) == 0:
                connection = self.certified(port, connection)
                text = [mutated(chance, CALLS) for _ in text]
            for message in text:
                connection.sendall(message)
                sent += len(message)
            if chance.randrange(2) == 0:
                connection.shutdown(socket.SHUT_WR)
        except OSError:  # the server has ended the connection
            pass
        return connection, sent

    def test_a_handshake_leaves_no_ticket(self):
        for port in self.ports:
            if port.kind != "tls":
                continue
            with self.certified(port, connect(port)) as connection:
                connection.sendall(CALLS[0])
                self.assertTrue(connection.recv(4096))  # what comes with the handshake's end has come
                self.assertEqual(connection.version(), "TLSv1.3")
                self.assertFalse(connection.session.has_ticket, port.program)

    def test_mutated_bytes_harm_nobody(self):
        chance = random.Random(SEED)
        memory = [self.memory(server) for server in self.servers]
        logs = self.log_bytes()
        left_open = collections.deque()
        sent = collections.Counter()
        while sum(sent.values()) < MUTATED_BYTES:
            port = min(self.ports, key=lambda port: sent[port])
            connection, count = self.send(chance, port)
            sent[port] += count + 1
            left_open.append(connection)
            if len(left_open) > 100:
                left_open.popleft().close()
            if chance.randrange(50) == 0:
                self.call(self.ranks, 10)
        print(f"seed={SEED}", *(f"{port.kind}={count}" for port, count in sent.items()), flush=True)
        self.check_that_all_go_on(*NODES[:2])
        for connection in left_open:
            connection.close()
        for server, before, log_before, log_after in zip(self.servers, memory, logs, self.log_bytes()):
            name = os.path.basename(server.args[0])
            print(f"{name}: memory_bytes={before}..{self.memory(server, 'VmHWM')} log_bytes={log_before}..{log_after}", flush=True)
            if self.memory(server, "VmSize") < SANITIZERS_BYTES:
                self.assertLess(self.memory(server, "VmHWM") - before, GROWTH_MAX_BYTES, name)
            self.assertLess(log_after - log_before, LOG_MAX_BYTES, name)


class LongRequestsTest(Cluster):

    def send_long(self, port):
        """Sends a long request until the server ends the call. Returns how many bytes it has taken."""
        connection = connect(port)
        if port.kind == "tls":
            connection = self.certified(port, connection)
        call = LongCall(connection, "AdminService/ListNodes" if port.program == self.servers[0].pid else "NodeAdminService/Ping",
                        LONG_BYTES)
        try:
            while not call.ended:
                call.step()
        except OSError:  # the server has ended the connection
            pass
        connection.close()
        return LONG_BYTES - call.rest

    def test_long_requests_of_whoever_may_look_are_not_kept(self):
        # Daemons send long requests to the planner's port, administrators to admin.sock.
        ports = [port for port in self.ports if port.kind in ("tls", "grpc") and
                 (port.program != self.servers[0].pid or os.path.basename(str(port.address)) == "view.sock")]
        self.assertEqual(len(ports), 5)
        for port in ports:
            server = next(server for server in self.servers if server.pid == port.program)
            before = self.memory(server)
            taken = self.send_long(port)
            grown = self.memory(server, "VmHWM") - before
            print(f"{port.address}: taken={taken} grown={grown}", flush=True)
            with self.subTest(port):
                if self.memory(server, "VmSize") < SANITIZERS_BYTES:
                    self.assertLess(grown, GROWTH_MAX_BYTES)
        self.check_that_all_go_on(*NODES[:2])


class SlowTest(Cluster):

    def setUp(self):
        super().setUp()
        self.pool = concurrent.futures.ThreadPoolExecutor(1)
        self.addCleanup(self.pool.shutdown)

    def join_beside(self):
        """A third daemon comes, and has a team with the others. Returns the time."""
        self.start_daemon(NODES[2])
        self.check_that_all_go_on(*NODES)
        return time.monotonic()

    def test_connections_that_say_next_to_nothing_end_and_keep_nobody_out(self):
        begun = time.monotonic()
        slow = {}  # by descriptor: the connection, its port, and what it has yet to say
        for number in range(SLOW_AT_ONCE):
            for port in self.ports:
                connection = connect(port, f"127.0.1.{1 + number % SOURCES}")
                connection.setblocking(False)
                # Every other one says nothing at all.
                slow[connection.fileno()] = (connection, port, iter(SAMPLES[port.kind][0] if number % 2 == 0 else b""))
        others = self.pool.submit(self.join_beside)
        said = 0
        lasted = collections.defaultdict(float)
        poll = select.poll()
        for descriptor in slow:
            poll.register(descriptor, select.POLLIN)
        while any(port.kind != "grpc" for _, port, _ in slow.values()) and time.monotonic() - begun < DROPPED_WITHIN_S:
            for descriptor, _ in poll.poll(200):
                connection, port, _ = slow[descriptor]
                if not has_ended(connection):
                    continue
                poll.unregister(descriptor)
                del slow[descriptor]
                connection.close()
                lasted[port] = time.monotonic() - begun
            if time.monotonic() - begun > said:
                said += 1
                for connection, _, rest in slow.values():
                    byte = next(rest, None)
                    try:
                        if byte is not None:
                            connection.send(bytes([byte]))
                    except OSError:
                        pass  # it is read next
        print(*(f"{port.kind}: {seconds:.1f} s" for port, seconds in lasted.items()), flush=True)
        # Unix sockets know their users, who have a share of them, and leave a connection 10 minutes for its next call.
        left = {port.kind for _, port, _ in slow.values()}
        for connection, _, _ in slow.values():
            connection.close()
        self.assertLessEqual(left, {"grpc"})
        print(f"others: {others.result() - begun:.1f} s", flush=True)


class ManyTest(Planner):
    """Strangers who have thousands of the planner's connections at once."""

    def setUp(self):
        super().setUp()
        os.mkdir(f"{self.folder}/foreign")
        self.foreign = f"{Authority(CA, f'{self.folder}/foreign', NODES).folder}/administrator/tester"
        self.port = Port(self.servers[0].pid, "tls", ("127.0.0.1", self.programs[self.servers[0].pid]))
        self.await_ready(())
        self.descriptors_before = self.descriptors()

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.servers[0].pid}/fd"))

    def speak(self, kind, number, connection):
        try:
            if kind == "foreign":
                return shake_hands(connection, self.foreign)
            connection.sendall({"silent": b"", "garbage": b"\0\0\0" + random.Random(number).randbytes(300), "begins": SAMPLES["tls"][0]}[kind])
        except OSError:  # the planner has ended the connection
            pass
        return connection

    def await_ends(self, connections):
        begun = time.monotonic()
        left = {connection.fileno(): connection for connection in connections if connection.fileno() >= 0}
        poll = select.poll()
        for descriptor, connection in left.items():
            connection.setblocking(False)
            poll.register(descriptor, select.POLLIN)
        while left and time.monotonic() - begun < DROPPED_WITHIN_S:
            for descriptor, _ in poll.poll(1000):
                if has_ended(left[descriptor]):
                    poll.unregister(descriptor)
                    left.pop(descriptor).close()
        self.assertEqual(len(left), 0)

    def wave(self, *kinds):
        """Has strangers of these kinds at once, and awaits that they are gone. Returns how many were there while a caller with a
        certificate had its answer, and the memory that is left in use."""
        connections = [connect(self.port, f"127.0.{1 + number // 250}.{1 + number % 250}") for number in range(MANY)]
        # A caller's connection may have been there before that is not now.
        until("all connections", lambda: self.descriptors() > self.descriptors_before + 0.99 * MANY)
        connections = [self.speak(kinds[number % len(kinds)], number, connection) for number, connection in enumerate(connections)]
        begun = time.monotonic()
        self.await_ready(())
        answered = time.monotonic()
        beside = self.descriptors() - self.descriptors_before
        self.await_ends(connections)
        ended = time.monotonic()
        until("all descriptors", lambda: self.descriptors() <= self.descriptors_before)
        memory = self.memory(self.servers[0])
        print(f"{set(kinds)}: answered after {answered - begun:.2f} s beside {beside}, ended after {ended - begun:.1f} s, "
              f"memory_bytes={memory}", flush=True)
        return beside, memory

    def test_thousands_at_once_keep_nobody_out_and_leave_nothing(self):
        # Handshakes cost the strangers time, and those who say nothing are to be there beside them.
        beside, memory = self.wave(*("silent", "garbage", "begins") * 7, "foreign")
        self.assertGreater(beside, MANY // 4)  # the caller did not have to wait for their ends
        _, later = self.wave("garbage")
        # The heap has kept pages for as many connections.
        if self.memory(self.servers[0], "VmSize") < SANITIZERS_BYTES:
            self.assertLess(later - memory, GROWTH_MAX_BYTES)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
