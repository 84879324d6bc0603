// SPDX-License-Identifier: Apache-2.0
//
// Says who a server over HTTPS is, and who its clients are.
#ifndef COPSE_CLI_EXPORTER_HTTPS_IDENTITY_H_
#define COPSE_CLI_EXPORTER_HTTPS_IDENTITY_H_

#include <memory>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/config/tls_files.h"
#include "base/mutex.h"
#include "rpc/identity.h"

struct ssl_ctx_st;
struct ssl_st;

namespace copse::exporter {

// An HttpsIdentity shows a program's certificate to clients over HTTPS, and asks them for theirs. Browsers have none,
// so that a client without one is let in, and judged request by request. New files are used for new connections after
// Identity::kRefresh. Thread-safe.
class HttpsIdentity {
 public:
  // Reads the files. Errors: those of rpc::Identity::Open.
  static absl::StatusOr<std::unique_ptr<HttpsIdentity>> Open(const config::TlsFiles& files);
  ~HttpsIdentity();

  // Has the sessions of this context show the certificate. This object must outlive them.
  bool Prepare(ssl_ctx_st* context);
  // Returns OK if the client has a certificate of the cluster, of any role. UNAUTHENTICATED otherwise.
  absl::Status Check(const ssl_st* session) const;

 private:
  struct Shown;

  HttpsIdentity(config::TlsFiles files, std::shared_ptr<const rpc::Identity> identity)
      : files_(std::move(files)), identity_(std::move(identity)) {}
  // Returns what is shown; null if the files have never been readable.
  std::shared_ptr<const Shown> Current();

  const config::TlsFiles files_;
  const std::shared_ptr<const rpc::Identity> identity_;
  Mutex mutex_;
  absl::Time next_read_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
  std::shared_ptr<const Shown> shown_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace copse::exporter

#endif  // COPSE_CLI_EXPORTER_HTTPS_IDENTITY_H_
