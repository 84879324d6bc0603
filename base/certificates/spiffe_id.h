// SPDX-License-Identifier: Apache-2.0
//
// The name in a certificate: the URI spiffe://DOMAIN/ROLE/NAME.
#ifndef COPSE_BASE_CERTIFICATES_SPIFFE_ID_H_
#define COPSE_BASE_CERTIFICATES_SPIFFE_ID_H_

#include <optional>
#include <string>
#include <string_view>

namespace copse {

struct SpiffeId {
  std::string domain;  // the cluster
  std::string role;    // for example "node"
  std::string name;

  std::string ToUri() const { return "spiffe://" + domain + "/" + role + "/" + name; }
  friend bool operator==(const SpiffeId&, const SpiffeId&) = default;
};

// Returns the parts of a URI, or nullopt unless there are exactly these three, none of them empty and none with a
// control character.
std::optional<SpiffeId> ParseSpiffeId(std::string_view uri);

}  // namespace copse

#endif  // COPSE_BASE_CERTIFICATES_SPIFFE_ID_H_
