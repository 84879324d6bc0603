#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Each rule of tidy.py finds what it is for, and leaves alone what it is not for."""

import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
import tidy  # pylint: disable=wrong-import-position

SPDX = "// SPDX-License-Identifier: Apache-2.0\n"


def found(rule, path, text, **others):
    files = [tidy.File(path, text)] + [tidy.File(p, t) for p, t in others.get("others", {}).items()]
    return list(tidy.findings(files, rules=[rule]))


class TidyRulesTest(unittest.TestCase):

    def one(self, rule, path, text, **others):
        self.assertEqual(len(found(rule, path, text, **others)), 1, (rule, path, text))

    def none(self, rule, path, text, **others):
        self.assertEqual(found(rule, path, text, **others), [], (rule, path, text))

    def test_folders(self):
        row = {"docs/ARCHITECTURE.md": "| folder | what |\n|---|---|\n| `a/` | the a |\n| `empty/` |  |\n"}
        self.none("folders", "a/BUILD", "", others=row)
        self.none("folders", "BUILD", "", others=row)
        self.none("folders", "tools/x/fixture/inner/BUILD", "", others=row)
        self.none("folders", "a/testing/BUILD", "", others=row)
        self.one("folders", "a/b/BUILD", "", others=row)
        self.one("folders", "empty/BUILD", "", others=row)
        self.one("folders", "a/BUILD", "")

    def test_named_tests(self):
        tests = {"a/b_test.cc": "TEST_F(FooTest, Holds) {\n}\nTEST(BarTest,\n     Too) {\n}\n"}
        page = "docs/reference/threats.md"
        self.none("named_tests", page, "| not this | `FooTest.Holds`, `BarTest.Too` |\n", others=tests)
        self.one("named_tests", page, "| not this | `FooTest.Holds`, `FooTest.Fails` |\n", others=tests)
        self.none("named_tests", "docs/other.md", "`FooTest.Fails`\n", others=tests)

    def test_spdx(self):
        self.none("spdx", "a/b.cc", SPDX)
        self.none("spdx", "tools/run", "#!/bin/sh\n# SPDX-License-Identifier: Apache-2.0\n")
        self.none("spdx", "docs/a.md", "text")
        self.one("spdx", "a/b.cc", "int x;\n")
        self.one("spdx", "tools/run", "#!/bin/sh\n")
        self.one("spdx", "a/BUILD", "cc_library()\n")

    def test_guards(self):
        good = SPDX + "#ifndef COPSE_A_B_C_H_\n#define COPSE_A_B_C_H_\n#endif  // COPSE_A_B_C_H_\n"
        self.none("guards", "a/b/c.h", good)
        self.one("guards", "a/b/d.h", good)
        self.one("guards", "a/b/c.h", good.replace("#define COPSE_A_B_C_H_", "#define COPSE_A"))
        self.one("guards", "a/b/c.h", good.replace("  // COPSE_A_B_C_H_", ""))
        self.one("guards", "a/b/c.h", "#pragma once\n")

    def test_sleep(self):
        self.one("sleep", "a/b_test.cc", "absl::SleepFor(absl::Seconds(1));\n")
        self.one("sleep", "integration_tests/a.cc", "  usleep (5);\n")
        self.one("sleep", "integration_tests/a.sh", "foo; sleep 1\n")
        self.one("sleep", "integration_tests/a.py", "time.sleep(1)\n")
        self.none("sleep", "a/b.cc", "absl::SleepFor(absl::Seconds(1));\n")
        self.none("sleep", "a/b_test.cc", "// sleep(1)\nsay(\"sleep(1)\");\n")
        self.none("sleep", "a/b_test.cc", "sleep(1);  // tidy: allow(sleep) because the kernel gives no event\n")
        self.one("sleep", "a/b_test.cc", "sleep(1);  // tidy: allow(sleep)\n")

    def test_random(self):
        self.one("random", "a/b.cc", "int x = rand();\n")
        self.one("random", "a/b.cc", "std::random_device device;\n")
        self.none("random", "base/b.cc", "std::random_device device;\n")
        self.none("random", "a/b.cc", "x.rand(); operand(); getrandom(p, n, 0);\n")

    def test_unsafe(self):
        self.one("unsafe", "a/b.cc", "std::system(\"x\");\n")
        self.one("unsafe", "a/b.cc", "sprintf(p, \"x\");\n")
        self.none("unsafe", "a/b.cc", "snprintf(p, 1, \"x\"); file.system(); filesystem(x);\n")

    def test_clock(self):
        self.one("clock", "planner/a.cc", "auto t = absl::Now();\n")
        self.one("clock", "offload_emu/a.cc", "std::chrono::steady_clock::now();\n")
        self.none("clock", "planner/server/a.cc", "auto t = absl::Now();\n")
        self.none("clock", "planner/a.cc", "auto t = clock_->Now(); time(x);\n")

    def test_include(self):
        self.one("include", "planner/a.cc", "#include <ucp/api/ucp.h>\n")
        self.none("include", "offload_emu/ucx/a.cc", "#include <ucp/api/ucp.h>\n")
        self.none("include", "bench/pairs/raw_ucx.h", "#include <ucp/api/ucp.h>\n")
        self.one("include", "bench/latency.cc", "#include <ucp/api/ucp.h>\n")
        self.one("include", "integration_tests/a_test.cc", "#include <ucp/api/ucp.h>\n")
        self.one("include", "daemon/core/a.cc", "#include <grpcpp/grpcpp.h>\n")
        self.none("include", "daemon/rpc/a.cc", "#include <grpcpp/grpcpp.h>\n#include <google/protobuf/message.h>\n")
        self.one("include", "base/a.cc", "#include <gtest/gtest.h>\n")
        self.none("include", "base/a_test.cc", "#include <gtest/gtest.h>\n")
        self.one("include", "daemon/core/a.h", "#include <sys/socket.h>\n")
        self.one("include", "schedule/a.h", "#include <mutex>\n")
        self.none("include", "schedule/a_test.cc", "#include <thread>\n")
        self.none("include", "planner/server/a.h", "#include <mutex>\n#include \"base/mutex.h\"\n")
        self.one("include", "daemon/core/a.h", "#include \"base/mutex.h\"\n")
        self.one("include", "daemon/rpc/a.h", "#include \"absl/synchronization/mutex.h\"\n")

    def test_todo(self):
        word = "TO" + "DO"
        self.none("todo", "a/b.cc", f"// {word}(ann): measure again\n")
        self.one("todo", "a/b.cc", f"// {word}: measure again\n")
        self.one("todo", "a/b.cc", f"// {word}(ann)\n")
        self.one("todo", "a/b.cc", "// FIX" + "ME(ann): measure again\n")
        self.none("todo", "a/b.cc", "mkstemp(\"/tmp/x.XXXXXX\")\n")

    def test_path(self):
        self.one("path", "docs/a.md", "see /wo" + "rk/main/x\n")
        self.one("path", "a/b.cc", "// /ro" + "ot/.cache\n")
        self.none("path", "a/b.cc", "// a/wo" + "rk/x, ~/ro" + "ot/x\n")


if __name__ == "__main__":
    unittest.main()
