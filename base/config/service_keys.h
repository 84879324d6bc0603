// SPDX-License-Identifier: Apache-2.0
//
// Defines the keys that several programs have.
#ifndef COPSE_BASE_CONFIG_SERVICE_KEYS_H_
#define COPSE_BASE_CONFIG_SERVICE_KEYS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/config/config.h"
#include "base/config/tls_files.h"

namespace copse::config {

// Returns the keys with tls_key, tls_ca and tls_crl_dir behind tls_cert, which is among them.
std::vector<Key> WithTlsKeys(std::vector<Key> keys);

// Returns the keys of a daemon or planner: with those of WithTlsKeys, and core_memory, log_level and log_file at the
// end.
std::vector<Key> WithServiceKeys(std::vector<Key> keys);

// Returns the files that the keys of TLS name, as CompleteTlsFiles does. `node`: stands for %h.
absl::StatusOr<TlsFiles> TlsFilesOf(const Config& config, const std::string& node);

}  // namespace copse::config

#endif  // COPSE_BASE_CONFIG_SERVICE_KEYS_H_
