// SPDX-License-Identifier: Apache-2.0
#include "base/encoding/sha256.h"

#include <openssl/sha.h>

namespace copse {

std::string Sha256(std::string_view bytes) {
  std::string hash(SHA256_DIGEST_LENGTH, '\0');
  SHA256(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(),
         reinterpret_cast<unsigned char*>(hash.data()));
  return hash;
}

}  // namespace copse
