// SPDX-License-Identifier: Apache-2.0
//
// Reads the files by which a program proves who it is: certificate, key, authorities and revocation lists.
#ifndef COPSE_BASE_CONFIG_TLS_FILES_H_
#define COPSE_BASE_CONFIG_TLS_FILES_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/secret.h"

namespace copse::config {

// TlsFiles are paths; all are empty if no identity is configured.
struct TlsFiles {
  std::string certificate;  // tls_cert
  std::string key;          // tls_key
  std::string authorities;  // tls_ca
  std::string revoked;      // tls_crl_dir: a folder of revocation lists; may be empty

  bool given() const { return !certificate.empty(); }
  friend bool operator==(const TlsFiles&, const TlsFiles&) = default;
};

struct TlsList {
  std::string path, text;
  friend bool operator==(const TlsList&, const TlsList&) = default;
};

// TlsTexts are the files' contents, in PEM. The key is wiped when they are destroyed or replaced.
struct TlsTexts {
  TlsTexts() = default;
  TlsTexts(TlsTexts&&) = default;
  TlsTexts& operator=(TlsTexts&& other) noexcept;
  ~TlsTexts() { Wipe(&key); }

  // Returns all lists as one text.
  std::string revoked() const;

  std::string certificate, key, authorities;
  std::vector<TlsList> lists;
};

// Returns the paths with %h replaced by the node's name. INVALID_ARGUMENT unless tls_cert, tls_key and tls_ca are given
// together; it names the one that is missing.
absl::StatusOr<TlsFiles> CompleteTlsFiles(const TlsFiles& files, const std::string& node);

// Returns the contents; the folder's files are in the order of their names. Errors name the key and
// the path: NOT_FOUND if a file cannot be read; FAILED_PRECONDITION if the group or others may read the private key;
// INVALID_ARGUMENT for a file of more than 1 MiB.
absl::StatusOr<TlsTexts> ReadTlsFiles(const TlsFiles& files);

}  // namespace copse::config

#endif  // COPSE_BASE_CONFIG_TLS_FILES_H_
