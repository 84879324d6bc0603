// SPDX-License-Identifier: Apache-2.0
//
// Messages of the administrators' services as JSON.
#ifndef COPSE_CLI_CTL_MESSAGE_JSON_H_
#define COPSE_CLI_CTL_MESSAGE_JSON_H_

#include <cstdint>
#include <map>
#include <string>

#include "cli/ctl/style.h"
#include "google/protobuf/map.h"
#include "google/protobuf/message.h"
#include "google/protobuf/repeated_field.h"

namespace copse::ctl {

// Converts to an object with a key for each field, by its name and in the order of its declaration; optional fields
// that are not set are left out. Integers stay numbers (protobuf's own printer writes those of 64 bits as texts), maps
// become objects ordered by key.
Json ToJson(const google::protobuf::Message& message);

// Protobuf's maps have no order; people and scripts need one.
using CounterMap = google::protobuf::Map<std::string, uint64_t>;
inline std::map<std::string, uint64_t> Sorted(const CounterMap& counters) { return {counters.begin(), counters.end()}; }

template <typename Row>
Json ToJson(const google::protobuf::RepeatedPtrField<Row>& rows) {
  Json json = Json::array();
  for (const Row& row : rows) json.push_back(ToJson(row));
  return json;
}

}  // namespace copse::ctl

#endif  // COPSE_CLI_CTL_MESSAGE_JSON_H_
