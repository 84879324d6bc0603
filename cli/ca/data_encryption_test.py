#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What is on the wire between two daemons, by `data_encryption` of copsed, in a network of their own.

Arguments: copse-ca, copsectl, copsed, copse-planner, libcopse.so.0, barrier_rank.py, planner_cluster.py.
"""

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(sys.argv[7])))
from planner_cluster import Authority, PATIENCE_S, Processes, until

CA, COPSECTL, COPSED, PLANNER, LIBCOPSE, RANK = sys.argv[1:7]
NODES = ("n1", "n2")
SECRET = "what-rank-0-tells-the-others"
EVERYTHING = 3  # ETH_P_ALL
END = b"the end of what is looked at"


class Wire:
    """Looks for SECRET in all packets of loopback."""

    def __init__(self):
        self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(EVERYTHING))
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8 << 20)
        self.socket.bind(("lo", 0))
        self.socket.settimeout(PATIENCE_S)
        self.packets = self.found = 0
        self.thread = threading.Thread(target=self.look)
        self.thread.start()

    def look(self):
        while True:
            packet = self.socket.recv(1 << 17)
            if END in packet:
                return
            self.packets += 1
            self.found += SECRET.encode() in packet

    def end(self):
        """Returns the numbers of packets, and of those with the secret, until now."""
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as marker:
            marker.sendto(END, ("127.0.0.1", 9))
        self.thread.join()
        self.socket.close()
        return self.packets, self.found


class DataEncryptionTest(unittest.TestCase):

    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        self.authority = Authority(CA, self.folder, NODES)

    @staticmethod
    def settings(*settings):
        return [word for setting in settings for word in ("--set", setting)]

    def ready(self, planner):
        nodes = self.authority.ask(COPSECTL, planner, "node", "list")
        return [node["state"] for node in nodes] == ["ready"] * len(NODES)

    def packets_of_a_broadcast(self, *settings):
        """Returns the numbers of packets on the wire, and of those with the secret."""
        processes = Processes(tempfile.mkdtemp(dir=self.folder))
        try:
            _, planner = processes.start_serving(PLANNER, *self.authority.settings("planner/p0"), *self.settings("listen=127.0.0.1:0", f"run_dir={self.folder}"))
            sockets = {node: f"@encryption-{os.getpid()}-{node}" for node in NODES}
            for node in NODES:
                processes.start_serving(COPSED, *self.authority.settings(f"node/{node}"),
                                        *self.settings(f"node={node}", f"planner={planner}", f"socket={sockets[node]}",
                                                       "admin_listen=127.0.0.1:0", f"run_dir={self.folder}", *settings))
            until("all nodes", lambda: self.ready(planner))
            ranks = [processes.start(sys.executable, RANK, LIBCOPSE, sockets[node], "team", str(rank), str(len(NODES)),
                                     stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
                     for rank, node in enumerate(NODES)]
            for rank in ranks:
                self.assertEqual(rank.stdout.readline(), "ready\n")
            wire = Wire()
            for rank, text in zip(ranks, (SECRET, "." * len(SECRET))):
                rank.stdin.write(f"{text}\n")
                rank.stdin.flush()
            for rank in ranks:
                self.assertEqual(rank.stdout.readline(), f"{SECRET}\n")
            return wire.end()
        finally:
            processes.end()

    def test_what_is_encrypted_is_not_read(self):
        for settings, is_plain in (((), True), (("data_encryption=off",), True), (("data_encryption=on",), False)):
            packets, found = self.packets_of_a_broadcast(*settings)
            self.assertGreater(packets, 0)
            self.assertEqual(found > 0, is_plain, settings)


if __name__ == "__main__":
    if len(sys.argv) == 8:
        if subprocess.run(["unshare", "--user", "--map-root-user", "--net", "true"], check=False).returncode != 0:
            print("SKIPPED: no network of one's own (unshare --user --net)")
            sys.exit(0)
        os.execvp("unshare", ["unshare", "--user", "--map-root-user", "--net", sys.executable, *sys.argv, "inside"])
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    unittest.main(argv=sys.argv[:1], verbosity=2)
