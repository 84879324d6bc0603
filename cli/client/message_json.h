// SPDX-License-Identifier: Apache-2.0
//
// Converts messages of the administrators' services to JSON.
#ifndef COPSE_CLI_CLIENT_MESSAGE_JSON_H_
#define COPSE_CLI_CLIENT_MESSAGE_JSON_H_

#include <cstdint>
#include <map>
#include <string>

#include "cli/client/style.h"
#include "google/protobuf/map.h"
#include "google/protobuf/message.h"
#include "google/protobuf/repeated_field.h"

namespace copse::ctl {

// Converts a message to an object with the fields' names as keys, in the order of their declaration. Optional fields
// and messages that are not set are left out. Integers stay numbers, whereas protobuf's own printer writes 64-bit ones
// as strings. Maps become objects ordered by key.
Json ToJson(const google::protobuf::Message& message);

// Sorted returns the counters ordered by name, since the order of a protobuf map is unspecified.
using CounterMap = google::protobuf::Map<std::string, uint64_t>;
inline std::map<std::string, uint64_t> Sorted(const CounterMap& counters) { return {counters.begin(), counters.end()}; }

template <typename Row>
Json ToJson(const google::protobuf::RepeatedPtrField<Row>& rows) {
  Json json = Json::array();
  for (const Row& row : rows) json.push_back(ToJson(row));
  return json;
}

}  // namespace copse::ctl

#endif  // COPSE_CLI_CLIENT_MESSAGE_JSON_H_
