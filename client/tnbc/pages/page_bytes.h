// SPDX-License-Identifier: Apache-2.0
#ifndef COPSE_CLIENT_TNBC_PAGES_PAGE_BYTES_H_
#define COPSE_CLIENT_TNBC_PAGES_PAGE_BYTES_H_

#include <unistd.h>

#include <cstdint>

namespace copse::tnbc {

// Returns the kernel's base page size, in bytes; huge pages are a multiple of it.
inline uint64_t PageBytes() {
  static const auto bytes = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

}  // namespace copse::tnbc

#endif  // COPSE_CLIENT_TNBC_PAGES_PAGE_BYTES_H_
