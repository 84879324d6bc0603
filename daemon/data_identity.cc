// SPDX-License-Identifier: Apache-2.0
#include "daemon/data_identity.h"

#include <cstddef>
#include <utility>

#include "absl/hash/hash.h"
#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "base/status_macros.h"

namespace copse::daemon {

// A Read has the results of the last reading of the files.
struct DataIdentity::Read {
  // Returns nullptr if the files are those of the last reading.
  absl::StatusOr<std::shared_ptr<const emu::TlsIdentity>> Again();

  config::TlsFiles files;
  std::string node;        // in the certificate; empty before the first reading
  size_t fingerprint = 0;  // of the texts in use
  std::string trouble;
  bool was_logged = false;
};

absl::StatusOr<std::shared_ptr<const emu::TlsIdentity>> DataIdentity::Read::Again() {
  ASSIGN_OR_RETURN(const config::TlsTexts texts, config::ReadTlsFiles(files));
  const std::string revoked = texts.revoked();
  const size_t now = absl::HashOf(texts.certificate, texts.key, texts.authorities, revoked);
  if (now == fingerprint && !node.empty()) return nullptr;
  auto identity = emu::TlsIdentity::FromCertificates(texts.certificate, texts.key, texts.authorities, revoked);
  if (!identity.ok()) {
    return absl::Status(identity.status().code(),
                        absl::StrCat("tls_cert: ", identity.status().message(), " (tls_cert=", files.certificate, ")"));
  }
  if (!node.empty() && (*identity)->node() != node) {
    return absl::InvalidArgumentError(absl::StrCat("tls_cert: is another node's (tls_cert=", files.certificate,
                                                   ", its node=", (*identity)->node(), ", node=", node, ")"));
  }
  node = (*identity)->node();
  fingerprint = now;
  return *std::move(identity);
}

absl::StatusOr<std::unique_ptr<DataIdentity>> DataIdentity::Open(const config::TlsFiles& files, Worker* worker,
                                                                 Mailbox* mailbox) {
  std::unique_ptr<DataIdentity> opened(new DataIdentity(worker, mailbox));
  opened->read_ = std::make_shared<Read>(Read{.files = files});
  ASSIGN_OR_RETURN(opened->first_, opened->read_->Again());
  return opened;
}

void DataIdentity::Reread(Use use) {
  worker_->Post([read = read_, mailbox = mailbox_, use = std::move(use)] {
    auto identity = read->Again();
    const std::string trouble(identity.status().message());
    const bool is_old = !trouble.empty() && trouble == read->trouble;
    if (is_old && !std::exchange(read->was_logged, true)) {
      COPSE_LOG(kError, trouble, "; data connections use the files as they were read before");
    }
    if (!is_old) read->was_logged = false;
    read->trouble = trouble;
    if (!identity.ok() || *identity == nullptr) return;
    COPSE_LOG(kInfo, "certificates or revocation lists have changed: data connections use the new ones");
    mailbox->Post([use, identity = *std::move(identity)] { use(identity); });
  });
}

}  // namespace copse::daemon
