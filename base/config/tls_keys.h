// SPDX-License-Identifier: Apache-2.0
//
// Defines the keys of a configuration that name the files of TLS.
#ifndef COPSE_BASE_CONFIG_TLS_KEYS_H_
#define COPSE_BASE_CONFIG_TLS_KEYS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/config/config.h"
#include "base/config/tls_files.h"

namespace copse::config {

// Returns the keys with tls_key, tls_ca and tls_crl_dir behind tls_cert, which is among them.
std::vector<Key> WithTlsKeys(std::vector<Key> keys);

// Returns the files that these keys name, as CompleteTlsFiles does. `node`: stands for %h.
absl::StatusOr<TlsFiles> TlsFilesOf(const Config& config, const std::string& node);

}  // namespace copse::config

#endif  // COPSE_BASE_CONFIG_TLS_KEYS_H_
