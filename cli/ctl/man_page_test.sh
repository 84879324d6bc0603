#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The man page, made as Debian's packages make it, has each verb with its options. Arguments: copsectl, the packages' rules.
set -euo pipefail

fail() {
  echo "FAILED: $*" >&2
  exit 1
}

grep -q 'copsectl .*help="help --all"' "$2" || fail "the packages make another page"
if ! command -v help2man >/dev/null; then
  echo "SKIPPED: help2man is missing"
  exit 0
fi
page="$TEST_TMPDIR/copsectl.1"
help2man --no-info --section 1 --help-option "help --all" --name copsectl --output "$page" "$1"
text=$(sed 's/\\fB//g; s/\\fR//g; s/\\-/-/g; s/\\fI//g; s/\\,//g; s,\\/,,g' "$page")
verbs=0
while read -r verb; do
  verbs=$((verbs + 1))
  section=$(awk -v title=".SS \"copsectl $verb" 'index($0, ".SS") == 1 || index($0, ".SH") == 1 {inside = 0}
    index($0, title " ") == 1 || index($0, title ":") == 1 {inside = 1} inside' <<<"$text")
  [ -n "$section" ] || fail "no section (verb=$verb)"
  # shellcheck disable=SC2086 # two words
  for option in $("$1" $verb --help | sed -n 's/^  \(--[a-z-]*\).*/\1/p'); do
    grep -q -- "^$option" <<<"$section" || fail "it lacks an option (verb=$verb, option=$option)"
  done
done < <("$1" help --all | sed -n 's/^copsectl \([a-z]*\( [a-z-]*\)\?\).*:$/\1/p')
[ "$verbs" -gt 40 ] || fail "verbs=$verbs"
echo "$verbs verbs"
