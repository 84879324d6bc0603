// SPDX-License-Identifier: Apache-2.0
//
// A client for tests that speaks the attach protocol and writes the rings by hand, so that it can
// also do it wrong.
#ifndef COPSE_DAEMON_SHM_TESTING_RAW_CLIENT_H_
#define COPSE_DAEMON_SHM_TESTING_RAW_CLIENT_H_

#include <cstdint>
#include <cstring>
#include <functional>
#include <optional>
#include <string>

#include "absl/types/span.h"
#include "base/unique_fd.h"
#include "daemon/shm/memory_file.h"
#include "daemon/shm/packet_socket.h"
#include "protocol/attach_protocol.h"
#include "protocol/ring_layout.h"

namespace copse::daemon {

// Waits by calling `turn`, which turns the daemon (or sleeps a little, if that is another process),
// at most 10 s.
class RawClient {
 public:
  RawClient(const std::string& socket, std::function<void()> turn);

  bool connected() const { return socket_.valid(); }
  // An AttachRequest with this ring version and the daemon's defaults.
  static attach::AttachRequest Request();
  // Attaches and maps; the reply's status is 0 if that went well, and 1 if there was none.
  attach::AttachReply Attach(const attach::AttachRequest& request = Request());

  template <typename T>
  bool Send(const T& message, absl::Span<const int> descriptors = {}) {
    return SendMessage(socket_.get(), message, descriptors).ok();
  }
  bool SendRaw(absl::Span<const uint8_t> bytes, absl::Span<const int> descriptors = {}) {
    return SendBytes(socket_.get(), bytes, descriptors).ok();
  }
  // The next message if it is a T of this type; nothing if another comes or the daemon closes.
  template <typename T>
  std::optional<T> Receive(attach::MessageType type) {
    T message;
    if (!ReceiveAny() || !packet_.As(&message) || message.head.type != static_cast<uint32_t>(type)) {
      return std::nullopt;
    }
    return message;
  }
  // True once the daemon has closed; `text` of a Closing before that.
  bool AwaitClose(std::string* text = nullptr);

  // A team's handle; 0 if it failed. Both ends of a one-process team can ask first and await later.
  void AskTeam(uint64_t request, const std::string& name, uint32_t rank, uint32_t size, double timeout_s = 0);
  attach::TeamReady AwaitTeam();

  // --- Rings ---
  ring::PortHeader* header() const { return reinterpret_cast<ring::PortHeader*>(port_.data()); }
  const ring::DaemonPage* page() const { return page_; }
  uint8_t* data() const { return port_.data() + header()->data_offset; }
  const Mapping& port() const { return port_; }
  void Post(const ring::DqSlot& slot);
  void PostNop(uint64_t value);
  std::optional<ring::EqEntry> TryEvent();
  std::optional<ring::EqEntry> AwaitEvent();
  std::string Text(const ring::EqEntry& event) const;
  int doorbell() const { return doorbell_.get(); }

  void Close() { socket_.reset(); }

 private:
  bool ReceiveAny();
  bool Await(const std::function<bool()>& done);

  const std::function<void()> turn_;
  UniqueFd socket_;
  Packet packet_;
  Mapping port_;
  UniqueFd doorbell_;
  const ring::DaemonPage* page_ = nullptr;
  uint64_t dq_tail_ = 0;
  uint64_t eq_head_ = 0;
  ring::Geometry geometry_{};
  uint32_t dq_entries_ = 0;
  uint32_t eq_entries_ = 0;
};

// An allreduce (sum of uint64) of `count` elements from and to the data area's begin.
ring::DqSlot AllreduceSlot(uint32_t team, uint64_t count, uint64_t value);

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_SHM_TESTING_RAW_CLIENT_H_
