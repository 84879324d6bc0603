# SPDX-License-Identifier: Apache-2.0
#
# What the scripts of this folder share; they source it.

# print_help: the comment at a script's top, from its fourth line on.
print_help() {
  sed -nE '4,${/^#/!q; s/^# ?//; p}' "$0"
}

# Installs packages that are missing. In the checkout.
install_missing() {
  tools/setup --check >/dev/null || tools/setup >&2
}

# COPSE_BAZEL_STARTUP and COPSE_BAZEL_FLAGS: words for Bazel before and after its command.
bazel() {
  local command=$1
  shift
  # shellcheck disable=SC2086
  command bazel ${COPSE_BAZEL_STARTUP:-} "$command" ${COPSE_BAZEL_FLAGS:-} "$@"
}
