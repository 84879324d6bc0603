// SPDX-License-Identifier: Apache-2.0
//
// Cases and targets as data: YAML files (bench/cases.yaml, bench/targets.yaml) whose maps stand for many lines.
#ifndef COPSE_BENCH_DATA_H_
#define COPSE_BENCH_DATA_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "yaml-cpp/yaml.h"

namespace copse::bench {

// A line: texts by key. A mistake in a file of ours ends the program.
using Words = std::map<std::string, std::string>;

// A file of this folder by its label, "bench/cases.yaml". Errors: NOT_FOUND; INVALID_ARGUMENT if it is no YAML.
absl::StatusOr<YAML::Node> LoadData(const std::string& label);

// The texts of a map, without its lists and maps, over those of `outer`.
Words TextsOf(const YAML::Node& map, const Words& outer = {});

// The lines that a map stands for: one for each combination of its lists' items, those of the first list outermost,
// each with the map's texts and over those of `outer`. A list under a key that begins with `$` stands for itself:
// "$name" in place of a list means that list, of this map or else of one of `scopes`, the first that has it. "{key}" in
// a text is the line's text of that key. Maps, and lists of anything but texts, are left out.
std::vector<Words> LinesOf(const YAML::Node& map, const Words& outer = {}, const std::vector<YAML::Node>& scopes = {});

std::string TextOf(const Words& line, const std::string& key, const std::string& otherwise = "");
// "128", "1.5".
double NumberOf(const Words& line, const std::string& key, double otherwise = 0);
// "48 B", "64 KiB".
uint64_t BytesOf(const Words& line, const std::string& key);
// "150ms".
absl::Duration DurationOf(const Words& line, const std::string& key, absl::Duration otherwise = absl::ZeroDuration());

}  // namespace copse::bench

#endif  // COPSE_BENCH_DATA_H_
