#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Writes a header with the page's files as texts: page_files.sh INDEX FILE...
set -euo pipefail
literal() { printf 'R"page-file('; cat "$1"; printf ')page-file"'; }
echo '// Made of the files in cli/web/page/.'
echo '#ifndef COPSE_CLI_WEB_PAGE_FILES_H_'
echo '#define COPSE_CLI_WEB_PAGE_FILES_H_'
echo 'namespace copse::web {'
echo 'struct PageFile { const char* path; const char* text; };'
echo "inline constexpr char kIndexHtml[] = $(literal "$1");"
echo 'inline constexpr PageFile kPageFiles[] = {'
for file in "${@:2}"; do echo "{\"/$(basename "$file")\", $(literal "$file")},"; done
printf '};\n}  // namespace copse::web\n#endif  // COPSE_CLI_WEB_PAGE_FILES_H_\n'
