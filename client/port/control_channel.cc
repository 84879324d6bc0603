// SPDX-License-Identifier: Apache-2.0

#include "client/port/control_channel.h"

#include <poll.h>
#include <sys/socket.h>

#include <cerrno>

#include "client/port/error.h"
#include "client/port/log.h"
#include "client/port/on_exit.h"

namespace copse::client {
namespace {

constexpr std::chrono::milliseconds kPollSlice{100};

}  // namespace

bool ControlChannel::Send(const void* message, size_t bytes, int fd) {
  iovec part{const_cast<void*>(message), bytes};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  if (fd >= 0) {
    header.msg_control = control;
    header.msg_controllen = sizeof(control);
    cmsghdr* rights = CMSG_FIRSTHDR(&header);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(rights), &fd, sizeof(fd));
  }
  ssize_t sent;
  do {
    sent = sendmsg(socket_.get(), &header, MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  return sent == static_cast<ssize_t>(bytes);
}

copse_status_t ControlChannel::AskBytes(attach::MessageType type, void* message, size_t bytes,
                                        attach::MessageType answer_type, Deadline deadline, Answer* answer, int fd) {
  Pending pending{answer_type, answer};
  std::unique_lock<std::mutex> lock(mutex_);
  const uint64_t request = next_request_++;
  const attach::MessageHead head{attach::kMagic, static_cast<uint32_t>(type), request};
  memcpy(message, &head, sizeof(head));
  if (closed_) return FailClosed();
  pending_[request] = &pending;
  const OnExit forget([&] { pending_.erase(request); });
  if (!Send(message, bytes, fd)) {
    ReadAll();  // the daemon may have sent the reason, or have refused before it was asked
    closed_ = true;
    news_.notify_all();
    return pending.done ? COPSE_OK : FailClosed();
  }
  while (!pending.done) {
    if (closed_) return FailClosed();
    if (Clock::now() >= deadline)
      return Fail(COPSE_ERR_TIMED_OUT, "the daemon has not answered in time (node=%s)", node_.c_str());
    if (reading_) {
      news_.wait_until(lock, Slice(deadline, kPollSlice));
      continue;
    }
    reading_ = true;
    lock.unlock();
    pollfd wait{socket_.get(), POLLIN, 0};
    poll(&wait, 1, MillisecondsUntil(Slice(deadline, kPollSlice)));
    lock.lock();
    reading_ = false;
    ReadAll();
    news_.notify_all();
  }
  return COPSE_OK;
}

void ControlChannel::TellBytes(attach::MessageType type, void* message, size_t bytes) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (closed_) return;
  const attach::MessageHead head{attach::kMagic, static_cast<uint32_t>(type), attach::kNoAnswer};
  memcpy(message, &head, sizeof(head));
  if (!Send(message, bytes, -1)) closed_ = true;
}

bool ControlChannel::Poll() {
  std::lock_guard<std::mutex> lock(mutex_);
  if (!closed_) {
    ReadAll();
    news_.notify_all();
  }
  return !closed_;
}

void ControlChannel::ReadAll() {
  while (!closed_) {
    Answer incoming;
    iovec part{incoming.message.data(), incoming.message.size()};
    alignas(cmsghdr) char control[CMSG_SPACE(kDescriptorsMax * sizeof(int))] = {};
    msghdr header{};
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    header.msg_control = control;
    header.msg_controllen = sizeof(control);
    const ssize_t bytes = recvmsg(socket_.get(), &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    // A daemon that closes without having read everything resets the connection; what it sent can still be read.
    if (bytes < 0 && (errno == EINTR || errno == ECONNRESET)) continue;
    if (bytes < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
    if (bytes <= 0) {
      closed_ = true;
      return;
    }
    int received = 0;
    for (cmsghdr* part_of = CMSG_FIRSTHDR(&header); part_of != nullptr; part_of = CMSG_NXTHDR(&header, part_of)) {
      if (part_of->cmsg_level != SOL_SOCKET || part_of->cmsg_type != SCM_RIGHTS) continue;
      const size_t count = (part_of->cmsg_len - CMSG_LEN(0)) / sizeof(int);
      for (size_t i = 0; i < count; ++i) {
        int fd = -1;
        memcpy(&fd, CMSG_DATA(part_of) + i * sizeof(int), sizeof(int));
        FileDescriptor descriptor(fd);
        if (received < kDescriptorsMax) incoming.descriptors[static_cast<size_t>(received++)] = std::move(descriptor);
      }
    }
    incoming.bytes = static_cast<size_t>(bytes);
    Dispatch(&incoming);
  }
}

void ControlChannel::Dispatch(Answer* message) {
  const attach::MessageHead head = message->As<attach::MessageHead>();
  if (message->bytes < sizeof(head) || head.magic != attach::kMagic) {
    Log(LogLevel::kError, "the daemon on node %s does not speak the attach protocol (bytes=%zu, magic=0x%x)",
        node_.c_str(), message->bytes, head.magic);
    closed_ = true;
    return;
  }
  const auto type = static_cast<attach::MessageType>(head.type);
  if (type == attach::MessageType::kClosing) {
    const auto closing = message->As<attach::Closing>();
    closing_text_.assign(closing.text, strnlen(closing.text, sizeof(closing.text)));
    Log(LogLevel::kWarning, "the daemon on node %s is closing: %s", node_.c_str(), closing_text_.c_str());
    return;
  }
  auto found = pending_.find(head.request);
  // A daemon without room refuses before it has read the request, of which there is only one then.
  if (type == attach::MessageType::kAttachReply && head.request == attach::kNoAnswer) found = pending_.begin();
  if (found != pending_.end() && found->second->answer_type == type) {
    *found->second->answer = std::move(*message);
    found->second->done = true;
    pending_.erase(found);
    return;
  }
  // The thread that asked has timed out, so the team that is ready now has no owner and is left.
  if (type == attach::MessageType::kTeamReady) {
    const auto ready = message->As<attach::TeamReady>();
    if (ready.status != COPSE_OK) return;
    const attach::TeamDestroy destroy{
        {attach::kMagic, static_cast<uint32_t>(attach::MessageType::kTeamDestroy), attach::kNoAnswer}, ready.handle, 0};
    if (!Send(&destroy, sizeof(destroy), -1)) closed_ = true;
  }
}

copse_status_t ControlChannel::FailClosed() {
  if (closing_text_.empty()) return Fail(COPSE_ERR_NO_DAEMON, "the daemon went away (node=%s)", node_.c_str());
  return Fail(COPSE_ERR_NO_DAEMON, "the daemon closed: %s (node=%s)", closing_text_.c_str(), node_.c_str());
}

std::string ControlChannel::closing_text() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return closing_text_;
}

}  // namespace copse::client
