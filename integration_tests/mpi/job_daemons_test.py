#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""copse-run --daemons, installed, by a user without privileges: nothing is left when the job has ended, however it did.

Arguments: copse-run, copsed, copse-planner, copse-perftest, libcopse-mpi.so, its two back ends, then situations of MPICH and Open MPI.
"""

import glob
import os
import random
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
import unittest

FILES = []
PATIENCE_S = 60
KILLS = int(os.environ.get("KILLS", "12"))
NOBODY = 65534
LAUNCHERS = {
    "mpich": ["mpiexec.hydra"],
    "openmpi": ["mpiexec.openmpi", "--oversubscribe", "--mca", "btl", "self,vader", "--mca", "plm_rsh_agent", "true"],
}


class JobDaemons(unittest.TestCase):

    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        self.run_dir = f"{self.folder}/run"
        for part, files in (("bin", FILES[:4]), ("lib/copse", FILES[4:7]), ("programs", FILES[7:])):
            os.makedirs(f"{self.folder}/{part}")
            for file in files:
                shutil.copy(file, f"{self.folder}/{part}/")
        os.mkdir(self.run_dir)
        if os.geteuid() == 0:
            os.chmod(self.folder, 0o755)
            os.chown(self.run_dir, NOBODY, NOBODY)

    def start(self, mpi, *situation, options=("--stats", "--offload", "all", "--calls-before", "2"), **others):
        def become_nobody():
            if os.geteuid() == 0:
                os.setgroups([])
                os.setgid(NOBODY)
                os.setuid(NOBODY)

        program = f"{self.folder}/programs/situations_{mpi}"
        return subprocess.Popen(  # pylint: disable=subprocess-popen-preexec-fn
            [f"{self.folder}/bin/copse-run", "--daemons", *options, *LAUNCHERS[mpi], "-n", "2", program, *situation],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=self.run_dir,
            env={"PATH": os.environ["PATH"], "HOME": self.run_dir, "TMPDIR": self.run_dir, "COPSE_RUN_DIR": self.run_dir,
                 "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH": "/etc/hostname"},  # no authorities: the system's play no part
            preexec_fn=become_nobody, start_new_session=True, **others)

    def finish(self, job):
        said, _ = job.communicate(timeout=PATIENCE_S)
        return said

    def folders(self):
        return glob.glob(f"{self.run_dir}/copse-run-*")

    def ours(self):
        """Processes that have this test's folder in their command line."""
        found = []
        for path in glob.glob("/proc/[0-9]*/cmdline"):
            try:
                with open(path, "rb") as file:
                    command = file.read()
            except OSError:
                continue
            if self.run_dir.encode() in command:
                found.append(command.replace(b"\0", b" ").decode())
        return found

    def expect_no_residue(self):
        deadline = time.monotonic() + PATIENCE_S
        while self.folders() or self.ours():
            self.assertLess(time.monotonic(), deadline, f"{self.folders()} {self.ours()}")
            time.sleep(0.02)  # tidy: allow(sleep) because processes that are no children of this one give no event

    def test_calls_are_offloaded_and_nothing_is_left(self):
        for mpi in LAUNCHERS:
            job = self.start(mpi, "pending_send")
            said = self.finish(job)
            self.assertEqual(job.returncode, 0, said)
            self.assertRegex(said, r"MPI_Barrier: offloaded [1-9]")
            self.expect_no_residue()

    def test_a_program_that_is_no_launcher_has_daemons_too(self):
        said = subprocess.run([f"{self.folder}/bin/copse-run", "--daemons", f"{self.folder}/bin/copse-perftest", "--local", "2",
                               "-c", "barrier", "-n", "10"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False, timeout=PATIENCE_S,
                              env={"PATH": os.environ["PATH"], "COPSE_RUN_DIR": self.run_dir})
        self.assertEqual(said.returncode, 0, said.stdout)
        self.assertIn("barrier", said.stdout)
        self.expect_no_residue()

    def test_behind_a_launcher_it_says_once_what_to_write(self):
        written = {"mpich": "mpiexec -n 2", "openmpi": "mpirun -n 2"}
        for mpi, launcher in LAUNCHERS.items():
            program = f"{self.folder}/programs/situations_{mpi}"
            said = subprocess.run([*launcher, "-n", "2", f"{self.folder}/bin/copse-run", "--daemons", program, "pending_send"],
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
                                  timeout=PATIENCE_S, env={"PATH": os.environ["PATH"], "HOME": self.run_dir, "COPSE_RUN_DIR": self.run_dir,
                                                           "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"})
            self.assertEqual(said.returncode, 2, said.stdout)
            self.assertEqual(said.stdout.count(f"copse-run --daemons {written[mpi]} {program} pending_send\n"), 1, said.stdout)
            self.assertEqual(said.stdout.count("copse-run: "), 1, said.stdout)
            self.assertNotIn("done", said.stdout)
        self.expect_no_residue()

    def test_a_program_with_an_mpis_name_is_no_launcher(self):
        program = f"{self.folder}/app_mpich"
        with open(program, "w", encoding="ascii") as file:
            file.write("#!/bin/sh\necho \"$COPSE_SOCKET with $*\"\n")
        os.chmod(program, 0o755)
        said = subprocess.run([f"{self.folder}/bin/copse-run", "--daemons", program, "-n", "2"], stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, text=True, check=True, timeout=PATIENCE_S,
                              env={"PATH": os.environ["PATH"], "COPSE_RUN_DIR": self.run_dir})
        self.assertRegex(said.stdout, f"^{self.run_dir}/.* with -n 2\n$")
        self.expect_no_residue()

    def test_a_relative_folder_is_the_callers(self):
        said = subprocess.run([f"{self.folder}/bin/copse-run", "--daemons", "/bin/sh", "-c", "cd /; echo $COPSE_SOCKET"], cwd=self.run_dir,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, check=True, timeout=PATIENCE_S,
                              env={"PATH": os.environ["PATH"], "COPSE_RUN_DIR": "."})
        self.assertTrue(said.stdout.startswith(f"{self.run_dir}/"), said.stdout)
        self.expect_no_residue()

    def test_only_the_user_reaches_the_daemon(self):
        job = self.start("mpich", "until_it_ends")
        deadline = time.monotonic() + PATIENCE_S
        while not glob.glob(f"{self.run_dir}/copse-run-*/copsed.sock"):
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.01)  # tidy: allow(sleep) because another process makes the file
        for folder in self.folders():
            self.assertEqual(stat.S_IMODE(os.stat(folder).st_mode), 0o700)
            for file in glob.glob(f"{folder}/*"):
                if not stat.S_ISSOCK(os.stat(file).st_mode):
                    with open(file, "rb") as content:
                        self.assertNotIn(b"PRIVATE KEY", content.read(), file)
        os.killpg(job.pid, signal.SIGINT)
        self.finish(job)
        self.expect_no_residue()

    def test_the_jobs_exit_code_is_passed_on(self):
        job = self.start("openmpi", "nothing of that name")
        self.finish(job)
        self.assertEqual(job.returncode, 2)
        self.expect_no_residue()

    def test_nothing_is_left_of_a_job_that_is_killed(self):
        chance = random.Random(7)
        killed = 0
        for i in range(KILLS):
            job = self.start(list(LAUNCHERS)[i % 2], "until_it_ends")
            try:
                job.wait(chance.uniform(0, 0.6))
            except subprocess.TimeoutExpired:
                os.killpg(job.pid, signal.SIGKILL)
                killed += 1
            self.finish(job)
            subprocess.run(["pkill", "-KILL", "-f", f"{self.folder}/programs/"], check=False)
            self.expect_no_residue()
        self.assertGreater(killed, KILLS / 4)  # others had ended

    def keepers(self):
        """Processes that keep this test's daemons, and those that clean up after them."""
        found = []
        for path in glob.glob("/proc/[0-9]*"):
            try:
                with open(f"{path}/cmdline", "rb") as command, open(f"{path}/environ", "rb") as environment:
                    if command.read().startswith(b"copse-run: keeper") and self.run_dir.encode() in environment.read():
                        found.append(int(os.path.basename(path)))
            except OSError:
                continue
        return found

    def test_what_is_left_of_two_keepers_the_next_job_removes(self):
        job = self.start("mpich", "until_it_ends")
        deadline = time.monotonic() + PATIENCE_S
        while len(glob.glob(f"{self.run_dir}/copse-run-*/*.port")) < 2:
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.01)  # tidy: allow(sleep) because another process makes the files
        keepers = self.keepers()
        self.assertEqual(len(keepers), 4)  # two for the planner, two for the daemon
        for end in (signal.SIGSTOP, signal.SIGKILL):  # those that clean up sleep while the others are killed
            for pid in keepers:
                os.kill(pid, end)
        os.killpg(job.pid, signal.SIGKILL)
        self.finish(job)
        self.assertEqual(len(self.folders()), 2)
        said = self.finish(self.start("mpich", "pending_send"))
        self.assertIn("done", said)
        self.expect_no_residue()

    def test_without_a_daemon_the_job_runs_on_its_mpi(self):
        os.remove(f"{self.folder}/bin/copsed")
        job = self.start("mpich", "pending_send")
        said = self.finish(job)
        self.assertEqual(job.returncode, 0, said)
        self.assertIn(f"the job runs on its MPI alone: no such program (path={self.folder}/bin/copsed)", said)
        self.assertIn("done", said)
        self.expect_no_residue()

    def test_without_the_library_the_job_runs_on_its_mpi(self):
        os.remove(f"{self.folder}/lib/copse/libcopse-mpi.so")
        for mpi in LAUNCHERS:
            job = self.start(mpi, "pending_send", options=())
            said = self.finish(job)
            self.assertEqual(job.returncode, 0, said)
            self.assertIn(f"(value={self.folder}/lib/copse/libcopse-mpi.so)", said)
            self.assertEqual(said.count("copse-run: "), 1, said)
            self.assertIn("done", said)
            self.expect_no_residue()

    def test_without_a_back_end_the_job_runs_on_its_mpi(self):
        for mpi in LAUNCHERS:
            os.remove(f"{self.folder}/lib/copse/libcopse-mpi-{mpi}.so")
            job = self.start(mpi, "pending_send")
            said = self.finish(job)
            self.assertEqual(job.returncode, 0, said)
            self.assertEqual(said.count(f"libcopse-mpi-{mpi}.so"), 1, said)
            self.assertIn("done", said)
            self.expect_no_residue()

    def test_a_library_that_was_named_has_to_be_there(self):
        job = self.start("mpich", "pending_send", options=("--library", "/nowhere"))
        said = self.finish(job)
        self.assertEqual(job.returncode, 1, said)
        self.assertIn("value=/nowhere", said)
        self.assertNotIn("done", said)

    def test_a_program_that_is_no_launcher_runs_without_daemons_too(self):
        os.remove(f"{self.folder}/bin/copse-planner")
        said = subprocess.run([f"{self.folder}/bin/copse-run", "--daemons", "/bin/echo", "done"], stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False, timeout=PATIENCE_S,
                              env={"PATH": os.environ["PATH"], "COPSE_RUN_DIR": self.run_dir})
        self.assertEqual((said.returncode, said.stdout), (0, "done\n"), said.stderr)
        self.assertEqual(said.stderr.count("\n"), 1, said.stderr)
        self.assertIn(f"{self.folder}/bin/copse-planner", said.stderr)
        self.expect_no_residue()

    def test_a_planner_that_ends_at_once_is_named(self):
        with open(f"{self.folder}/bin/copse-planner", "w", encoding="ascii") as planner:
            planner.write("#!/bin/sh\necho no luck today >&2\nexit 3\n")
        job = self.start("openmpi", "pending_send")
        said = self.finish(job)
        self.assertEqual(job.returncode, 0, said)
        self.assertIn("the job runs on its MPI alone: copse-planner has ended: no luck today", said)
        self.expect_no_residue()

    def test_a_daemon_that_ends_at_once_is_named(self):
        with open(f"{self.folder}/bin/copsed", "w", encoding="ascii") as daemon:
            daemon.write("#!/bin/sh\necho no luck today >&2\nexit 3\n")
        for mpi in LAUNCHERS:
            job = self.start(mpi, "pending_send")
            said = self.finish(job)
            self.assertEqual(job.returncode, 0, said)
            self.assertIn("copsed has ended: no luck today", said)
            self.assertIn("done", said)
            self.expect_no_residue()


if __name__ == "__main__":
    FILES = [os.path.abspath(path) for path in sys.argv[1:10]]
    unittest.main(argv=[sys.argv[0]] + sys.argv[10:], verbosity=2)
