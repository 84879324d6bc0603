// SPDX-License-Identifier: Apache-2.0
#ifndef COPSE_RPC_INSECURE_WARNING_H_
#define COPSE_RPC_INSECURE_WARNING_H_

#include <string>
#include <utility>

#include "absl/time/time.h"
#include "base/log.h"

namespace copse::rpc {

// An InsecureWarning reminds administrators that connections are not encrypted. It is silent until Begin.
// Thread-compatible.
class InsecureWarning {
 public:
  static constexpr absl::Duration kEvery = absl::Hours(1);

  // `what` says what follows of it, and where.
  void Begin(absl::Time now, std::string what) {
    what_ = std::move(what);
    due_ = now;
  }
  // Logs a line if it is time to.
  void Tick(absl::Time now) {
    if (now < due_) return;
    due_ = now + kEvery;
    COPSE_LOG(kWarning, "insecure: true: ", what_, "; tls_cert, tls_key and tls_ca end this");
  }
  // Returns when Tick has something to do.
  absl::Time NextDeadline() const { return due_; }

 private:
  std::string what_;
  absl::Time due_ = absl::InfiniteFuture();
};

}  // namespace copse::rpc

#endif  // COPSE_RPC_INSECURE_WARNING_H_
