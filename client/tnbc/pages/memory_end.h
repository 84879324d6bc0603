// SPDX-License-Identifier: Apache-2.0
//
// The fate of memory that gets pages of its own again.
#ifndef COPSE_CLIENT_TNBC_PAGES_MEMORY_END_H_
#define COPSE_CLIENT_TNBC_PAGES_MEMORY_END_H_

#include <cstdint>

namespace copse::tnbc {

enum class MemoryEnd : uint8_t {
  kStays,  // other threads may be using it meanwhile
  kMoves,  // it is not in use, and may lie elsewhere afterwards
  kGoes,   // likewise, and its contents are not needed
};

}  // namespace copse::tnbc

#endif  // COPSE_CLIENT_TNBC_PAGES_MEMORY_END_H_
