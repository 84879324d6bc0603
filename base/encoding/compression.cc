// SPDX-License-Identifier: Apache-2.0
#include "base/encoding/compression.h"

#include <zstd.h>

#include <memory>

#include "absl/strings/str_cat.h"
#include "base/check.h"

namespace copse {

std::string Compressed(std::string_view bytes, bool checksum) {
  const std::unique_ptr<ZSTD_CCtx, size_t (*)(ZSTD_CCtx*)> context(ZSTD_createCCtx(), ZSTD_freeCCtx);
  CHECK(context != nullptr);
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_compressionLevel, 1);
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_checksumFlag, checksum ? 1 : 0);
  std::string zstd(ZSTD_compressBound(bytes.size()), '\0');
  const size_t size = ZSTD_compress2(context.get(), zstd.data(), zstd.size(), bytes.data(), bytes.size());
  CHECK(ZSTD_isError(size) == 0);
  zstd.resize(size);
  return zstd;
}

absl::StatusOr<std::string> Decompressed(std::string_view zstd, uint64_t bytes_max) {
  const uint64_t size = ZSTD_getFrameContentSize(zstd.data(), zstd.size());
  if (size > bytes_max) {  // also if it is not known
    return absl::DataLossError(
        absl::StrCat("not compressed, or too long (bytes=", zstd.size(), ", limit=", bytes_max, ")"));
  }
  std::string bytes(size, '\0');
  const size_t done = ZSTD_decompress(bytes.data(), bytes.size(), zstd.data(), zstd.size());
  if (done != size) return absl::DataLossError(absl::StrCat("its compression is damaged (bytes=", zstd.size(), ")"));
  return bytes;
}

}  // namespace copse
