#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# What the scripts of `copsectl completion` offer. Argument: copsectl.
set -euo pipefail
copsectl=$1

fail() {
  echo "completion_test: $1" >&2
  exit 1
}

eval "$("$copsectl" completion bash)"

# offers LAST WORD...: what is offered for the last word of the command line.
offers() {
  COMP_WORDS=(copsectl "$@")
  COMP_CWORD=$#
  COMPREPLY=()
  _copsectl
  echo "${COMPREPLY[*]}"
}

expect() {
  local wanted=$1
  shift
  local said
  said=$(offers "$@")
  [ "$said" = "$wanted" ] || fail "after '$*': '$said', wanted '$wanted'"
}

expect "node" no
expect "drain" node dr
[[ " $(offers node drain n1 --w) " == *" --wait --why "* ]] || fail "options of node drain: $(offers node drain n1 --w)"
expect "list" -e there:1 node li
expect "list" --context there node li
# An option that has a value takes the next word, which is then no verb.
valued=$("$copsectl" --help | sed -n 's/^  \(-., *\)\?\(--[a-z-]*\) [^ ].*/\2/p')
[ "$(wc -w <<<"$valued")" -ge 14 ] || fail "options with values: $valued"
for option in $valued; do expect "list" "$option" value node li; done
expect "drain" help node dr
expect "table json yaml wide name" node list -w ""
[[ " $(offers "") " == *" team "*" ping "* ]] || fail "verbs: $(offers "")"
# Each verb is offered.
while read -r family verb; do
  [ -z "$verb" ] || [[ " $(offers "$family" "") " == *" $verb "* ]] || fail "not offered: $family $verb"
done <<'LIST'
node list
node remove
team wait
job show
plan explain
LIST

grep -q -- "-l why -r" <<<"$("$copsectl" completion fish)" || fail "fish: no --why"
grep -q bashcompinit <<<"$("$copsectl" completion zsh)" || fail "zsh: no bashcompinit"
"$copsectl" completion csh >/dev/null 2>&1 && fail "csh is taken"
exit 0
