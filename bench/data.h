// SPDX-License-Identifier: Apache-2.0
//
// Reads cases and targets from YAML files (bench/cases.yaml, bench/targets.yaml), in which a map stands for many lines.
#ifndef COPSE_BENCH_DATA_H_
#define COPSE_BENCH_DATA_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace YAML {
class Node;
}  // namespace YAML

namespace copse::bench {

// Words is a line: its texts by key. The functions below end the program if a file of this folder has a mistake.
using Words = std::map<std::string, std::string>;

// Loads a file of this folder by its label, "bench/cases.yaml". Errors: NOT_FOUND; INVALID_ARGUMENT if it is no YAML.
absl::StatusOr<YAML::Node> LoadData(const std::string& label);

// Returns the texts of a map, without its lists and maps, and those of `outer` under other keys.
Words TextsOf(const YAML::Node& map, const Words& outer = {});

// Returns the lines that a map stands for: one for each combination of its lists' items, with those of the first list
// outermost. Each line also has the map's texts, and those of `outer` under other keys. A list under a key "$name" is
// not combined: it can be used as the value "$name" in place of a list, where it is looked up in this map and then in
// `scopes`, in their order. "{key}" in a text is replaced by the line's text of that key. Maps, and lists of anything
// but texts, are left out.
std::vector<Words> LinesOf(const YAML::Node& map, const Words& outer, const std::vector<YAML::Node>& scopes);

std::string TextOf(const Words& line, const std::string& key, const std::string& otherwise = "");
// These parse the text of `key`. NumberOf accepts "128" and "1.5".
double NumberOf(const Words& line, const std::string& key, double otherwise = 0);
// BytesOf accepts "48 B" and "64 KiB".
uint64_t BytesOf(const Words& line, const std::string& key);
// DurationOf accepts "150ms".
absl::Duration DurationOf(const Words& line, const std::string& key, absl::Duration otherwise = absl::ZeroDuration());

}  // namespace copse::bench

#endif  // COPSE_BENCH_DATA_H_
