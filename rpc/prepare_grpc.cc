// SPDX-License-Identifier: Apache-2.0
#include "rpc/prepare_grpc.h"

#include <openssl/crypto.h>
#include <openssl/ssl.h>

#include <grpc/support/log.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <ctime>

#include "absl/synchronization/mutex.h"
#include "base/log.h"

namespace copse::rpc {
namespace {

constexpr char kHandshakeFailed[] = "Handshake failed";
constexpr int64_t kWarnEverySeconds = 60;

std::atomic<int64_t> next_warning_s = 0;

// Returns whether this is the first failure for a while.
bool IsDue() {
  timespec now = {};
  clock_gettime(CLOCK_MONOTONIC, &now);
  int64_t next = next_warning_s.load(std::memory_order_relaxed);
  return now.tv_sec >= next && next_warning_s.compare_exchange_strong(next, now.tv_sec + kWarnEverySeconds);
}

void Write(gpr_log_func_args* args) {
  if (std::strncmp(args->message, kHandshakeFailed, sizeof(kHandshakeFailed) - 1) == 0 && IsDue()) {
    const bool plain = std::strstr(args->message, "wrong version number") != nullptr ||
                       std::strstr(args->message, "http request") != nullptr;
    COPSE_LOG(kWarning, "a connection is refused: ", plain ? "the other side does not speak TLS (wanted=TLS): " : "",
              args->message);
    return;
  }
  COPSE_LOG(kDebug, "gRPC: ", args->message);
}

// Called for each TLS connection that is made.
void SendNoTickets(void* connection, void*, CRYPTO_EX_DATA*, int, long, void*) {  // NOLINT(google-runtime-int)
  SSL_set_num_tickets(static_cast<SSL*>(connection), 0);
}

}  // namespace

void PrepareGrpc() {
  gpr_set_log_function(&Write);
  // Distributions leave Abseil's search for deadlocks on: it follows gRPC's locks in a graph, which is a tenth of a
  // planner's processor time with many daemons.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  // gRPC's clients resume no sessions, but its servers would make two tickets at each handshake, a seventh of what
  // a client's coming costs them, and gRPC has no option against it.
  SSL_get_ex_new_index(0, nullptr, &SendNoTickets, nullptr, nullptr);
  // gRPC's threads may still close TLS connections while the program exits, and would use what OpenSSL frees then.
  OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT, nullptr);
}

}  // namespace copse::rpc
