// SPDX-License-Identifier: Apache-2.0
//
// Defines owners of a file descriptor and of a memory mapping.
#ifndef COPSE_CLIENT_PORT_FILE_DESCRIPTOR_H_
#define COPSE_CLIENT_PORT_FILE_DESCRIPTOR_H_

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <utility>

namespace copse::client {

class FileDescriptor {
 public:
  FileDescriptor() = default;
  explicit FileDescriptor(int fd) : fd_(fd) {}
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~FileDescriptor() {
    if (fd_ >= 0) close(fd_);
  }

  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

class Mapping {
 public:
  Mapping() = default;
  // Maps the first `bytes` bytes of `fd` shared. valid() returns whether that succeeded. `fd` may be closed afterwards.
  Mapping(int fd, size_t bytes, int protection) : bytes_(bytes) {
    void* address = mmap(nullptr, bytes, protection, MAP_SHARED, fd, 0);
    if (address != MAP_FAILED) address_ = static_cast<uint8_t*>(address);
  }
  Mapping(Mapping&& other) noexcept
      : address_(std::exchange(other.address_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  Mapping& operator=(Mapping&& other) noexcept {
    std::swap(address_, other.address_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~Mapping() {
    if (address_ != nullptr) munmap(address_, bytes_);
  }

  bool valid() const { return address_ != nullptr; }
  uint8_t* data() const { return address_; }
  size_t bytes() const { return bytes_; }

 private:
  uint8_t* address_ = nullptr;
  size_t bytes_ = 0;
};

}  // namespace copse::client

#endif  // COPSE_CLIENT_PORT_FILE_DESCRIPTOR_H_
