// SPDX-License-Identifier: Apache-2.0
//
// Serves this node's clients: their sockets, sessions and pages.
#ifndef COPSE_DAEMON_CLIENT_SERVICE_H_
#define COPSE_DAEMON_CLIENT_SERVICE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/clock.h"
#include "base/ids.h"
#include "daemon/core/calls/instruments.h"
#include "daemon/core/daemon_core.h"
#include "daemon/loop/poller.h"
#include "daemon/settings.h"
#include "daemon/shm/attach_server.h"
#include "daemon/shm/daemon_pages.h"

namespace copse::daemon {

// Returns the number of clients that the limit of open files allows, after raising it as far as possible.
uint32_t ClientsMax(uint32_t wanted);

// ClientServiceParts are the parts of the daemon that a ClientService uses. All must outlive it.
struct ClientServiceParts {
  const Clock* clock = nullptr;
  Poller* poller = nullptr;
  DaemonCore* core = nullptr;
  Instruments* instruments = nullptr;
};

// A ClientService owns the server that clients attach to, and the pages that tell them how the daemon is. All calls
// come from the loop's thread.
class ClientService {
 public:
  // Listens on the sockets that systemd has passed, and on those of the settings. Errors: those of ListenOn for the
  // first name, or if no socket listens; the poller's.
  static absl::StatusOr<std::unique_ptr<ClientService>> Open(const ClientServiceParts& parts, const Settings& settings,
                                                             Incarnation self);
  ClientService(const ClientService&) = delete;
  ClientService& operator=(const ClientService&) = delete;

  // A turn of the loop begins; the loop is about to sleep, or is awake again.
  void CountTurn() { pages_.CountTurn(); }
  void SetSleeping(bool sleeping) { pages_.SetSleeping(sleeping); }
  AttachServer& server() { return server_; }
  void AppendCounters(std::map<std::string, uint64_t>* counters) const;

 private:
  ClientService(const ClientServiceParts& parts, const AttachOptions& options)
      : pages_(options.incarnation), server_(parts.clock, parts.poller, parts.core, &pages_, options) {}
  absl::Status Listen(const Settings& settings);

  DaemonPages pages_;
  AttachServer server_;
};

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_CLIENT_SERVICE_H_
