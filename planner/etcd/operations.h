// SPDX-License-Identifier: Apache-2.0
//
// Makes the operations of etcd's transactions, and its keys.
#ifndef COPSE_PLANNER_ETCD_OPERATIONS_H_
#define COPSE_PLANNER_ETCD_OPERATIONS_H_

#include <cstdint>
#include <string>
#include <utility>

#include "absl/strings/str_format.h"
#include "planner/etcd/etcd.pb.h"

namespace copse::planner {

// Returns the number with 20 digits, so that keys and values sort by it.
inline std::string Padded(uint64_t number) { return absl::StrFormat("%020d", number); }

// Returns the end of the range of keys that begin with `prefix`, whose last character is not the last of all.
inline std::string EndOf(std::string prefix) {
  ++prefix.back();
  return prefix;
}

inline etcdserverpb::RequestOp PutOp(const std::string& key, std::string value) {
  etcdserverpb::RequestOp op;
  op.mutable_request_put()->set_key(key);
  op.mutable_request_put()->set_value(std::move(value));
  return op;
}

inline etcdserverpb::RequestOp GetOp(const std::string& key) {
  etcdserverpb::RequestOp op;
  op.mutable_request_range()->set_key(key);
  return op;
}

// `end` is empty: deletes the key alone.
inline etcdserverpb::RequestOp DeleteOp(const std::string& key, const std::string& end = "") {
  etcdserverpb::RequestOp op;
  op.mutable_request_delete_range()->set_key(key);
  op.mutable_request_delete_range()->set_range_end(end);
  return op;
}

// Returns the condition that the key was created at `revision`; 0: that it does not exist.
inline etcdserverpb::Compare IsCreatedAt(const std::string& key, int64_t revision) {
  etcdserverpb::Compare compare;
  compare.set_key(key);
  compare.set_target(etcdserverpb::Compare::CREATE);
  compare.set_create_revision(revision);
  return compare;
}

// Returns the condition that the key exists, and its value is less than `value`.
inline etcdserverpb::Compare IsLess(const std::string& key, const std::string& value) {
  etcdserverpb::Compare compare;
  compare.set_key(key);
  compare.set_target(etcdserverpb::Compare::VALUE);
  compare.set_result(etcdserverpb::Compare::LESS);
  compare.set_value(value);
  return compare;
}

}  // namespace copse::planner

#endif  // COPSE_PLANNER_ETCD_OPERATIONS_H_
