// SPDX-License-Identifier: Apache-2.0
//
// Pages to close and open in tests.
#ifndef COPSE_CLIENT_TNBC_TESTING_TEST_PAGES_H_
#define COPSE_CLIENT_TNBC_TESTING_TEST_PAGES_H_

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>

#include "client/tnbc/pages/pending_ranges.h"

namespace copse::tnbc {

inline const uint64_t kPage = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));

// Private anonymous memory, every byte of which is 'o'.
class Pages {
 public:
  explicit Pages(uint64_t count) : bytes_(count * kPage) {
    data_ = static_cast<char*>(mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    memset(data_, 'o', bytes_);
  }
  ~Pages() { munmap(data_, bytes_); }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;

  char* data() const { return data_; }
  uintptr_t address() const { return reinterpret_cast<uintptr_t>(data_); }
  Range All() const { return Some(0, bytes_ / kPage); }
  // Pages [first, last).
  Range Some(uint64_t first, uint64_t last) const { return {address() + first * kPage, address() + last * kPage}; }

 private:
  const uint64_t bytes_;
  char* data_;
};

}  // namespace copse::tnbc

#endif  // COPSE_CLIENT_TNBC_TESTING_TEST_PAGES_H_
