#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Makes a default configuration file of a program's --print-config: every key is there, as a comment, so that defaults stay
# the program's own.
#
#   comment_out.sh PROGRAM FILE    (FILE: where it will be read from)
set -euo pipefail
program=$1 file=$2
name=$(basename "$program")
echo "# Configuration of $name: copy this to $file and uncomment what you change."
echo "# \`$name --check-config\` checks it; \`$name --print-config\` prints what is in force."
env -i "$program" --print-config | sed -e 1d -e 's/^\([^#].*\)$/#\1/'
