// SPDX-License-Identifier: Apache-2.0
#include "bench/data.h"

#include <cstdio>
#include <cstdlib>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/status_macros.h"
#include "base/units.h"
#include "testbed/processes/programs.h"
#include "yaml-cpp/yaml.h"

namespace copse::bench {
namespace {

[[noreturn]] void Fail(const std::string& what, const std::string& text) {
  std::fprintf(stderr, "tools/bench: data: %s (text=%s)\n", what.c_str(), text.c_str());
  std::abort();
}

// Returns the list that "$name" stands for, which may itself be such a name; other values are returned unchanged.
YAML::Node Resolve(const YAML::Node& value, const YAML::Node& map, const std::vector<YAML::Node>& scopes) {
  if (!value.IsScalar() || !value.Scalar().starts_with("$")) return value;
  if (map[value.Scalar()]) return Resolve(map[value.Scalar()], map, scopes);
  for (const YAML::Node& scope : scopes) {
    if (scope[value.Scalar()]) return Resolve(scope[value.Scalar()], map, scopes);
  }
  Fail("no such list", value.Scalar());
}

bool IsListOfTexts(const YAML::Node& node) {
  if (!node.IsSequence()) return false;
  for (const YAML::Node& item : node) {
    if (!item.IsScalar()) return false;
  }
  return true;
}

}  // namespace

absl::StatusOr<YAML::Node> LoadData(const std::string& label) {
  ASSIGN_OR_RETURN(const std::string path, procs::FindFile(label));
  try {
    return YAML::LoadFile(path);
  } catch (const YAML::Exception& error) {
    return absl::InvalidArgumentError(absl::StrCat(label, ": ", error.what()));
  }
}

Words TextsOf(const YAML::Node& map, const Words& outer) {
  Words texts = outer;
  for (const auto& item : map) {
    if (item.second.IsScalar() && !item.first.Scalar().starts_with("$")) {
      texts[item.first.Scalar()] = item.second.Scalar();
    }
  }
  return texts;
}

std::vector<Words> LinesOf(const YAML::Node& map, const Words& outer, const std::vector<YAML::Node>& scopes) {
  std::vector<Words> lines = {TextsOf(map, outer)};
  for (const auto& item : map) {
    const std::string& key = item.first.Scalar();
    const YAML::Node list = Resolve(item.second, map, scopes);
    if (key.starts_with("$") || !IsListOfTexts(list)) continue;
    std::vector<Words> longer;
    for (const Words& line : lines) {
      for (const YAML::Node& choice : list) (longer.emplace_back(line))[key] = choice.Scalar();
    }
    lines = std::move(longer);
  }
  for (Words& line : lines) {
    std::vector<std::pair<std::string, std::string>> replacements;
    for (const auto& [key, text] : line) replacements.emplace_back(absl::StrCat("{", key, "}"), text);
    for (auto& [key, text] : line) text = absl::StrReplaceAll(text, replacements);
  }
  return lines;
}

std::string TextOf(const Words& line, const std::string& key, const std::string& otherwise) {
  const auto found = line.find(key);
  return found == line.end() ? otherwise : found->second;
}

double NumberOf(const Words& line, const std::string& key, double otherwise) {
  const std::string text = TextOf(line, key);
  double number = otherwise;
  if (!text.empty() && !absl::SimpleAtod(text, &number)) Fail(key + ": no number", text);
  return number;
}

uint64_t BytesOf(const Words& line, const std::string& key) {
  const std::string text = TextOf(line, key, "0");
  const absl::StatusOr<int64_t> bytes = ParseBytes(text);
  if (!bytes.ok()) Fail(key + ": no size", text);
  return static_cast<uint64_t>(*bytes);
}

absl::Duration DurationOf(const Words& line, const std::string& key, absl::Duration otherwise) {
  const std::string text = TextOf(line, key);
  if (text.empty()) return otherwise;
  const absl::StatusOr<absl::Duration> duration = ParseDuration(text);
  if (!duration.ok()) Fail(key + ": no duration", text);
  return *duration;
}

}  // namespace copse::bench
