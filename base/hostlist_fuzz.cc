// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "base/hostlist.h"
#include "tools/fuzzing/target.h"

namespace copse::fuzzing {

constexpr uint64_t kHostsMax = 10'000;

std::vector<std::string> Seeds() {
  return {
      "n[1-4,07-09],rack[0-1]n[0-3],login", "n1", "[1-2]x[3,5]", "a,b , c", "n[1-10000000]", "n[000-010]-ib.example"};
}

// A list that expands is compressed to a list that expands to the same hosts.
void OneInput(std::string_view bytes) {
  const auto hosts = ExpandHostlist(bytes, kHostsMax);
  if (!hosts.ok()) {
    CHECK(absl::IsInvalidArgument(hosts.status()) || absl::IsResourceExhausted(hosts.status()));
    return;
  }
  CHECK_LE(hosts->size(), kHostsMax);
  for (const std::string& host : *hosts) CHECK_LE(host.size(), kHostnameBytesMax);
  const auto again = ExpandHostlist(CompressHostlist(*hosts), kHostsMax);
  CHECK(again.ok());
  CHECK(*again == *hosts);
}

}  // namespace copse::fuzzing
