#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# The walls' check finds both kinds of broken wall in the fixture, with the path, and nothing else.
set -euo pipefail

fixture=//tools/walls/fixture
expected="fixture-inner never reaches fixture-outer: $fixture/inner:breaks_directly -> $fixture/outer:outer
fixture-inner never reaches fixture-outer: $fixture/inner:breaks_through_another -> $fixture:between -> $fixture/outer:outer"

if ! diff <(printf '%s\n' "$expected") "$1"; then
  echo "FAIL: '<' is what the walls' check should have said, '>' is what it said" >&2
  exit 1
fi
