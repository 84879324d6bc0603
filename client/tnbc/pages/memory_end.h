// SPDX-License-Identifier: Apache-2.0
//
// What becomes of memory that is given pages of its own again.
#ifndef COPSE_CLIENT_TNBC_PAGES_MEMORY_END_H_
#define COPSE_CLIENT_TNBC_PAGES_MEMORY_END_H_

#include <cstdint>

namespace copse::tnbc {

enum class MemoryEnd : uint8_t {
  kStays,  // others may be using it meanwhile
  kMoves,  // nobody else uses it: it may lie elsewhere afterwards
  kGoes,   // nor is what is in it needed
};

}  // namespace copse::tnbc

#endif  // COPSE_CLIENT_TNBC_PAGES_MEMORY_END_H_
