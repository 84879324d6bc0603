// SPDX-License-Identifier: Apache-2.0
//
// Reads where the planner keeps its state.
#ifndef COPSE_PLANNER_STORE_STORE_ADDRESS_H_
#define COPSE_PLANNER_STORE_STORE_ADDRESS_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace copse::planner {

// A StoreAddress is an SQLite file, etcd, or, if both are empty, the planner's memory.
struct StoreAddress {
  std::string file;
  std::vector<std::string> etcd;  // HOST:PORT of members
  std::string prefix;             // of all keys in etcd, "/copse"
  bool is_encrypted = false;      // etcd is reached by TLS
};

// Parses "" (memory), "sqlite:FILE", "etcds://HOST:PORT[,HOST:PORT...]/PREFIX", or "etcd://..." without encryption.
// INVALID_ARGUMENT for another form.
absl::StatusOr<StoreAddress> ParseStoreAddress(std::string_view text);

}  // namespace copse::planner

#endif  // COPSE_PLANNER_STORE_STORE_ADDRESS_H_
