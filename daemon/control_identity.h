// SPDX-License-Identifier: Apache-2.0
//
// Holds the identity by which a daemon talks to the planner and administrators.
#ifndef COPSE_DAEMON_CONTROL_IDENTITY_H_
#define COPSE_DAEMON_CONTROL_IDENTITY_H_

#include <memory>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "daemon/settings.h"
#include "rpc/identity.h"
#include "rpc/insecure_warning.h"

namespace copse::daemon {

// A ControlIdentity is what the certificate files say, or nothing. gRPC watches the files itself; this tells when to
// look at them for what gRPC does not do, and warns of connections without an identity. Thread-compatible.
class ControlIdentity {
 public:
  // Returns an error of the certificate files, if they are configured, that would keep a daemon from starting. It names
  // the key and the file.
  static absl::Status Check(const Settings& settings);

  // Errors: as Check.
  absl::Status Open(const Settings& settings, absl::Time now);
  const std::shared_ptr<const rpc::Identity>& identity() const { return identity_; }  // null: no TLS for gRPC

  // Returns whether it is time to read the files again. Logs what is to be said now.
  bool Tick(absl::Time now);
  absl::Time NextDeadline() const;

 private:
  std::shared_ptr<const rpc::Identity> identity_;
  absl::Time next_look_ = absl::InfiniteFuture();
  rpc::InsecureWarning insecure_warning_;
};

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_CONTROL_IDENTITY_H_
