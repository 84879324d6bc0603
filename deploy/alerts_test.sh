#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Prometheus's own check of the alerts, and of when each fires. Arguments: alerts.yml, alerts_test.yml.
set -euo pipefail
if ! command -v promtool >/dev/null; then
  echo "SKIPPED: no promtool; tools/setup --all installs prometheus"
  exit 0
fi
promtool check rules "$1"
cd "$(dirname "$2")"
promtool test rules "$(basename "$2")"
