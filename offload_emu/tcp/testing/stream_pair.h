// SPDX-License-Identifier: Apache-2.0
#ifndef COPSE_OFFLOAD_EMU_TCP_TESTING_STREAM_PAIR_H_
#define COPSE_OFFLOAD_EMU_TCP_TESTING_STREAM_PAIR_H_

#include <poll.h>
#include <sys/socket.h>

#include <memory>
#include <string>

#include "base/check.h"
#include "base/unique_fd.h"
#include "offload_emu/tcp/sealed_stream.h"
#include "offload_emu/tcp/socket_address.h"
#include "offload_emu/tcp/testing/test_authority.h"
#include "offload_emu/tcp/tls_identity.h"

namespace copse::emu {

// A StreamPair is an open connection between two nodes.
struct StreamPair {
  StreamPair() {
    const TestAuthority authority;
    const auto identity = [&](const std::string& name) {
      const TestCertificate node = authority.IssueNode(name);
      return *TlsIdentity::FromCertificates(node.certificate, node.key, authority.certificate(), "");
    };
    const UniqueFd listener = *SocketAddress::Parse("127.0.0.1:0")->Bind();
    CHECK(listen(listener.get(), 1) == 0);
    near = SealedStream::Dial(*SocketAddress::OfSocket(listener.get()), identity("n0"));
    pollfd arrival = {.fd = listener.get(), .events = POLLIN, .revents = 0};
    CHECK(poll(&arrival, 1, -1) == 1);
    far = SealedStream::Accept(UniqueFd(accept4(listener.get(), nullptr, nullptr, SOCK_NONBLOCK)), identity("n1"));
    while (!near->is_open() || !far->is_open()) {
      CHECK(!near->closed() && !far->closed());
      near->Advance();
      far->Advance();
    }
  }

  std::unique_ptr<SealedStream> near, far;
};

}  // namespace copse::emu

#endif  // COPSE_OFFLOAD_EMU_TCP_TESTING_STREAM_PAIR_H_
