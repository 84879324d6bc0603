// SPDX-License-Identifier: Apache-2.0
#include "cli/ctl/blank_secrets.h"

#include <unistd.h>

#include <algorithm>
#include <regex>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/string_view.h"

namespace copse::ctl {
namespace {

constexpr char kBlanked[] = "(blanked)";
constexpr size_t kLineBytesMax = 4096;  // the library's regular expressions need a stack as deep as the line is long

// Returns whether the value is a path of a file that is there, so that it is no secret itself.
bool NamesFile(std::string_view value) {
  absl::string_view path = absl::StripAsciiWhitespace(AbslView(value));
  for (const absl::string_view quote : {"\"", "'"}) {
    if (absl::ConsumePrefix(&path, quote)) absl::ConsumeSuffix(&path, quote);
  }
  return absl::StartsWith(path, "/") && access(std::string(path).c_str(), F_OK) == 0;
}

// Returns whether the line is one word without a key, such as the only one of a token's file.
bool IsBare(std::string_view line) {
  static const auto* const bare = new std::regex(R"re(\s*[^\s#:=-][^\s:=]*(=+)?\s*)re", std::regex::optimize);
  return std::regex_match(line.begin(), line.end(), *bare) &&
         std::any_of(line.begin(), line.end(), [](unsigned char c) { return absl::ascii_isalnum(c); });
}

// Returns where the text of a line begins.
size_t IndentOf(std::string_view line) {
  const size_t at = line.find_first_not_of(" \t");
  return at == std::string_view::npos ? line.size() : at;
}

}  // namespace

std::string BlankSecrets(std::string_view text) {
  static const auto* const secret =
      new std::regex(R"re(^(.*?[\w.-]*(key|token|secret|passw|passphrase|credential)[\w.-]*["']?\s*[:=])(.*)$)re",
                     std::regex::icase | std::regex::optimize);
  static const auto* const user = new std::regex(R"re(://[^/@\s]*@)re");
  std::string out;
  bool in_pem = false;
  bool continues = false;  // the last key's value was blanked
  size_t indent = 0;       // of that key
  for (const absl::string_view view : absl::StrSplit(absl::StripSuffix(AbslView(text), "\n"), '\n')) {
    std::string line(view);
    if (in_pem || absl::StrContains(line, "-----BEGIN ")) {
      if (!in_pem) absl::StrAppend(&out, kBlanked, "\n");
      in_pem = !absl::StrContains(line, "-----END ");
      continue;
    }
    const size_t at = IndentOf(line);
    continues = continues && (at == line.size() || at > indent || (at == indent && line[at] == '-'));
    if (continues) continue;
    std::smatch found;
    if (line.size() > kLineBytesMax || IsBare(line)) {
      line = kBlanked;
    } else if (std::regex_match(line, found, *secret)) {
      if (!NamesFile(found[3].str())) {
        continues = true;
        indent = at;
        line = absl::StrCat(found[1].str(), " ", kBlanked);
      }
    } else {
      line = std::regex_replace(line, *user, absl::StrCat("://", kBlanked, "@"));
    }
    absl::StrAppend(&out, line, "\n");
  }
  return out;
}

}  // namespace copse::ctl
