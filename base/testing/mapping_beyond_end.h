// SPDX-License-Identifier: Apache-2.0
//
// Memory for tests that faults like memory in which the machine has found an error.
#ifndef COPSE_BASE_TESTING_MAPPING_BEYOND_END_H_
#define COPSE_BASE_TESTING_MAPPING_BEYOND_END_H_

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>

#include "base/check.h"

namespace copse {

// A shared mapping of a file that ends after `file_bytes`: whole pages beyond raise SIGBUS. It is a new mapping, or
// replaces the one at `at`.
class MappingBeyondEnd {
 public:
  MappingBeyondEnd(uint64_t file_bytes, uint64_t bytes, void* at = nullptr) : bytes_(bytes), owned_(at == nullptr) {
    const int fd = memfd_create("beyond-end", MFD_CLOEXEC);
    CHECK_GE(fd, 0);
    CHECK_EQ(ftruncate(fd, static_cast<off_t>(file_bytes)), 0);
    base_ = mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | (at == nullptr ? 0 : MAP_FIXED), fd, 0);
    CHECK(base_ != MAP_FAILED);
    close(fd);
  }
  MappingBeyondEnd(const MappingBeyondEnd&) = delete;
  MappingBeyondEnd& operator=(const MappingBeyondEnd&) = delete;
  ~MappingBeyondEnd() {
    if (owned_) munmap(base_, bytes_);
  }

  uint8_t* data() const { return static_cast<uint8_t*>(base_); }
  uint64_t bytes() const { return bytes_; }

 private:
  void* base_;
  const uint64_t bytes_;
  const bool owned_;
};

}  // namespace copse

#endif  // COPSE_BASE_TESTING_MAPPING_BEYOND_END_H_
