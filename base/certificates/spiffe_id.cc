// SPDX-License-Identifier: Apache-2.0
#include "base/certificates/spiffe_id.h"

#include <algorithm>

namespace copse {
namespace {

constexpr std::string_view kScheme = "spiffe://";

bool IsPlain(std::string_view part) {
  return !part.empty() && std::all_of(part.begin(), part.end(), [](char c) { return c > ' ' && c != '/' && c != 127; });
}

}  // namespace

std::optional<SpiffeId> ParseSpiffeId(std::string_view uri) {
  if (!uri.starts_with(kScheme)) return std::nullopt;
  uri.remove_prefix(kScheme.size());
  const size_t role = uri.find('/');
  if (role == std::string_view::npos) return std::nullopt;
  const size_t name = uri.find('/', role + 1);
  if (name == std::string_view::npos) return std::nullopt;
  const std::string_view parts[] = {uri.substr(0, role), uri.substr(role + 1, name - role - 1), uri.substr(name + 1)};
  if (!std::all_of(std::begin(parts), std::end(parts), IsPlain)) return std::nullopt;
  return SpiffeId{std::string(parts[0]), std::string(parts[1]), std::string(parts[2])};
}

}  // namespace copse
