// SPDX-License-Identifier: Apache-2.0
//
// Implements the client's side of the attach socket (attach_protocol.h): requests, answers, and detecting that the
// daemon is gone.
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

// A ControlChannel owns the attach socket. Several threads may wait for answers at once, for example while two teams
// are forming; one of them reads the socket for all. Thread-safe, except where a function says otherwise.
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
  // A forked child may hold the socket open, so only shutdown lets the daemon detect that this process has left.
  ~ControlChannel() {
    if (socket_.valid()) shutdown(socket_.get(), SHUT_RDWR);
  }

  // Sends `message` (a struct of attach_protocol.h whose head is filled in here), with a descriptor unless `fd` is
  // negative, and waits for the answer of type `answer_type`. Errors: NO_DAEMON if the daemon is gone or does not speak
  // this protocol; TIMED_OUT. If the time is over, a team whose answer comes later is left at once.
  template <typename Message>
  copse_status_t Ask(attach::MessageType type, Message message, attach::MessageType answer_type, Deadline deadline,
                     Answer* answer, int fd = -1) {
    static_assert(sizeof(Message) <= attach::kMessageBytesMax);
    return AskBytes(type, &message, sizeof(message), answer_type, deadline, answer, fd);
  }

  // Sends a message that the daemon does not answer. If the daemon is gone, the message is dropped.
  template <typename Message>
  void Tell(attach::MessageType type, Message message) {
    TellBytes(type, &message, sizeof(message));
  }

  // Handles the messages that have come, without blocking. Returns false if the daemon is gone.
  bool Poll();

  // Closes a forked child's copy of the socket without a lock; nothing else may be called afterwards.
  void CloseInChild() { socket_ = FileDescriptor(); }

  // Returns the reason that the daemon gave for closing; empty if it gave none.
  std::string closing_text() const;

  // Sets the node's name for error messages. It is called only before several threads use this object.
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
  // Reads and dispatches messages until none is left; sets closed_ if the socket is closed or broken.
  void ReadAll();
  void Dispatch(Answer* message);
  copse_status_t FailClosed();

  FileDescriptor socket_;
  std::string node_;  // set before there are several threads

  mutable std::mutex mutex_;  // guards all members below
  std::condition_variable news_;
  std::map<uint64_t, Pending*> pending_;
  uint64_t next_request_ = 1;
  bool reading_ = false;  // a thread is in poll(2) on the socket
  bool closed_ = false;
  std::string closing_text_;
};

}  // namespace copse::client

#endif  // COPSE_CLIENT_PORT_CONTROL_CHANNEL_H_
