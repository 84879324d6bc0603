#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""srun --copse on a real Slurm with two nodes: unmodified MPI programs, and what may be wrong. Needs root.

Arguments: planner_cluster.py, spank_copse.so, libcopse-mpi.so and its back ends, copsed, copse-planner, copsectl, copse-run, then
situations of MPICH and Open MPI.
"""

import os
import shutil
import subprocess
import sys
import unittest

INSIDE = sys.argv[1] == "--inside"
FILES = [os.path.abspath(path) for path in sys.argv[2 if INSIDE else 1:][:11]]
sys.path.insert(0, os.path.dirname(FILES[0]))

from slurm_cluster import NODES, SlurmCluster, run_in_namespaces, until  # pylint: disable=wrong-import-position

PLUGIN = FILES[1]
LIBRARIES = FILES[2:5]
PROGRAMS = {os.path.basename(path): path for path in FILES[5:9]}
WRONG_ARGUMENTS = ("default=quick", "colour=green")
# How each MPI finds its other ranks. Slurm's PMIx has a folder in /tmp for each step, which two nodes of one host cannot share.
MPIS = {"mpich": ("-N2", "-n2", "--mpi=pmi2"), "openmpi": ("-N1", "-n2", "-w", "n1", "--mpi=pmix")}


class SrunTest(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        cls.slurm = SlurmCluster(PROGRAMS)
        cls.addClassCleanup(cls.slurm.end)
        cls.lib = cls.slurm.install("lib/copse", PLUGIN, *LIBRARIES)
        cls.bin = cls.slurm.install("bin", *PROGRAMS.values())
        cls.programs = cls.slurm.install("programs", *FILES[9:])
        cls.library = f"{cls.lib}/{os.path.basename(LIBRARIES[0])}"
        cls.slurm.start_slurm(plugstack=cls.plugstack(*WRONG_ARGUMENTS))
        cls.slurm.start_copse()

    def setUp(self):
        self.configure()

    @classmethod
    def plugstack(cls, *arguments):
        return " ".join(["optional", f"{cls.lib}/spank_copse.so", *arguments]) + "\n"

    def configure(self, *arguments):
        self.slurm.write_plugstack(self.plugstack(*arguments))

    def srun(self, *words, **environment):
        """Runs two tasks. Whatever happens to Copse, the job succeeds."""
        done = self.slurm.run("srun", "-Q", *words, **environment)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr + "".join(line for line in self.slurm.logs().splitlines(True) if "munged" not in line)[-9000:])
        return done

    def mpi(self, mpi, *options, situation="pending_send", **environment):
        return self.srun(*MPIS[mpi], *options, f"{self.programs}/situations_{mpi}", situation,
                         COPSE_MPI_CALLS_BEFORE="2", COPSE_MPI_STATS="1", COPSE_TIMEOUT="30", **environment)

    def variables(self, *words, **environment):
        """Returns the values of LD_PRELOAD and COPSE_MPI_OFFLOAD of both tasks, which are the same; and what was said."""
        done = self.srun("-N2", *words, "/bin/sh", "-c", "echo \"${LD_PRELOAD-none} ${COPSE_MPI_OFFLOAD-none}\"", **environment)
        lines = done.stdout.splitlines()
        self.assertEqual(len(lines), 2, done.stdout)
        self.assertEqual(lines[0], lines[1])
        return lines[0], done.stderr

    def allreduces(self):
        """How many allreduces each node's daemon has carried."""
        return {row["node"]: row["counters"].get("calls.allreduce.ok", 0) for row in self.slurm.ctl("stats")}

    # --- What it does ---

    def test_it_needs_libc_alone(self):
        needs = subprocess.run(["readelf", "-dW", PLUGIN], check=True, capture_output=True, text=True).stdout
        self.assertEqual([line.split("[")[1] for line in needs.splitlines() if "(NEEDED)" in line], ["libc.so.6]"])

    def test_daemons_carry_the_calls_of_unmodified_programs(self):
        for mpi in MPIS:
            with self.subTest(mpi=mpi):
                before = self.allreduces()
                done = self.mpi(mpi, "--copse=all", situation="kinds_of_calls")
                self.assertRegex(done.stdout + done.stderr, r"MPI_Allreduce: offloaded [1-9]")
                after = self.allreduces()
                for node in NODES if mpi == "mpich" else NODES[:1]:
                    self.assertGreater(after[node], before[node] + 100)

    def test_off_and_saying_nothing_leave_the_program_alone(self):
        before = self.allreduces()
        for options in ([], ["--copse=off"]):
            done = self.mpi("mpich", *options, situation="kinds_of_calls")
            self.assertNotIn("copse", done.stdout + done.stderr)
            self.assertEqual(self.variables(*options), ("none none", ""))
        self.assertEqual(self.allreduces(), before)

    def test_the_library_comes_after_the_users_and_the_way_is_as_asked(self):
        self.assertEqual(self.variables("--copse"), (f"{self.library} none", ""))
        self.assertEqual(self.variables("--copse", COPSE_MPI_OFFLOAD="all"), (f"{self.library} all", ""))
        self.assertEqual(self.variables("--copse=faster", COPSE_MPI_OFFLOAD="all"), (f"{self.library} faster", ""))
        self.assertEqual(self.variables("--copse=all", LD_PRELOAD="libm.so.6"), (f"libm.so.6:{self.library} all", ""))

    def test_the_environment_and_the_site_may_ask_for_it_and_the_option_decides(self):
        self.assertEqual(self.variables(SLURM_COPSE="all"), (f"{self.library} all", ""))
        self.assertEqual(self.variables("--export=NONE", SLURM_COPSE="all"), (f"{self.library} all", ""))
        self.assertEqual(self.variables("--copse=off", SLURM_COPSE="all"), ("none none", ""))
        self.configure("default=faster")
        self.assertEqual(self.variables(), (f"{self.library} faster", ""))
        self.assertEqual(self.variables("--copse=off"), ("none none", ""))
        self.assertEqual(self.variables(SLURM_COPSE="off"), ("none none", ""))

    def test_salloc_and_sbatch_mean_each_srun_inside(self):
        script = ("echo ${LD_PRELOAD-none}; /usr/bin/srun /bin/sh -c 'echo ${LD_PRELOAD-none}'; "
                  "/usr/bin/srun --copse=off /bin/sh -c 'echo ${LD_PRELOAD-none}'")
        expected = ["none", self.library, "none"]
        done = self.slurm.run("salloc", "-n1", "--copse=all", "sh", "-c", script)
        self.assertEqual(done.stdout.splitlines(), expected, done.stderr)
        output = f"{self.slurm.home}/batch"
        for more in ([], ["--export=NONE"]):
            done = self.slurm.run("sbatch", "--wait", "-n1", "--copse=all", *more, f"--output={output}", "--wrap", script)
            self.assertEqual(done.returncode, 0, done.stderr)
            with open(output, encoding="utf-8") as file:
                self.assertEqual(file.read().splitlines(), expected)

    # --- Without the plugin ---

    def test_copse_run_starts_srun_too(self):
        self.slurm.write_plugstack("")
        for more in ([], ["--daemons"]):
            with self.subTest(more=more):
                before = self.allreduces()
                done = self.slurm.run(f"{self.bin}/copse-run", *more, "--offload", "all", "--calls-before", "2", "--stats", "srun",
                                      "-Q", *MPIS["mpich"], f"{self.programs}/situations_mpich", "kinds_of_calls",
                                      COPSE_RUN_DIR=self.slurm.home)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertRegex(done.stdout + done.stderr, r"MPI_Allreduce: offloaded [1-9]")
                self.assertEqual(self.allreduces() == before, more == ["--daemons"])  # then they are the job's own

    # --- What may be wrong: a line, and the job runs plainly ---

    def expect_one_line(self, said, *parts):
        self.assertEqual(len(said.splitlines()), 1, said)
        for part in parts:
            self.assertIn(part, said)

    def test_a_bad_value_is_named(self):
        for words, environment, name in ((["--copse=quick"], {}, "--copse"), ([], {"SLURM_COPSE": "quick"}, "SLURM_COPSE")):
            variables, said = self.variables(*words, **environment)
            self.assertEqual(variables, "none none")
            self.expect_one_line(said, name, "value=quick")
        done = self.slurm.run("salloc", "-Q", "-n1", "--copse=quick", "sh", "-c", "srun sh -c 'echo ${LD_PRELOAD-none}'")
        self.assertEqual(done.stdout, "none\n")
        self.assertEqual(done.stderr.count("value=quick"), 2, done.stderr)  # by salloc and by its srun

    def test_a_library_that_is_not_there_is_named_once_and_in_each_nodes_log(self):
        for path in (f"{self.lib}/gone.so", self.lib, f"{self.lib}/a:b.so"):
            self.configure(f"library={path}")
            variables, said = self.variables("--copse")
            self.assertEqual(variables, "none none")
            self.expect_one_line(said, "library", path[:100])
        until("a line in the log of n2", lambda: f"value={self.lib}/gone.so" in self.slurm.log_of("n2"))

    def test_a_library_that_the_user_may_not_read_is_named(self):
        path = f"{self.slurm.folder}/secret.so"
        shutil.copy(self.library, path)
        os.chmod(path, 0o600)
        self.configure(f"library={path}")
        variables, said = self.variables("--copse")
        self.assertEqual(variables, "none none")
        self.expect_one_line(said, "library", path)

    def test_arguments_that_it_does_not_know_are_in_slurmds_log_and_change_nothing(self):
        for argument in WRONG_ARGUMENTS:
            self.assertEqual(self.slurm.log_of("n1").count(f"argument={argument}"), 1)
        self.configure(*WRONG_ARGUMENTS)
        self.assertEqual(self.variables(), ("none none", ""))
        self.assertEqual(self.variables("--copse=all"), (f"{self.library} all", ""))

    def test_a_plugin_that_is_not_there_any_more_fails_no_job(self):
        self.slurm.write_plugstack(f"optional {self.lib}/gone.so\n")
        self.srun("-N2", "/bin/true")

    def test_a_node_without_a_daemon_leaves_the_job_to_its_mpi(self):
        self.slurm.stop_daemon("n1")
        self.addCleanup(self.slurm.start_daemon, "n1")
        for mpi in MPIS:
            with self.subTest(mpi=mpi):
                done = self.mpi(mpi, "--copse=all")
                self.assertIn("done", done.stdout)
                self.assertEqual((done.stdout + done.stderr).count("nothing is offloaded"), 1)


if __name__ == "__main__":
    if INSIDE:
        unittest.main(argv=sys.argv[:1] + sys.argv[13:], verbosity=2)
    if os.geteuid() != 0:
        print("SKIPPED: slurmd needs root")
        sys.exit(0)
    sys.exit(run_in_namespaces(os.path.abspath(__file__), *FILES, *sys.argv[12:]))
