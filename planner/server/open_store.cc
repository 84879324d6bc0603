// SPDX-License-Identifier: Apache-2.0
#include "planner/server/open_store.h"

#include <grpcpp/security/credentials.h>

#include <utility>

#include "base/status_macros.h"
#include "planner/etcd/etcd_store.h"
#include "planner/store/sqlite_store.h"
#include "planner/store/store_address.h"

namespace copse::planner {

absl::StatusOr<std::unique_ptr<EtcdClient>> OpenEtcd(const Settings& settings) {
  EtcdClientOptions options;
  options.endpoints = settings.store.etcd;
  options.credentials = grpc::InsecureChannelCredentials();
  if (settings.store.is_encrypted) {
    grpc::SslCredentialsOptions pem;
    pem.pem_root_certs = settings.etcd_tls.ca;
    pem.pem_cert_chain = settings.etcd_tls.certificate;
    pem.pem_private_key = settings.etcd_tls.key;
    options.credentials = grpc::SslCredentials(pem);
  }
  return EtcdClient::Create(std::move(options));
}

absl::StatusOr<OpenedStore> OpenStore(const Settings& settings, EtcdClient* etcd, int64_t fence,
                                      std::function<void(std::function<void()>)> post) {
  const auto opened = [](auto store) {
    OpenedStore result{.reader = store.get()};
    result.store = std::move(store);
    return result;
  };
  const StoreAddress& address = settings.store;
  if (!address.etcd.empty()) {
    return opened(std::make_unique<EtcdStore>(etcd, address.prefix, fence, std::move(post)));
  }
  if (!address.file.empty()) {
    ASSIGN_OR_RETURN(std::unique_ptr<SqliteStore> store, SqliteStore::Open(address.file, std::move(post)));
    return opened(std::move(store));
  }
  return OpenedStore{.store = std::make_unique<coordinator::MemoryStore>()};
}

}  // namespace copse::planner
