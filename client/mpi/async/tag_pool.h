// SPDX-License-Identifier: Apache-2.0
//
// Issues the tags of messages within a process.
#ifndef COPSE_CLIENT_MPI_ASYNC_TAG_POOL_H_
#define COPSE_CLIENT_MPI_ASYNC_TAG_POOL_H_

#include <cstddef>
#include <optional>
#include <unordered_set>

namespace copse::mpi {

// A TagPool issues tags from 1 to `max`. A tag that comes back is issued again as late as possible. Thread-compatible.
class TagPool {
 public:
  explicit TagPool(int max) : max_(max) {}

  // Returns nullopt if all tags are in use.
  std::optional<int> Take() {
    if (used_.size() >= static_cast<size_t>(max_)) return std::nullopt;
    do {
      last_ = last_ % max_ + 1;
    } while (!used_.insert(last_).second);
    return last_;
  }
  void Return(int tag) { used_.erase(tag); }

 private:
  const int max_;
  std::unordered_set<int> used_;
  int last_ = 0;
};

}  // namespace copse::mpi

#endif  // COPSE_CLIENT_MPI_ASYNC_TAG_POOL_H_
