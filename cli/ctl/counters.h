// SPDX-License-Identifier: Apache-2.0
//
// Counters ordered by name: protobuf's maps have no order, people and scripts need one.
#ifndef COPSE_CLI_CTL_COUNTERS_H_
#define COPSE_CLI_CTL_COUNTERS_H_

#include <cstdint>
#include <map>
#include <string>

#include "cli/ctl/style.h"
#include "google/protobuf/map.h"

namespace copse::ctl {

using Counters = std::map<std::string, uint64_t>;

inline Counters Sorted(const google::protobuf::Map<std::string, uint64_t>& counters) {
  return Counters(counters.begin(), counters.end());
}

inline Json ToJson(const Counters& counters) {
  Json json = Json::object();
  for (const auto& [name, value] : counters) json[name] = value;
  return json;
}

}  // namespace copse::ctl

#endif  // COPSE_CLI_CTL_COUNTERS_H_
