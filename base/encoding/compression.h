// SPDX-License-Identifier: Apache-2.0
//
// Compresses bytes by zstd.
#ifndef COPSE_BASE_ENCODING_COMPRESSION_H_
#define COPSE_BASE_ENCODING_COMPRESSION_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace copse {

// Returns a frame of zstd's fastest level, which already finds that trees of one team are much alike. With `checksum`,
// it has one of the bytes.
std::string Compressed(std::string_view bytes, bool checksum = false);

// Returns the bytes of a frame. DATA_LOSS: it is no frame, is damaged, or has more than `bytes_max` bytes; a damaged
// length takes no memory.
absl::StatusOr<std::string> Decompressed(std::string_view zstd, uint64_t bytes_max);

}  // namespace copse

#endif  // COPSE_BASE_ENCODING_COMPRESSION_H_
