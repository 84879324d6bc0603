// SPDX-License-Identifier: Apache-2.0
//
// Loads the configuration of the daemons: keys with defaults and comments, whose values are read from a YAML file, the
// environment and flags.
//
//   config::Config config("copsed", {{.name = "listen", .default_text = "127.0.0.1:7470"}});
//   RETURN_IF_ERROR(config.Load({.file = "/etc/copse/copsed.yaml"}));
//   Listen(config.Text("listen"));
//
// Precedence, highest first: --set KEY=VALUE, environment (COPSED_LISTEN), file, default. Only daemons and the
// planner use this; it is never part of a user's process. start.h has the command line that goes with it.

#ifndef COPSE_BASE_CONFIG_CONFIG_H_
#define COPSE_BASE_CONFIG_CONFIG_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace copse::config {

enum class Type : uint8_t {
  kText,
  kBool,      // true, false, yes, no, on, off
  kInteger,   // decimal
  kDuration,  // 500ms, 10s: base/units.h
  kBytes,     // 65536, 64KiB, 1GiB: base/units.h
  kList,      // in the file a YAML list, or like elsewhere one text with commas between the items
  kMapping,   // a YAML mapping, elsewhere as one text: {a: 1, b: {c: 2}}; the program checks its content
};

// A Key is one setting of a program. `default_text` is checked when the Config is constructed.
struct Key {
  std::string name;  // snake_case
  Type type = Type::kText;
  std::string default_text = {};
  std::string comment = {};               // for --print-config; newlines are kept
  std::string lowest = {}, highest = {};  // inclusive limits, written as values of the key's type; empty: none
  std::vector<std::string> choices = {};  // if not empty, the only texts allowed
};

// Sources has the places from which Load takes values.
struct Sources {
  std::string file = {};                                                         // empty: none
  bool file_required = false;                                                    // false: an absent file is fine
  std::vector<std::string> settings = {};                                        // KEY=VALUE, later ones win
  std::optional<std::map<std::string, std::string>> environment = std::nullopt;  // unset: that of this process
};

// A Config owns a program's keys and their values. Thread-compatible. To reload, load a copy, and replace the original
// if that succeeded. Reading a key that was not declared, or as another type, is a bug and ends the program.
class Config {
 public:
  // `program` is "copsed" or "copse-planner"; the prefix of environment variables derives from it (COPSE_PLANNER_).
  Config(std::string program, std::vector<Key> keys);

  // Sets every key from `sources`, or leaves all unchanged. INVALID_ARGUMENT is one line, "config: unknown key
  // (key=foo, file=x.yaml:3)"; NOT_FOUND if the file cannot be read, or is absent and required.
  absl::Status Load(const Sources& sources);
  // Returns the environment variables with the program's prefix that match no key, as Load found them. They are not an
  // error: a cluster manager sets such names for services (COPSE_PLANNER_SERVICE_HOST).
  const std::vector<std::string>& unknown_variables() const { return unknown_variables_; }

  // Text returns a value of any type, as it was written; the others require that the key has their type.
  const std::string& Text(std::string_view key) const;
  bool Bool(std::string_view key) const;
  int64_t Integer(std::string_view key) const;
  absl::Duration Duration(std::string_view key) const;
  uint64_t Bytes(std::string_view key) const;
  std::vector<std::string> List(std::string_view key) const;
  // Returns the source of the value: "default", "file x.yaml:3", "environment COPSED_NODE" or "--set".
  const std::string& Origin(std::string_view key) const;
  // Returns the keys whose values differ from `other`'s, which has the same keys.
  std::vector<std::string> Changed(const Config& other) const;

  // Returns a YAML file with all keys, their comments, defaults and current values, which Load can read.
  std::string Print() const;

  const std::string& program() const { return program_; }
  // Returns the name of a key's environment variable.
  std::string EnvironmentName(std::string_view key) const;

 private:
  struct Value {
    std::string text;
    std::string origin;
  };
  using Values = std::map<std::string, Value, std::less<>>;

  const Key* Find(std::string_view name) const;
  const Value& Get(std::string_view key, std::optional<Type> type) const;
  absl::Status LoadFile(const Sources& sources, Values* values) const;
  // Returns an error if `text` is no valid value of the key. `origin` is the end of its message: "file=x.yaml:3".
  static absl::Status Check(const Key& key, const std::string& text, const std::string& origin);

  std::string program_;
  std::vector<Key> keys_;
  Values values_;
  std::vector<std::string> unknown_variables_;
};

}  // namespace copse::config

#endif  // COPSE_BASE_CONFIG_CONFIG_H_
