// SPDX-License-Identifier: Apache-2.0
#include "offload_emu/tcp/write_queue.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace copse::emu {
namespace {

// So many pieces are written at once: a few frames, each of which has three.
constexpr size_t kPartsMax = 16;

}  // namespace

uint8_t* WriteQueue::Append(size_t bytes) {
  const size_t begin = own_.size();
  own_.resize(begin + bytes);
  backlog_ += bytes;
  if (first_piece_ < pieces_.size() && pieces_.back().lent == nullptr) {
    pieces_.back().bytes += bytes;
  } else {
    pieces_.push_back({.bytes = bytes});
  }
  return own_.data() + begin;
}

void WriteQueue::AppendLent(absl::Span<const uint8_t> bytes) {
  pieces_.push_back({.lent = bytes.data(), .bytes = bytes.size()});
  backlog_ += bytes.size();
  ++lent_;
}

absl::Status WriteQueue::WriteTo(int fd) {
  while (backlog_ > 0) {
    iovec parts[kPartsMax];
    msghdr message{};
    message.msg_iov = parts;
    const uint8_t* own = own_.data() + own_taken_;
    size_t room = packet_bytes_max_;
    for (size_t i = first_piece_; i < pieces_.size() && message.msg_iovlen < kPartsMax && room > 0; ++i) {
      const Piece& piece = pieces_[i];
      const size_t part = std::min(piece.bytes, room);
      parts[message.msg_iovlen++] = {const_cast<uint8_t*>(piece.lent != nullptr ? piece.lent : own), part};
      if (piece.lent == nullptr) own += piece.bytes;
      room -= part;
    }
    // The end of a record ends a packet.
    const int end = packet_bytes_max_ == kUnlimited ? 0 : MSG_EOR;
    const ssize_t bytes = sendmsg(fd, &message, MSG_NOSIGNAL | end);
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes < 0 && errno == EAGAIN) break;
    if (bytes < 0) return absl::UnavailableError(absl::StrCat("send: ", std::strerror(errno)));
    Taken(static_cast<size_t>(bytes));
  }
  return absl::OkStatus();
}

void WriteQueue::Taken(size_t bytes) {
  backlog_ -= bytes;
  taken_ += bytes;
  while (bytes > 0) {
    Piece& piece = pieces_[first_piece_];
    const size_t part = std::min(bytes, piece.bytes);
    bytes -= part;
    piece.bytes -= part;
    if (piece.lent != nullptr) {
      piece.lent += part;
    } else {
      own_taken_ += part;
    }
    if (piece.bytes > 0) return;
    lent_ -= piece.lent != nullptr ? 1 : 0;
    ++first_piece_;
  }
  if (backlog_ == 0) Clear();
}

void WriteQueue::Clear() {
  ClearAndShrink(&own_);
  pieces_.clear();
  own_taken_ = first_piece_ = backlog_ = lent_ = 0;
}

}  // namespace copse::emu
