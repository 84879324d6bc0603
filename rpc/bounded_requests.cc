// SPDX-License-Identifier: Apache-2.0
#include "rpc/bounded_requests.h"

#include <grpcpp/resource_quota.h>

namespace copse::rpc {

void BoundRequests(int request_bytes, grpc::ServerBuilder* builder) {
  grpc::ResourceQuota quota;
  quota.Resize(kRequestsBytesMax);
  builder->SetResourceQuota(quota);
  builder->SetMaxReceiveMessageSize(request_bytes);
}

}  // namespace copse::rpc
