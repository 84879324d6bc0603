// SPDX-License-Identifier: Apache-2.0
//
// Owns file descriptors.
#ifndef COPSE_BASE_UNIQUE_FD_H_
#define COPSE_BASE_UNIQUE_FD_H_

#include <unistd.h>

#include <utility>

namespace copse {

// A UniqueFd owns a descriptor and closes it in its destructor. Movable.
class UniqueFd {
 public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) : fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    if (this != &other) {
      reset();
      fd_ = std::exchange(other.fd_, -1);
    }
    return *this;
  }
  ~UniqueFd() { reset(); }

  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }
  int release() { return std::exchange(fd_, -1); }
  void reset() {
    if (fd_ >= 0) close(std::exchange(fd_, -1));
  }

 private:
  int fd_ = -1;
};

}  // namespace copse

#endif  // COPSE_BASE_UNIQUE_FD_H_
