// SPDX-License-Identifier: Apache-2.0
#include "base/config/config.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <initializer_list>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "base/check.h"
#include "base/status_macros.h"
#include "base/string_view.h"
#include "base/units.h"
#include "yaml-cpp/yaml.h"

namespace copse::config {
namespace {

// Limits a configuration file's length, far beyond that of any valid one.
constexpr size_t kFileBytesMax = 1 << 20;

// Makes a one-line error, also for texts that hold line feeds or binary data.
absl::Status Error(std::string_view what, std::string_view things) {
  return absl::InvalidArgumentError(absl::StrReplaceAll(
      absl::Utf8SafeCHexEscape(absl::StrCat("config: ", AbslView(what), " (", AbslView(things), ")")),
      {{"\\\"", "\""}, {"\\'", "'"}}));
}

// Returns the content of a file. NOT_FOUND: it cannot be opened or read. INVALID_ARGUMENT: it is longer than
// kFileBytesMax. Errors name the file.
absl::StatusOr<std::string> ReadFile(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return absl::NotFoundError(absl::StrCat("config: cannot open: ", strerror(errno), " (file=", path, ")"));
  std::string text;
  char part[4096];
  do {
    in.read(part, sizeof(part));
    text.append(part, static_cast<size_t>(in.gcount()));
  } while (in && text.size() <= kFileBytesMax);
  if (in.bad())
    return absl::NotFoundError(absl::StrCat("config: cannot read: ", strerror(errno), " (file=", path, ")"));
  if (text.size() <= kFileBytesMax) return text;
  return Error("longer than a configuration", absl::StrCat("file=", path, ", limit=", kFileBytesMax));
}

bool IsOneOf(const std::string& text, std::initializer_list<const char*> words) {
  return std::any_of(words.begin(), words.end(), [&](const char* word) { return absl::EqualsIgnoreCase(text, word); });
}

// Returns whether the text is a YAML mapping, or empty.
bool IsMapping(const std::string& text) {
  try {
    const YAML::Node root = YAML::Load(text);
    return root.IsMap() || root.IsNull();
  } catch (const YAML::Exception&) {
    return false;
  }
}

// Returns the mapping as one line.
std::string FlowText(const YAML::Node& node) {
  YAML::Emitter out;
  out.SetMapFormat(YAML::Flow);
  out.SetSeqFormat(YAML::Flow);
  out << node;
  return absl::StrReplaceAll(out.c_str(), {{"\n", " "}});
}

// Returns the number by which values of the type are compared with their limits (durations in nanoseconds, 0 for texts,
// lists and mappings); nothing if `text` is no value of the type.
std::optional<int64_t> NumberOf(Type type, const std::string& text) {
  int64_t value = 0;
  switch (type) {
    case Type::kBool:
      if (IsOneOf(text, {"true", "yes", "on", "1"})) return 1;
      return IsOneOf(text, {"false", "no", "off", "0"}) ? std::optional(value) : std::nullopt;
    case Type::kInteger:
      return absl::SimpleAtoi(text, &value) ? std::optional(value) : std::nullopt;
    case Type::kDuration: {
      const absl::StatusOr<absl::Duration> duration = ParseDuration(text);
      return duration.ok() ? std::optional(absl::ToInt64Nanoseconds(*duration)) : std::nullopt;
    }
    case Type::kBytes: {
      const absl::StatusOr<int64_t> bytes = ParseBytes(text);
      return bytes.ok() ? std::optional(*bytes) : std::nullopt;
    }
    case Type::kMapping:
      return IsMapping(text) ? std::optional(value) : std::nullopt;
    case Type::kText:
    case Type::kList:
      break;
  }
  return value;
}

std::string_view TypeText(Type type) {
  switch (type) {
    case Type::kText:
      return "a text";
    case Type::kBool:
      return "true or false";
    case Type::kInteger:
      return "an integer";
    case Type::kDuration:
      return "a duration such as 500ms or 10s";
    case Type::kBytes:
      return "a size such as 65536 or 64MiB";
    case Type::kList:
      return "a list";
    case Type::kMapping:
      return "a mapping such as {a: 1, b: 2}";
  }
  return "?";
}

// Returns the text as a YAML scalar, in quotes if necessary.
std::string Quoted(const std::string& text) {
  static constexpr char kPlain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:-";
  const bool plain = !text.empty() && text.find_first_not_of(kPlain) == std::string::npos &&
                     absl::ascii_isalnum(static_cast<unsigned char>(text[0])) && text.back() != ':';
  if (plain || (!text.empty() && text[0] == '/' && text.find_first_not_of(kPlain) == std::string::npos)) return text;
  return absl::StrCat("\"", absl::StrReplaceAll(text, {{"\\", "\\\\"}, {"\"", "\\\""}, {"\n", "\\n"}, {"\t", "\\t"}}),
                      "\"");
}

// Returns the environment variables of `sources` whose names begin with `prefix`.
std::map<std::string, std::string> Variables(const Sources& sources, const std::string& prefix) {
  std::map<std::string, std::string> all;
  if (sources.environment.has_value()) {
    all = *sources.environment;
  } else {
    for (char** each = environ; *each != nullptr; ++each) all.insert(absl::StrSplit(*each, absl::MaxSplits('=', 1)));
  }
  std::erase_if(all, [&](const auto& variable) { return !absl::StartsWith(variable.first, prefix); });
  return all;
}

}  // namespace

Config::Config(std::string program, std::vector<Key> keys) : program_(std::move(program)), keys_(std::move(keys)) {
  for (const Key& key : keys_) {
    const absl::Status status = Check(key, key.default_text, "default");
    if (!status.ok()) std::fprintf(stderr, "default of %s: %s\n", key.name.c_str(), status.ToString().c_str());
    CHECK(status.ok());
    CHECK(values_.emplace(key.name, Value{key.default_text, "default"}).second);
  }
}

absl::Status Config::Check(const Key& key, const std::string& text, const std::string& origin) {
  const auto refused = [&](std::string_view why, const std::string& limit = "") {
    return Error(
        why, absl::StrCat("key=", key.name, ", value=", text, limit.empty() ? "" : ", limit=", limit, ", ", origin));
  };
  const std::optional<int64_t> value = NumberOf(key.type, text);
  if (!value.has_value()) return refused(absl::StrCat("not ", AbslView(TypeText(key.type))));
  if (!key.lowest.empty() && *value < *NumberOf(key.type, key.lowest)) return refused("too small", key.lowest);
  if (!key.highest.empty() && *value > *NumberOf(key.type, key.highest)) return refused("too large", key.highest);
  if (key.choices.empty() || std::count(key.choices.begin(), key.choices.end(), text) > 0) return absl::OkStatus();
  return refused(absl::StrCat("not one of ", absl::StrJoin(key.choices, ", ")));
}

const Key* Config::Find(std::string_view name) const {
  for (const Key& key : keys_) {
    if (key.name == name) return &key;
  }
  return nullptr;
}

absl::Status Config::LoadFile(const Sources& sources, Values* values) const {
  if (!sources.file_required && access(sources.file.c_str(), F_OK) != 0 && errno == ENOENT) return absl::OkStatus();
  ASSIGN_OR_RETURN(const std::string file, ReadFile(sources.file));
  YAML::Node root;
  try {
    root = YAML::Load(file);
  } catch (const YAML::Exception& e) {
    return Error(absl::StrCat("not YAML: ", e.msg), absl::StrCat("file=", sources.file, ":", e.mark.line + 1));
  }
  if (root.IsNull()) return absl::OkStatus();
  if (!root.IsMap())
    return Error("not a list of KEY: VALUE", absl::StrCat("file=", sources.file, ":", root.Mark().line + 1));
  std::map<std::string, int> seen;
  for (const auto& entry : root) {
    const std::string where = absl::StrCat("file=", sources.file, ":", entry.first.Mark().line + 1);
    if (!entry.first.IsScalar()) return Error("a key must be a word", where);
    const std::string& name = entry.first.Scalar();
    const Key* key = Find(name);
    if (key == nullptr) return Error("unknown key", absl::StrCat("key=", name, ", ", where));
    if (!seen.emplace(name, 0).second) return Error("key given twice", absl::StrCat("key=", name, ", ", where));
    std::string text;
    if (entry.second.IsScalar()) {
      text = entry.second.Scalar();
    } else if (entry.second.IsSequence() && key->type == Type::kList) {
      std::vector<std::string> items;
      for (const auto& item : entry.second) {
        if (!item.IsScalar()) return Error("not a list of texts", absl::StrCat("key=", name, ", ", where));
        items.push_back(item.Scalar());
      }
      text = absl::StrJoin(items, ",");
    } else if (entry.second.IsMap() && key->type == Type::kMapping) {
      text = FlowText(entry.second);
    } else if (!entry.second.IsNull()) {
      return Error(absl::StrCat("not ", AbslView(TypeText(key->type))), absl::StrCat("key=", name, ", ", where));
    }
    RETURN_IF_ERROR(Check(*key, text, where));
    (*values)[name] = {text, absl::StrCat("file ", sources.file, ":", entry.first.Mark().line + 1)};
  }
  return absl::OkStatus();
}

absl::Status Config::Load(const Sources& sources) {
  Values values;
  for (const Key& key : keys_) values[key.name] = {key.default_text, "default"};
  if (!sources.file.empty()) RETURN_IF_ERROR(LoadFile(sources, &values));
  std::map<std::string, std::string> variables = Variables(sources, EnvironmentName(""));
  for (const Key& key : keys_) {
    const auto variable = variables.extract(EnvironmentName(key.name));
    if (variable.empty()) continue;
    RETURN_IF_ERROR(Check(key, variable.mapped(), absl::StrCat("environment=", variable.key())));
    values[key.name] = {variable.mapped(), absl::StrCat("environment ", variable.key())};
  }
  for (const std::string& setting : sources.settings) {
    const size_t equals = setting.find('=');
    if (equals == std::string::npos) return Error("not KEY=VALUE", absl::StrCat("flag=--set ", setting));
    const std::string name = setting.substr(0, equals);
    const Key* key = Find(name);
    if (key == nullptr) return Error("unknown key", absl::StrCat("key=", name, ", flag=--set"));
    const std::string text = setting.substr(equals + 1);
    RETURN_IF_ERROR(Check(*key, text, "flag=--set"));
    values[name] = {text, "--set"};
  }
  values_ = std::move(values);
  unknown_variables_.clear();
  for (const auto& [name, text] : variables) unknown_variables_.push_back(name);
  return absl::OkStatus();
}

const Config::Value& Config::Get(std::string_view key, std::optional<Type> type) const {
  const Key* declared = Find(key);
  CHECK(declared != nullptr);
  if (type.has_value()) CHECK(declared->type == *type);
  return values_.find(key)->second;
}

const std::string& Config::Text(std::string_view key) const { return Get(key, std::nullopt).text; }
bool Config::Bool(std::string_view key) const { return *NumberOf(Type::kBool, Get(key, Type::kBool).text) != 0; }
int64_t Config::Integer(std::string_view key) const { return *NumberOf(Type::kInteger, Get(key, Type::kInteger).text); }
absl::Duration Config::Duration(std::string_view key) const { return *ParseDuration(Get(key, Type::kDuration).text); }
uint64_t Config::Bytes(std::string_view key) const {
  return static_cast<uint64_t>(*ParseBytes(Get(key, Type::kBytes).text));
}

std::vector<std::string> Config::List(std::string_view key) const {
  std::vector<std::string> items;
  for (const auto& item : absl::StrSplit(Get(key, Type::kList).text, ',')) {
    const auto stripped = absl::StripAsciiWhitespace(item);
    if (!stripped.empty()) items.emplace_back(stripped);
  }
  return items;
}

const std::string& Config::Origin(std::string_view key) const { return Get(key, std::nullopt).origin; }

std::vector<std::string> Config::Changed(const Config& other) const {
  std::vector<std::string> changed;
  for (const Key& key : keys_) {
    if (Text(key.name) != other.Text(key.name)) changed.push_back(key.name);
  }
  return changed;
}

std::string Config::EnvironmentName(std::string_view key) const {
  return absl::StrReplaceAll(absl::AsciiStrToUpper(absl::StrCat(program_, "_", AbslView(key))), {{"-", "_"}});
}

std::string Config::Print() const {
  std::string out = absl::StrCat("# ", program_, ": every key, with its default and its present value.\n");
  for (const Key& key : keys_) {
    absl::StrAppend(&out, "\n# ", absl::StrReplaceAll(key.comment, {{"\n", "\n# "}}), "\n");
    absl::StrAppend(&out, "# Default: ", key.default_text.empty() ? "(empty)" : key.default_text);
    if (!key.lowest.empty() || !key.highest.empty())
      absl::StrAppend(&out, "; from ", key.lowest.empty() ? "any" : key.lowest, " to ",
                      key.highest.empty() ? "any" : key.highest);
    if (!key.choices.empty()) absl::StrAppend(&out, "; one of ", absl::StrJoin(key.choices, ", "));
    absl::StrAppend(&out, ". Environment: ", EnvironmentName(key.name), ".");
    const Value& value = values_.find(key.name)->second;
    if (value.origin != "default") absl::StrAppend(&out, " Set by ", value.origin, ".");
    absl::StrAppend(&out, "\n", key.name, ": ", Quoted(value.text), "\n");
  }
  return out;
}

}  // namespace copse::config
