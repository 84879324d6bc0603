// SPDX-License-Identifier: Apache-2.0
//
// UCX as a program without Copse would use it. It is a peer, so it shares no code with offload_emu/ucx: the one file
// outside that folder that includes UCX's headers (tools/tidy/tidy.py).
#ifndef COPSE_BENCH_PAIRS_RAW_UCX_H_
#define COPSE_BENCH_PAIRS_RAW_UCX_H_

#include <ucp/api/ucp.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "base/unique_fd.h"

namespace copse::bench {

// Returns UNAVAILABLE unless `status` is UCS_OK; `what` names the operation.
absl::Status CheckUcx(ucs_status_t status, const char* what);

// Returns whether the request is null or complete. A complete request is freed and set to null.
bool UcxDone(void** request);

struct RawUcxOptions {
  const char* rendezvous_from = "inf";  // bytes, as UCX's setting RNDV_THRESH; "inf": never
  uint64_t features = 0;                // beside active messages and waking up
};

// A RawUcx is a worker with one endpoint, to the other process of a pair, over TCP on loopback.
//
// Calls follow Open, SetHandler for each id of messages, Address, Connect, then the others in any order.
// Thread-compatible.
class RawUcx {
 public:
  RawUcx() = default;
  ~RawUcx();
  RawUcx(const RawUcx&) = delete;
  RawUcx& operator=(const RawUcx&) = delete;

  absl::Status Open(const RawUcxOptions& options);
  absl::Status SetHandler(unsigned id, ucp_am_recv_callback_t handler, void* argument);
  // Returns the worker's address, or an empty string if UCX has none.
  std::string Address() const;
  // Connects to the other process; `address` is the result of its Address().
  absl::Status Connect(const char* address);
  // Closes the endpoint, if there is one. Handlers may be called meanwhile.
  void Disconnect();

  // Sends an active message. Header and data must stay valid until UcxDone(request) is true.
  absl::Status Send(unsigned id, const void* header, size_t header_bytes, const void* data, size_t bytes,
                    bool rendezvous, void** request);
  // Makes progress. Returns false if there was nothing to do.
  bool Progress() { return ucp_worker_progress(worker_) > 0; }
  // Sleeps until the worker has an event, or for 100 ms, as the daemon does to bound the cost of a lost wake-up.
  absl::Status Sleep();

  // The endpoint is down from its first error on, or after a handler has called Fail.
  void Fail(ucs_status_t status) { down_ = status; }
  bool down() const { return down_ != UCS_OK; }
  absl::Status PeerStatus() const { return CheckUcx(down_, "peer"); }

  ucp_context_h context() const { return context_; }
  ucp_worker_h worker() const { return worker_; }
  ucp_ep_h endpoint() const { return endpoint_; }

 private:
  static void OnError(void* argument, ucp_ep_h, ucs_status_t status) { static_cast<RawUcx*>(argument)->Fail(status); }

  ucp_context_h context_ = nullptr;
  ucp_worker_h worker_ = nullptr;
  ucp_ep_h endpoint_ = nullptr;
  UniqueFd epoll_;
  ucs_status_t down_ = UCS_OK;
};

}  // namespace copse::bench

#endif  // COPSE_BENCH_PAIRS_RAW_UCX_H_
