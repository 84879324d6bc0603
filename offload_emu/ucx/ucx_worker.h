// SPDX-License-Identifier: Apache-2.0
//
// Opens and closes UCX's context and worker.
#ifndef COPSE_OFFLOAD_EMU_UCX_UCX_WORKER_H_
#define COPSE_OFFLOAD_EMU_UCX_UCX_WORKER_H_

#include <ucp/api/ucp.h>

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace copse::emu {

// A UcxWorker owns a UCX context and, once it is open, a worker for active messages, which can wake a thread that waits
// for event_fd(). UCX listens for peers from the moment when it is open. Single-threaded. Endpoints of the worker must
// be closed before it is destroyed.
class UcxWorker {
 public:
  // Uses UCX's own configuration (its environment) with `tls` and `net_devices` in place of UCX_TLS and
  // UCX_NET_DEVICES, if they are not empty, and without rendezvous, since frames are small. Sets UCX_TCP_CONN_NB,
  // and UCX_POSIX_ERROR_HANDLING and UCX_SYSV_ERROR_HANDLING if shared memory may be used, to y in the process's
  // environment where they are not set, so call it before other threads read the environment. Errors: UCX's,
  // converted by UcxToStatus.
  static absl::StatusOr<std::unique_ptr<UcxWorker>> Create(const std::string& tls, const std::string& net_devices);
  UcxWorker(const UcxWorker&) = delete;
  UcxWorker& operator=(const UcxWorker&) = delete;
  ~UcxWorker();

  // Idempotent. Errors: as Create; it may be tried again.
  absl::Status Open();
  bool is_open() const { return event_fd_ >= 0; }

  ucp_worker_h get() const { return worker_; }             // requires that it is open
  const std::string& address() const { return address_; }  // in UCX's encoding; empty before Open
  int event_fd() const { return event_fd_; }               // -1 before Open

 private:
  UcxWorker() = default;
  absl::Status ReadAddress();

  ucp_context_h context_ = nullptr;
  ucp_worker_h worker_ = nullptr;
  std::string address_;
  int event_fd_ = -1;
};

}  // namespace copse::emu

#endif  // COPSE_OFFLOAD_EMU_UCX_UCX_WORKER_H_
