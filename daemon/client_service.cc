// SPDX-License-Identifier: Apache-2.0
#include "daemon/client_service.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/process/open_files.h"
#include "base/status_macros.h"
#include "base/unique_fd.h"
#include "daemon/shm/early_totals.h"
#include "daemon/shm/listen_socket.h"

namespace copse::daemon {
namespace {

// Descriptors that belong to no client, temporary ones included, and those that one client takes (socket, pidfd,
// doorbell, and the page if it is its user's only client).
constexpr uint64_t kOwnDescriptors = 128;
constexpr uint64_t kDescriptorsPerClient = 4;
// Limits the wait for the planner's report about a team that is not formed in time.
constexpr absl::Duration kPlannersAnswer = absl::Seconds(5);

}  // namespace

uint32_t ClientsMax(uint32_t wanted) {
  const uint64_t descriptors = RaiseOpenFiles();
  const uint64_t possible = descriptors <= kOwnDescriptors
                                ? 1
                                : std::max<uint64_t>(1, (descriptors - kOwnDescriptors) / kDescriptorsPerClient);
  if (possible >= wanted) return wanted;
  COPSE_LOG(kWarning, "the limit of open files allows fewer clients (clients_max=", wanted, ", limit=", possible,
            ", open_files=", descriptors, ")");
  return static_cast<uint32_t>(possible);
}

absl::StatusOr<std::unique_ptr<ClientService>> ClientService::Open(const ClientServiceParts& parts,
                                                                   const Settings& settings, Incarnation self) {
  AttachOptions options;
  options.node = settings.node;
  options.incarnation = self;
  options.clients_max = settings.clients_max;
  options.mute_max = std::clamp<uint32_t>(options.clients_max / 2, 8, options.mute_max);
  options.ports_bytes_max = settings.client_memory_limit_bytes;
  options.formation_timeout = settings.team_formation_timeout + kPlannersAnswer;
  options.instruments = parts.instruments;
  std::unique_ptr<ClientService> service(new ClientService(parts, options));
  RETURN_IF_ERROR(service->Listen(settings));
  return service;
}

absl::Status ClientService::Listen(const Settings& settings) {
  ASSIGN_OR_RETURN(std::vector<UniqueFd> passed, SocketsFromSystemd());
  const bool has_passed = !passed.empty();
  bool listens = has_passed;
  absl::Status trouble;
  for (UniqueFd& socket : passed) RETURN_IF_ERROR(server_.AddListener(std::move(socket)));
  for (const std::string& name : settings.sockets) {
    if (has_passed && name[0] != '@') continue;  // systemd has passed this socket
    absl::StatusOr<UniqueFd> socket = ListenOn(name);
    if (socket.ok()) {
      RETURN_IF_ERROR(server_.AddListener(*std::move(socket)));
      listens = true;
      continue;
    }
    // If the first name fails, in particular since another daemon of this node has it, this one must not start. But any
    // user can take an abstract name (PERMISSION_DENIED), which must not leave the node without a daemon.
    const bool first = &name == &settings.sockets.front();
    if (first && !absl::IsPermissionDenied(socket.status())) return socket.status();
    COPSE_LOG(kWarning, socket.status().message());
    trouble.Update(socket.status());
  }
  return listens ? absl::OkStatus() : trouble;
}

void ClientService::AppendCounters(std::map<std::string, uint64_t>* counters) const {
  (*counters)["quota.orphans"] = server_.orphans();
  (*counters)["loop.wakes.doorbell"] = server_.doorbells();
  (*counters)["clients.waited"] = server_.errands_kept();
  server_.early_totals().AppendCounters(counters);
}

}  // namespace copse::daemon
