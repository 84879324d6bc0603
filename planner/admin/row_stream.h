// SPDX-License-Identifier: Apache-2.0
//
// Sends lists in pieces, so that none of them keeps the planner's thread for long.
#ifndef COPSE_PLANNER_ADMIN_ROW_STREAM_H_
#define COPSE_PLANNER_ADMIN_ROW_STREAM_H_

#include <google/protobuf/message.h>
#include <google/protobuf/unknown_field_set.h>
#include <grpcpp/support/server_callback.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "planner/threads/task_queue.h"
#include "planner/threads/task_thread.h"

namespace copse::planner {

// A piece ends after the row at which it has taken this time, or has this many bytes.
inline constexpr absl::Duration kPieceTimeMax = absl::Milliseconds(5);
inline constexpr size_t kPieceBytesMax = size_t{256} << 10;

// A RowSource adds the next row to the reply, or skips one, and returns the row's bytes, at least 1. Returns 0 if there
// are no more rows. The planner's thread calls it.
template <typename Reply>
using RowSource = std::function<size_t(Reply*)>;

// Adds the rows of one piece. Returns whether there may be more.
template <typename Reply>
bool AddPiece(const RowSource<Reply>& source, Reply* reply) {
  const absl::Time end = absl::Now() + kPieceTimeMax;
  size_t bytes = 0;
  while (const size_t row = source(reply)) {
    bytes += row;
    if (bytes >= kPieceBytesMax || absl::Now() >= end) return true;
  }
  return false;
}

// Adds a row that is encoded already to the reply's repeated field of rows, and returns its bytes. A field that is
// unknown is written as it is, and readers know this one.
inline size_t AddEncodedRow(std::string row, int field, google::protobuf::Message* reply) {
  const size_t bytes = row.size();
  *reply->GetReflection()->MutableUnknownFields(reply)->AddLengthDelimited(field) = std::move(row);
  return bytes;
}

// An OpenCall is an RPC that has no final status yet. The planner's thread calls its functions.
class OpenCall {
 public:
  virtual ~OpenCall() = default;
  virtual void End(const grpc::Status& status) = 0;  // called once
};

// A RowStream is one call that is answered by a stream of pieces. The next piece is made when the one before has been
// written, so that a caller who does not read costs the memory of one. gRPC's threads call its reactions, and the
// planner's thread the other functions.
template <typename Reply>
class RowStream final : public grpc::ServerWriteReactor<Reply>, public OpenCall {
 public:
  // `on_end` is called on the planner's thread when the stream ends by itself, or its caller is gone; End has to
  // follow.
  RowStream(TaskQueue* queue, TaskThread* sender, std::function<void(const grpc::Status&)> on_end)
      : queue_(queue), sender_(sender), on_end_(std::move(on_end)) {}

  void Begin(RowSource<Reply> source) {
    source_ = std::move(source);
    Next();
  }

  void End(const grpc::Status& status) override {
    source_ = nullptr;
    if (is_writing_) {
      ended_ = status;
    } else {
      this->Finish(status);
    }
  }

  void OnWriteDone(bool ok) override {
    queue_->Post([this, ok] {
      is_writing_ = false;
      if (ended_.has_value()) return this->Finish(*ended_);
      if (!ok) return on_end_(grpc::Status::CANCELLED);
      Next();
    });
  }
  void OnCancel() override {
    queue_->Post([this] { on_end_(grpc::Status::CANCELLED); });
  }
  void OnDone() override {
    queue_->Post([self = std::shared_ptr<RowStream>(this)] {});
  }

 private:
  void Next() {
    if (is_over_) return on_end_(grpc::Status::OK);
    reply_.Clear();
    is_over_ = !AddPiece(source_, &reply_);
    is_writing_ = true;
    sender_->Post([this] { this->StartWrite(&reply_); });
  }

  TaskQueue* const queue_;
  TaskThread* const sender_;
  const std::function<void(const grpc::Status&)> on_end_;
  RowSource<Reply> source_;
  Reply reply_;
  bool is_over_ = false;     // the source has no more rows
  bool is_writing_ = false;  // reply_ is being written
  std::optional<grpc::Status> ended_;
};

}  // namespace copse::planner

#endif  // COPSE_PLANNER_ADMIN_ROW_STREAM_H_
