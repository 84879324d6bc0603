// SPDX-License-Identifier: Apache-2.0
#include "daemon/data_transport.h"

#include <sys/epoll.h>

#include <utility>

#include "base/log.h"
#include "base/status_macros.h"
#include "daemon/data_address.h"
#include "offload_emu/ucx/ucx_transport.h"

namespace copse::daemon {

absl::StatusOr<std::unique_ptr<DataTransport>> DataTransport::Open(const DataTransportParts& parts,
                                                                   const Settings& settings, Incarnation self) {
  std::unique_ptr<DataTransport> network(new DataTransport(parts.poller, LeastMtu(settings.transport.net_devices)));
  if (settings.transport.uses_tcp) {
    RETURN_IF_ERROR(network->OpenTcp(parts, settings, self));
  } else {
    emu::UcxTransportOptions options;
    options.net_devices = settings.transport.net_devices;
    options.tls = settings.transport.ucx_tls;
    ASSIGN_OR_RETURN(network->transport_, emu::UcxTransport::Create(options));
  }
  RETURN_IF_ERROR(network->Watch());
  return network;
}

absl::Status DataTransport::OpenTcp(const DataTransportParts& parts, const Settings& settings, Incarnation self) {
  ASSIGN_OR_RETURN(identity_, DataIdentity::Open(settings.tls, parts.worker, parts.mailbox));
  emu::TcpTransportOptions options;
  options.address = settings.transport.tcp_address;
  options.self = self;
  options.identity = identity_->first();
  options.encrypt = settings.encrypts_data;
  options.dscp = settings.dscp;
  ASSIGN_OR_RETURN(std::unique_ptr<emu::TcpTransport> opened, emu::TcpTransport::Create(parts.clock, options));
  tcp_ = opened.get();
  transport_ = std::move(opened);
  return absl::OkStatus();
}

absl::Status DataTransport::Watch() {
  const int event_fd = transport_->event_fd();
  if (event_fd == std::exchange(watched_, event_fd)) return absl::OkStatus();
  return poller_->Watch(event_fd, EPOLLIN, [this](uint32_t) { ++wakes_; });
}

bool DataTransport::Arm() {
  if (const absl::Status watched = Watch(); !watched.ok()) COPSE_LOG(kError, "network: ", watched.message());
  const absl::StatusOr<bool> armed = transport_->Arm();
  if (!armed.ok()) COPSE_LOG(kError, "network: ", armed.status().message());
  return !armed.ok() || *armed;
}

void DataTransport::RereadIdentity() {
  if (identity_ == nullptr) return;
  identity_->Reread(
      [this](std::shared_ptr<const emu::TlsIdentity> identity) { tcp_->UseIdentity(std::move(identity)); });
}

void DataTransport::AppendCounters(std::map<std::string, uint64_t>* counters) const {
  (*counters)["loop.wakes.network"] = wakes_;
  (*counters)["data.mtu_bytes"] = mtu_bytes_;
  if (tcp_ == nullptr) return;
  const emu::TcpTransportCounts& wire = tcp_->counts();
  (*counters)["wire.connected"] = wire.connected;
  (*counters)["wire.reconnected"] = wire.reconnected;
  (*counters)["wire.refused"] = wire.refused;
  (*counters)["wire.dropped"] = wire.dropped;
}

}  // namespace copse::daemon
