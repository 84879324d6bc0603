// SPDX-License-Identifier: Apache-2.0
#include "bench/bench.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"

namespace copse::bench {
namespace {

// Returns whether `label` contains the parts of `text` between stars, in this order and without overlap.
bool Matches(const std::string& label, const std::string& text) {
  size_t at = 0;
  for (const std::string& part : std::vector<std::string>(absl::StrSplit(text, '*'))) {
    at = label.find(part, at);
    if (at == std::string::npos) return false;
    at += part.size();
  }
  return true;
}

}  // namespace

std::string LabelOf(const Row& row) { return absl::StrCat(row.bench, " ", row.nodes, "x", row.ppn, " ", row.what); }

bool Wanted(const Options& options, const Row& row) {
  const std::string label = LabelOf(row);
  for (const std::string& text : std::vector<std::string>(absl::StrSplit(options.only, '|'))) {
    if (Matches(label, text)) return true;
  }
  return false;
}

bool WantedSystem(const Options& options, const std::string& system) {
  const std::vector<std::string>& wanted = options.systems;
  return wanted.empty() || std::find(wanted.begin(), wanted.end(), system) != wanted.end();
}

std::string DescribeMachine() {
  // The fourth field of /proc/loadavg counts the tasks that run now, this one included. The averages before it still
  // include tasks that have ended.
  unsigned running = 0;
  std::FILE* file = std::fopen("/proc/loadavg", "re");
  if (file != nullptr) {
    if (std::fscanf(file, "%*s %*s %*s %u", &running) != 1) running = 0;
    std::fclose(file);
  }
  return absl::StrFormat("%d cores, %d others running", sysconf(_SC_NPROCESSORS_ONLN), running > 0 ? running - 1 : 0);
}

}  // namespace copse::bench
