#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# An authority's life: it issues, shows, revokes, and refuses what it cannot do. Argument: copse-ca.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export COPSE_CA_DIR=$folder/ca
ca=$1

fail() {
  echo "FAILED: $*" >&2
  exit 1
}

# expect CODE THING COMMAND...: it ends with the code, and its error names the thing.
expect() {
  local code=0 wanted=$1 thing=$2 words
  shift 2
  words=$("$@" 2>&1 >/dev/null) || code=$?
  [ "$code" = "$wanted" ] || fail "$*: exit code $code, wanted $wanted: $words"
  [[ "$words" == *"$thing"* ]] || fail "$*: does not name $thing: $words"
  [ "$(wc -l <<<"$words")" = 1 ] || fail "$*: more than one line: $words"
}

verify() { openssl verify -CAfile "$COPSE_CA_DIR/ca.pem" -crl_check -CRLfile "$COPSE_CA_DIR/crl/copse.pem" "$1"; }

expect 1 "dir=$COPSE_CA_DIR" "$ca" node n1
expect 2 "domain=a/b" "$ca" --domain a/b init
"$ca" init --domain site >/dev/null
expect 1 "dir=$COPSE_CA_DIR" "$ca" init
expect 1 "dir=$COPSE_CA_DIR/ca.pem/x" "$ca" --dir "$COPSE_CA_DIR/ca.pem/x" init
expect 2 "planner NAME" "$ca" planner
"$ca" node n1 n2 >/dev/null
"$ca" planner p1 --days 7 >/dev/null
"$ca" admin root >/dev/null

for name in node/n1:node/n1 planner/p1:planner/p1 administrator/root:administrator/root; do
  file=$COPSE_CA_DIR/${name%:*}.pem
  verify "$file" >/dev/null || fail "$file is not valid"
  openssl x509 -in "$file" -noout -ext subjectAltName | grep -q "URI:spiffe://site/${name#*:}\$" ||
    fail "$file has another name"
  [ "$(stat -c %a "${file%.pem}.key")" = 600 ] || fail "others may read ${file%.pem}.key"
done
[ "$(stat -c %a "$COPSE_CA_DIR/ca.key")" = 600 ] || fail "others may read ca.key"
openssl x509 -in "$COPSE_CA_DIR/planner/p1.pem" -noout -checkend $((8 * 86400)) >/dev/null && fail "p1 lasts beyond 7 days"

expect 1 "node=n1" "$ca" node n1
cp "$COPSE_CA_DIR/node/n1.pem" "$folder/old.pem"
"$ca" revoke node n1 >/dev/null
verify "$folder/old.pem" >/dev/null 2>&1 && fail "n1 is still valid"
verify "$COPSE_CA_DIR/node/n2.pem" >/dev/null || fail "n2 is not valid any more"
expect 1 "name=n1" "$ca" revoke node n1
"$ca" node n1 >/dev/null
verify "$COPSE_CA_DIR/node/n1.pem" >/dev/null || fail "the new n1 is not valid"
[ "$("$ca" show | grep -c "^revoked .*node n1\$")" = 1 ] || fail "show does not list what was revoked"
[ "$("$ca" show | grep -c "^valid ")" = 4 ] || fail "show lists another number: $("$ca" show)"
"$ca" show admin root | grep -q "spiffe://site/administrator/root" || fail "show says nothing about root"

"$ca" viewer web --hosts head.site,10.0.0.1 >/dev/null
names=$(openssl x509 -in "$COPSE_CA_DIR/viewer/web.pem" -noout -ext subjectAltName)
[[ "$names" == *"URI:spiffe://site/viewer/web, DNS:head.site, IP Address:10.0.0.1"* ]] || fail "web has the names $names"
verify "$COPSE_CA_DIR/viewer/web.pem" >/dev/null || fail "a certificate with hosts is not valid"
expect 2 "hosts=a b" "$ca" viewer w2 --hosts "a b"
expect 2 "host=300.1.1.1" "$ca" viewer w2 --hosts "n1,300.1.1.1"
expect 1 "viewer: openssl" "$ca" viewer w2 --hosts "1:2"
[ -z "$(find "$COPSE_CA_DIR/viewer" -name 'w2*')" ] || fail "something is left of what could not be made"

expect 2 "node=../x" "$ca" node ../x
expect 2 "verb=sing" "$ca" sing
expect 2 "option=--loud" "$ca" --loud
expect 2 "days=0" "$ca" node n9 --days 0
expect 2 "revoke" "$ca" revoke n1
"$ca" --version | grep -q '^copse-ca [0-9]' || fail "no version"
"$ca" --help | grep -q revoke || fail "no help"
