// SPDX-License-Identifier: Apache-2.0
//
// Encodes values of any length for etcd, which limits the length of a value.
#ifndef COPSE_PLANNER_ETCD_STORED_VALUE_H_
#define COPSE_PLANNER_ETCD_STORED_VALUE_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "planner/etcd/etcd.pb.h"

namespace copse::planner {

// The value of KEY is `z` and the bytes, compressed by zstd with a checksum. If they are longer than kValueBytesMax,
// they are cut into parts at KEY/VERSION/INDEX, and the value of KEY is `p`, the number of parts, `/`, and VERSION,
// which no other value of KEY has. Parts are written before the value of KEY, and those of other versions are deleted
// after it, so that at any time it names parts that belong together.

// Returns the operations that put `bytes` at `key`, in their order. `had_parts`: `key` may have parts, which are
// deleted. Sets `*has_parts` if it will have.
std::vector<etcdserverpb::RequestOp> PutValue(const std::string& key, const std::string& bytes,
                                              const std::string& version, bool had_parts, bool* has_parts);

// Returns the operations that delete the value, and its parts if it may have some.
std::vector<etcdserverpb::RequestOp> DeleteValue(const std::string& key, bool had_parts);

// A StoredValue is what was read of a KEY.
struct StoredValue {
  absl::StatusOr<std::string> bytes;  // DATA_LOSS if they are damaged
  std::vector<std::string> keys;      // that it consists of; those of its parts are last
};

struct StoredValues {
  std::map<std::string, StoredValue> values;  // by the key's name in its folder
  std::vector<std::string> unused;            // parts that no value names: a writer has ended between two transactions
};

// Decodes all keys of `folder` (PREFIX/team/), with their values.
StoredValues ReadValues(const std::string& folder, const std::map<std::string, std::string>& keys);

}  // namespace copse::planner

#endif  // COPSE_PLANNER_ETCD_STORED_VALUE_H_
