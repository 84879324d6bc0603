// SPDX-License-Identifier: Apache-2.0
//
// Attaches a process to its daemon, and holds the socket and the daemon's attributes.
#ifndef COPSE_CLIENT_CONTEXT_ATTACHMENT_H_
#define COPSE_CLIENT_CONTEXT_ATTACHMENT_H_

#include <cstdint>
#include <memory>

#include "client/copse.h"
#include "client/port/control_channel.h"
#include "client/port/port.h"

namespace copse::client {

// An Attachment is written by Attach, before several threads use it, and by Close, after that. In between it is only
// read; its channel is thread-safe.
class Attachment {
 public:
  Attachment() = default;
  Attachment(const Attachment&) = delete;
  Attachment& operator=(const Attachment&) = delete;

  // Reads the environment, connects and attaches. *port is the client's view of the memory that the daemon sent.
  // Errors: INVALID_ARGUMENT; NO_DAEMON; PERMISSION; TIMED_OUT; VERSION with both numbers; the status of a refusal;
  // NO_MEMORY and INTERNAL of Port::Map.
  copse_status_t Attach(const copse_init_params_t& params, std::unique_ptr<Port>* port);
  // Closes the socket.
  void Close() { channel_.reset(); }

  ControlChannel& channel() { return *channel_; }
  const copse_context_attr_t& attr() const { return attr_; }
  const char* node() const { return attr_.node; }
  // Returns COPSE_TIMEOUT, in seconds; negative: none.
  double timeout_s() const { return timeout_s_; }
  // Returns the limit of the memory for copies (COPSE_COPIES_MIB), in bytes; 0: the default.
  uint64_t copies_bytes() const { return copies_bytes_; }

 private:
  std::unique_ptr<ControlChannel> channel_;
  copse_context_attr_t attr_{};
  double timeout_s_ = -1;
  uint64_t copies_bytes_ = 0;
};

}  // namespace copse::client

#endif  // COPSE_CLIENT_CONTEXT_ATTACHMENT_H_
