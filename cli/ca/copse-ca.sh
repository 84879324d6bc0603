#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# copse-ca [--dir DIR] VERB ...: certificates for a cluster that has no authority of its own.
#
#   init [--domain NAME] [--days N]        makes the authority: DIR/ca.pem, and DIR/ca.key, which must stay here
#   planner|node|operator|admin|viewer NAME... [--days N] [--hosts HOST,...]
#                                          makes DIR/ROLE/NAME.pem and .key, for spiffe://DOMAIN/ROLE/NAME
#   revoke ROLE NAME                       the certificate is believed no more, once the list is where daemons read it
#   crl [--days N]                         writes the list, DIR/crl/copse.pem, anew; revoke does, too
#   show [ROLE NAME]                       what was issued, or one certificate in words
#
#   --dir DIR      default: COPSE_CA_DIR, else ./copse-ca
#   --domain NAME  the cluster, in all names (default: copse)
#   --days N       how long it is good (default: authority 3650, certificates 365, list 30)
#   --hosts HOST,...
#                  names and addresses by which browsers and Prometheus reach copse-web or copse-exporter with it
#   --version, --help
#
# A role and a name have one certificate at a time; an admin's role is spelled administrator in its name.
# Exit code: 0 done, 1 the operation failed, 2 bad usage.
set -euo pipefail
umask 077

version="@VERSION@"

fail() {
  local code=$1
  shift
  echo "copse-ca: $*" >&2
  exit "$code"
}

print_help() { sed -nE '4,${/^#/!q; s/^# ?//; p}' "$0"; }

# check_name KEY VALUE
check_name() {
  [[ "$2" =~ ^[A-Za-z0-9]([A-Za-z0-9._-]{0,126})$ ]] ||
    fail 2 "$1: not a name of letters, digits and ._- ($1=$2, limit=127 characters)"
}

# check_hosts: --hosts has names and addresses. What looks like an IPv4 address has to be one.
check_hosts() {
  local host names octet='(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])'
  [[ "$hosts" =~ ^[A-Za-z0-9.:-]+(,[A-Za-z0-9.:-]+)*$ ]] ||
    fail 2 "--hosts: not names or addresses with commas between them (hosts=$hosts)"
  IFS=, read -ra names <<<"$hosts"
  for host in "${names[@]}"; do
    [[ ! "$host" =~ ^[0-9.]+$ || "$host" =~ ^$octet\.$octet\.$octet\.$octet$ ]] ||
      fail 2 "--hosts: neither a name nor an address (host=$host)"
  done
}

# host_names: the extension's part for --hosts.
host_names() {
  local host names=()
  IFS=, read -ra names <<<"$hosts"
  for host in "${names[@]}"; do
    if [[ "$host" == *:* || "$host" =~ ^[0-9.]+$ ]]; then printf ',IP:%s' "$host"; else printf ',DNS:%s' "$host"; fi
  done
}

# run_openssl WHAT ARGUMENTS: its words only if it fails.
run_openssl() {
  local what=$1 words
  shift
  words=$(openssl "$@" 2>&1) || fail 1 "$what: openssl $1 failed: $(tail -n 1 <<<"$words")"
}

# make_folders FOLDER...: all of them, under $dir.
make_folders() {
  local words
  words=$(mkdir -p "$@" 2>&1) || fail 1 "a folder cannot be made: ${words##*: } (dir=$dir)"
}

need_authority() { [ -s "$dir/ca.key" ] || fail 1 "no authority here; copse-ca init makes one (dir=$dir)"; }

write_configuration() {
  cat >"$dir/openssl.cnf" <<CONFIGURATION
[ca]
default_ca = copse
[copse]
database = $dir/index.txt
serial = $dir/serial
crlnumber = $dir/crlnumber
new_certs_dir = $dir/issued
certificate = $dir/ca.pem
private_key = $dir/ca.key
default_md = sha256
policy = any
unique_subject = no
[any]
commonName = supplied
CONFIGURATION
}

do_init() {
  [ ! -e "$dir/ca.key" ] || fail 1 "there is an authority already (dir=$dir)"
  check_name domain "$domain"
  make_folders "$dir/issued" "$dir/crl"
  dir=$(readlink -f "$dir")
  echo "$domain" >"$dir/domain"
  : >"$dir/index.txt"
  echo 1000 >"$dir/serial"
  echo 1000 >"$dir/crlnumber"
  write_configuration
  run_openssl init req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days "${days:-3650}" \
    -subj "/CN=Copse authority of $domain" -keyout "$dir/ca.key" -out "$dir/ca.pem" \
    -addext "basicConstraints=critical,CA:TRUE,pathlen:0" -addext "keyUsage=critical,keyCertSign,cRLSign" \
    -addext "nameConstraints=critical,permitted;URI:$domain"
  chmod 644 "$dir/ca.pem"
  do_crl
  echo "made $dir/ca.pem (domain=$domain)"
}

# do_issue ROLE NAME
do_issue() {
  local role=$1 name=$2 base
  check_name "$role" "$name"
  base=$dir/$role/$name
  [ ! -e "$base.pem" ] || fail 1 "has a certificate already; revoke it first ($role=$name, file=$base.pem)"
  make_folders "$dir/$role"
  unfinished=("$base.key" "$base.csr" "$base.ext" "$base.pem")
  cat >"$base.ext" <<EXTENSIONS
basicConstraints = critical,CA:FALSE
keyUsage = critical,digitalSignature
extendedKeyUsage = serverAuth,clientAuth
subjectAltName = URI:spiffe://$(cat "$dir/domain")/$role/$name$(host_names)
EXTENSIONS
  run_openssl "$role" req -new -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj "/CN=$role $name" \
    -keyout "$base.key" -out "$base.csr"
  run_openssl "$role" ca -batch -notext -config "$dir/openssl.cnf" -days "${days:-365}" -extfile "$base.ext" \
    -in "$base.csr" -out "$base.pem"
  rm -f "$base.csr" "$base.ext"
  unfinished=()
  chmod 644 "$base.pem"
  echo "made $base.pem and $base.key"
}

do_crl() {
  run_openssl crl ca -config "$dir/openssl.cnf" -gencrl -crldays "${days:-30}" -out "$dir/crl/copse.pem.new"
  chmod 644 "$dir/crl/copse.pem.new"
  mv -f "$dir/crl/copse.pem.new" "$dir/crl/copse.pem"
}

do_revoke() {
  local base=$dir/$1/$2
  [ -e "$base.pem" ] || fail 1 "no such certificate (role=$1, name=$2)"
  run_openssl revoke ca -config "$dir/openssl.cnf" -revoke "$base.pem"
  rm -f "$base.pem" "$base.key"
  do_crl
  echo "revoked $1 $2; give $dir/crl/copse.pem to all nodes"
}

do_show() {
  if [ $# -eq 2 ]; then
    [ -e "$dir/$1/$2.pem" ] || fail 1 "no such certificate (role=$1, name=$2)"
    openssl x509 -in "$dir/$1/$2.pem" -noout -text
    return
  fi
  # The database's lines: state, end, time of revocation, serial number, file, subject; times in UTC.
  printf '%-8s %-15s %-8s %s\n' STATE UNTIL SERIAL CERTIFICATE
  while IFS=$'\t' read -r state until _ serial _ subject; do
    case $state in
      V) state=valid ;;
      R) state=revoked ;;
      E) state=expired ;;
    esac
    printf '%-8s %-15s %-8s %s\n' "$state" "$until" "$serial" "${subject#/CN=}"
  done < <(sed 's/\t\t/\t-\t/' "$dir/index.txt")
}

# What is left of a certificate that could not be made.
unfinished=()
trap 'rm -f "${unfinished[@]}"' EXIT
dir=${COPSE_CA_DIR:-./copse-ca}
domain=copse
days=""
hosts=""
words=()
while [ $# -gt 0 ]; do
  case "$1" in
    --help | -h)
      print_help
      exit 0
      ;;
    --version)
      echo "copse-ca $version"
      exit 0
      ;;
    --dir | --domain | --days | --hosts)
      [ $# -ge 2 ] || fail 2 "$1: needs a value"
      printf -v "${1#--}" '%s' "$2"
      shift
      ;;
    -*) fail 2 "unknown option; try --help (option=$1)" ;;
    *) words+=("$1") ;;
  esac
  shift
done
[ -z "$days" ] || [[ "$days" =~ ^[1-9][0-9]{0,4}$ ]] || fail 2 "--days: not a number of days (days=$days, limit=99999)"
[ -z "$hosts" ] || check_hosts
[ ${#words[@]} -gt 0 ] || fail 2 "no verb; try --help"
verb=${words[0]}
arguments=("${words[@]:1}")
case $verb in
  init)
    [ ${#arguments[@]} -eq 0 ] || fail 2 "init: takes no words (word=${arguments[0]})"
    do_init
    exit 0
    ;;
  planner | node | operator | admin | viewer | revoke | crl | show) need_authority ;;
  *) fail 2 "unknown verb; try --help (verb=$verb)" ;;
esac
dir=$(readlink -f "$dir")
[ "${arguments[0]:-}" != admin ] || [[ $verb != revoke && $verb != show ]] || arguments[0]=administrator
case $verb in
  planner | node | operator | admin | viewer)
    [ ${#arguments[@]} -gt 0 ] || fail 2 "$verb: needs a NAME: copse-ca $verb NAME..."
    [ "$verb" != admin ] || verb=administrator
    for name in "${arguments[@]}"; do do_issue "$verb" "$name"; done
    ;;
  revoke)
    [ ${#arguments[@]} -eq 2 ] || fail 2 "revoke: needs a role and a name"
    do_revoke "${arguments[@]}"
    ;;
  crl)
    do_crl
    echo "wrote $dir/crl/copse.pem"
    ;;
  show)
    [ ${#arguments[@]} -eq 0 ] || [ ${#arguments[@]} -eq 2 ] || fail 2 "show: needs a role and a name, or nothing"
    do_show "${arguments[@]}"
    ;;
esac
