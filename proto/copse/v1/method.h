// SPDX-License-Identifier: Apache-2.0
//
// Names a method of a service, for callers that do not include its stub, which takes seconds to compile.
#ifndef COPSE_PROTO_COPSE_V1_METHOD_H_
#define COPSE_PROTO_COPSE_V1_METHOD_H_

namespace copse::v1 {

// A Method is one of SERVICEMethods, which third_party/proto.bzl writes from the service's file.
template <typename Request, typename Reply>
struct Method {
  const char* path;  // "/copse.v1.AdminService/ListNodes"
};

}  // namespace copse::v1

#endif  // COPSE_PROTO_COPSE_V1_METHOD_H_
