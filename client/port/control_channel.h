// SPDX-License-Identifier: Apache-2.0
//
// The client's end of the attach socket (attach_protocol.h): requests and answers, and the daemon's end.
#ifndef COPSE_CLIENT_PORT_CONTROL_CHANNEL_H_
#define COPSE_CLIENT_PORT_CONTROL_CHANNEL_H_

#include <sys/socket.h>

#include <array>
#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <map>
#include <mutex>
#include <string>

#include "client/copse.h"
#include "client/port/deadline.h"
#include "client/port/file_descriptor.h"
#include "protocol/attach_protocol.h"

namespace copse::client {

// Several threads may ask at once (two teams may be forming, in either order): the thread that waits first reads the
// socket for all. Thread-safe.
class ControlChannel {
 public:
  static constexpr int kDescriptorsMax = 3;

  struct Answer {
    size_t bytes = 0;
    alignas(8) std::array<uint8_t, attach::kMessageBytesMax> message{};
    std::array<FileDescriptor, kDescriptorsMax> descriptors;

    // Returns the answer as a T; fields that an older daemon does not send are zero.
    template <typename T>
    T As() const {
      T result{};
      memcpy(&result, message.data(), sizeof(T));
      return result;
    }
  };

  explicit ControlChannel(FileDescriptor socket) : socket_(std::move(socket)) {}
  // A forked child may hold the socket open, so the daemon would not notice a mere close.
  ~ControlChannel() {
    if (socket_.valid()) shutdown(socket_.get(), SHUT_RDWR);
  }

  // Sends `message` (a struct of attach_protocol.h whose head this fills in), with a descriptor unless `fd` is
  // negative, and waits for the answer of type `answer_type`. Errors: NO_DAEMON if the daemon is gone or does not speak
  // this protocol; TIMED_OUT.
  template <typename Message>
  copse_status_t Ask(attach::MessageType type, Message message, attach::MessageType answer_type, Deadline deadline,
                     Answer* answer, int fd = -1) {
    static_assert(sizeof(Message) <= attach::kMessageBytesMax);
    return AskBytes(type, &message, sizeof(message), answer_type, deadline, answer, fd);
  }

  // Sends a message that the daemon does not answer.
  template <typename Message>
  void Tell(attach::MessageType type, Message message) {
    TellBytes(type, &message, sizeof(message));
  }

  // Reads what has come, without blocking. Returns false once the daemon is gone.
  bool Poll();

  // Closes a forked child's copy without touching a lock; nothing else may be called afterwards.
  void CloseInChild() { socket_ = FileDescriptor(); }

  // Returns the reason that the daemon gave for closing; may be empty.
  std::string closing_text() const;

  // The node is named in error messages.
  void set_node(const std::string& node) { node_ = node; }
  const std::string& node() const { return node_; }

 private:
  struct Pending {
    attach::MessageType answer_type;
    Answer* answer;
    bool done = false;
  };

  copse_status_t AskBytes(attach::MessageType type, void* message, size_t bytes, attach::MessageType answer_type,
                          Deadline deadline, Answer* answer, int fd);
  void TellBytes(attach::MessageType type, void* message, size_t bytes);
  bool Send(const void* message, size_t bytes, int fd);
  // Reads and dispatches until nothing is left; sets closed_.
  void ReadAll();
  void Dispatch(Answer* message);
  copse_status_t FailClosed();

  FileDescriptor socket_;
  std::string node_;  // set before there are several threads

  mutable std::mutex mutex_;  // guards what follows
  std::condition_variable news_;
  std::map<uint64_t, Pending*> pending_;
  uint64_t next_request_ = 1;
  bool reading_ = false;  // a thread is in poll(2) on the socket
  bool closed_ = false;
  std::string closing_text_;
};

}  // namespace copse::client

#endif  // COPSE_CLIENT_PORT_CONTROL_CHANNEL_H_
