// SPDX-License-Identifier: Apache-2.0
//
// Encodes messages in parts, so that what many streams send is encoded and kept once.
#ifndef COPSE_RPC_MESSAGE_BYTES_H_
#define COPSE_RPC_MESSAGE_BYTES_H_

#include <google/protobuf/message_lite.h>
#include <grpcpp/support/byte_buffer.h>

#include "absl/types/span.h"

namespace copse::rpc {

grpc::Slice Encoded(const google::protobuf::MessageLite& message);
// Returns the bytes of a message that has only the field of number `field`, itself a message, whose encoded parts are
// given. The parts are shared, not copied. By protobuf's rules parts are merged in their order.
grpc::ByteBuffer WithField(int field, absl::Span<const grpc::Slice> parts);
// Returns false if the bytes are not a message of this type.
bool Decode(const grpc::ByteBuffer& bytes, google::protobuf::MessageLite* message);

}  // namespace copse::rpc

#endif  // COPSE_RPC_MESSAGE_BYTES_H_
