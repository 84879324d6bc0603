// SPDX-License-Identifier: Apache-2.0
//
// Says what becomes of remapped memory after it gets ordinary pages again.
#ifndef COPSE_CLIENT_TNBC_PAGES_MEMORY_END_H_
#define COPSE_CLIENT_TNBC_PAGES_MEMORY_END_H_

#include <cstdint>

namespace copse::tnbc {

enum class MemoryEnd : uint8_t {
  kStays,  // it stays in use; other threads may access it meanwhile
  kMoves,  // no thread uses it; it may get another address afterwards
  kGoes,   // no thread uses it; its contents are not needed
};

}  // namespace copse::tnbc

#endif  // COPSE_CLIENT_TNBC_PAGES_MEMORY_END_H_
