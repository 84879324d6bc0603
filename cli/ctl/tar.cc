// SPDX-License-Identifier: Apache-2.0
#include "cli/ctl/tar.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/check.h"

namespace copse::ctl {
namespace {

constexpr size_t kBlockBytes = 512;

// Header is that of POSIX.1-2017, pax, "ustar Interchange Format". Numbers are octal digits, with a zero byte behind.
struct Header {
  char name[100], mode[8], uid[8], gid[8], size[12], changed[12], checksum[8], type, link[100], magic[6], version[2];
  char user[32], group[32], major[8], minor[8], prefix[155], padding[12];
};
static_assert(sizeof(Header) == kBlockBytes);

// Writes the number into the first `digits` bytes, with leading zeros.
void SetOctal(char* field, size_t digits, uint64_t value) {
  for (; digits > 0; value /= 8) field[--digits] = static_cast<char>('0' + value % 8);
}

template <size_t kBytes>
void SetOctal(char (&field)[kBytes], uint64_t value) {
  SetOctal(field, kBytes - 1, value);
}

}  // namespace

void TarWriter::Add(const std::string& name, std::string_view text, absl::Time changed) {
  Header header{};
  CHECK(!name.empty());
  CHECK_LT(name.size(), sizeof(header.name));
  CHECK_LT(text.size(), uint64_t{8} << 30);
  std::copy(name.begin(), name.end(), header.name);
  SetOctal(header.mode, 0600);
  SetOctal(header.uid, 0);
  SetOctal(header.gid, 0);
  SetOctal(header.size, text.size());
  SetOctal(header.changed, static_cast<uint64_t>(std::max<int64_t>(absl::ToUnixSeconds(changed), 0)));
  header.type = '0';
  std::memcpy(header.magic, "ustar", sizeof(header.magic));
  std::memcpy(header.version, "00", sizeof(header.version));
  // The checksum is made as if its own field were blank.
  std::memset(header.checksum, ' ', sizeof(header.checksum));
  const auto* const bytes = reinterpret_cast<const unsigned char*>(&header);
  uint64_t sum = 0;
  for (size_t i = 0; i < sizeof(header); ++i) sum += bytes[i];
  SetOctal(header.checksum, 6, sum);
  header.checksum[6] = '\0';
  archive_.append(reinterpret_cast<const char*>(&header), sizeof(header));
  archive_.append(text);
  archive_.append((kBlockBytes - text.size() % kBlockBytes) % kBlockBytes, '\0');
}

std::string TarWriter::Finish() && {
  archive_.append(2 * kBlockBytes, '\0');
  return std::move(archive_);
}

}  // namespace copse::ctl
