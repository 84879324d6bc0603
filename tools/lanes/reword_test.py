#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Which words the reworded copy has in capitals, and which are names and values."""

import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
import reword  # pylint: disable=wrong-import-position


class RewordTest(unittest.TestCase):
    def check(self, before, after):
        self.assertEqual(reword.reworded(before)[0], after)

    def test_words_of_errors(self):
        self.check('return absl::NotFoundError("plan: not known here (plan=7)");',
                   'return absl::NotFoundError("plan: NOT KNOWN HERE (plan=7)");')
        self.check('Fail(code, "too many ranks (ranks=%u, limit=%u)", a, b);',
                   'Fail(code, "TOO MANY RANKS (ranks=%u, limit=%u)", a, b);')
        self.check('COPSE_LOG(kInfo, "node ", name, " is silent");', 'COPSE_LOG(kInfo, "node ", name, " is SILENT");')

    def test_names_and_values(self):
        for text in ('Error(StrCat("name: ", name, " (limit ", max, ")"))', 'Bad("a=not set")', 'Bad("--no-wait")',
                     'Bad("some_name and.so /usr/lib %d")'.replace(" and", " x"), 'Say("rank %d")', 'Say("(limit 292)")',
                     'Error(node["seconds"])',
                     'OutOfRange("type", type)', 'Bad("a=", config.Text("heartbeat"))'):
            self.check(text, text)

    def test_nothing_else(self):
        for text in ('Run("not known here")', '// Fail("not known here")', 'Error("x" /* "not known" */)'):
            self.check(text, text)

    def test_what_is_the_product(self):
        self.assertTrue(reword.is_product("base/hostlist.cc"))
        for path in ("base/hostlist_test.cc", "base/testing/x.h", "bench/x.cc", "docs/x.md"):
            self.assertFalse(reword.is_product(path))


if __name__ == "__main__":
    unittest.main()
