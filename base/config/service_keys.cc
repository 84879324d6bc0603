// SPDX-License-Identifier: Apache-2.0
#include "base/config/service_keys.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace copse::config {

std::vector<Key> WithTlsKeys(std::vector<Key> keys) {
  const auto certificate =
      std::find_if(keys.begin(), keys.end(), [](const Key& key) { return key.name == "tls_cert"; });
  CHECK(certificate != keys.end());
  keys.insert(
      certificate + 1,
      {{.name = "tls_key", .comment = "PEM file of its private key, readable by its owner only."},
       {.name = "tls_ca", .comment = "PEM file of the authorities whose certificates are believed."},
       {.name = "tls_crl_dir", .comment = "Folder with their revocation lists, PEM. Empty: nothing is revoked."}});
  return keys;
}

std::vector<Key> WithServiceKeys(std::vector<Key> keys) {
  keys = WithTlsKeys(std::move(keys));
  keys.insert(keys.end(),
              {{.name = "core_memory",
                .type = Type::kBool,
                .default_text = "false",
                .comment = "Core dumps hold this program's memory: keys, and parts of messages. For finding an error."},
               {.name = "log_level",
                .default_text = "info",
                .comment = "May change while running.",
                .choices = {"debug", "info", "warning", "error"}},
               {.name = "log_file", .comment = "Empty: standard error. Opened again at SIGHUP."}});
  return keys;
}

absl::StatusOr<TlsFiles> TlsFilesOf(const Config& config, const std::string& node) {
  return CompleteTlsFiles({.certificate = config.Text("tls_cert"),
                           .key = config.Text("tls_key"),
                           .authorities = config.Text("tls_ca"),
                           .revoked = config.Text("tls_crl_dir")},
                          node);
}

}  // namespace copse::config
