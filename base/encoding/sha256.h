// SPDX-License-Identifier: Apache-2.0
//
// Hashes bytes so that nobody finds others with the same hash.
#ifndef COPSE_BASE_ENCODING_SHA256_H_
#define COPSE_BASE_ENCODING_SHA256_H_

#include <string>
#include <string_view>

namespace copse {

// Returns the 32 bytes of the SHA-256 (FIPS 180-4).
std::string Sha256(std::string_view bytes);

}  // namespace copse

#endif  // COPSE_BASE_ENCODING_SHA256_H_
