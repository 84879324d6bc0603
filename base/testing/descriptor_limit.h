// SPDX-License-Identifier: Apache-2.0
//
// Lets this process open few file descriptors, for a while.
#ifndef COPSE_BASE_TESTING_DESCRIPTOR_LIMIT_H_
#define COPSE_BASE_TESTING_DESCRIPTOR_LIMIT_H_

#include <sys/resource.h>
#include <unistd.h>

#include "base/check.h"
#include "base/unique_fd.h"

namespace copse {

// While a DescriptorLimit exists, descriptors get numbers below the lowest free one plus `more`: where all below are
// taken, `more` can be opened.
class DescriptorLimit {
 public:
  explicit DescriptorLimit(rlim_t more) {
    CHECK(getrlimit(RLIMIT_NOFILE, &before_) == 0);
    const rlimit changed = {LowestFree() + more, before_.rlim_max};
    CHECK(setrlimit(RLIMIT_NOFILE, &changed) == 0);
  }
  ~DescriptorLimit() { setrlimit(RLIMIT_NOFILE, &before_); }
  DescriptorLimit(const DescriptorLimit&) = delete;

  static rlim_t LowestFree() { return static_cast<rlim_t>(UniqueFd(dup(STDERR_FILENO)).get()); }

 private:
  rlimit before_;
};

}  // namespace copse

#endif  // COPSE_BASE_TESTING_DESCRIPTOR_LIMIT_H_
