// SPDX-License-Identifier: Apache-2.0
#include "rpc/message_bytes.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>
#include <grpcpp/support/proto_buffer_reader.h>

#include <cstdint>
#include <vector>

namespace copse::rpc {

grpc::Slice Encoded(const google::protobuf::MessageLite& message) { return grpc::Slice(message.SerializeAsString()); }

grpc::ByteBuffer WithField(int field, absl::Span<const grpc::Slice> parts) {
  using google::protobuf::internal::WireFormatLite;
  using google::protobuf::io::CodedOutputStream;
  uint64_t bytes = 0;
  for (const grpc::Slice& part : parts) bytes += part.size();
  uint8_t head[20];  // two varints of at most 10 bytes
  uint8_t* end = CodedOutputStream::WriteTagToArray(
      WireFormatLite::MakeTag(field, WireFormatLite::WIRETYPE_LENGTH_DELIMITED), head);
  end = CodedOutputStream::WriteVarint64ToArray(bytes, end);
  std::vector<grpc::Slice> slices = {grpc::Slice(head, static_cast<size_t>(end - head))};
  slices.insert(slices.end(), parts.begin(), parts.end());
  return grpc::ByteBuffer(slices.data(), slices.size());
}

bool Decode(const grpc::ByteBuffer& bytes, google::protobuf::MessageLite* message) {
  grpc::ByteBuffer shared(bytes);  // the reader takes a mutable one
  grpc::ProtoBufferReader reader(&shared);
  return reader.status().ok() && message->ParseFromZeroCopyStream(&reader);
}

}  // namespace copse::rpc
