// SPDX-License-Identifier: Apache-2.0
#include "offload_emu/ucx/ucx_worker.h"

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <vector>

#include "absl/strings/str_split.h"
#include "base/check.h"
#include "base/status_macros.h"
#include "offload_emu/ucx/ucx_status.h"

namespace copse::emu {
namespace {

class UcxConfig {
 public:
  ~UcxConfig() {
    if (config_ != nullptr) ucp_config_release(config_);
  }
  absl::Status Read() { return UcxToStatus(ucp_config_read(nullptr, nullptr, &config_), "ucp_config_read"); }
  absl::Status Set(const char* name, const std::string& value) {
    if (value.empty()) return absl::OkStatus();
    return UcxToStatus(ucp_config_modify(config_, name, value.c_str()),
                       std::string("UCX option ") + name + "=" + value);
  }
  const ucp_config_t* get() const { return config_; }

 private:
  ucp_config_t* config_ = nullptr;
};

// Sets an option that ucp_config_modify does not reach, unless the environment has a value for it.
void SetYes(const char* name) { CHECK_EQ(setenv(name, "y", /*overwrite=*/0), 0); }

bool MayUseSharedMemory(const std::string& tls) {
  if (tls.empty() || tls[0] == '^') return true;
  const std::vector<std::string> names = absl::StrSplit(tls, ',');
  return std::any_of(names.begin(), names.end(), [](const std::string& name) {
    return name == "all" || name == "shm" || name == "sm" || name == "mm" || name == "posix" || name == "sysv";
  });
}

// Sets defaults for options of UCX's transports.
//
// Otherwise UCX waits within connect(), for two minutes if the peer's node is silent, and aborts the process if the
// peer resets the connection right after it (tcp_ep.c of 1.13: an endpoint that fails before it may send is still
// notified that it may). Its shared memory handles no errors by default, and endpoints that need error handling
// cannot use it.
void SetDefaults(const std::string& tls) {
  static std::once_flag connects;
  std::call_once(connects, [] { SetYes("UCX_TCP_CONN_NB"); });
  const char* const of_environment = getenv("UCX_TLS");
  // UCX warns of variables that it does not use.
  if (!MayUseSharedMemory(!tls.empty() || of_environment == nullptr ? tls : of_environment)) return;
  static std::once_flag shares;
  std::call_once(shares, [] {
    SetYes("UCX_POSIX_ERROR_HANDLING");
    SetYes("UCX_SYSV_ERROR_HANDLING");
  });
}

}  // namespace

absl::StatusOr<std::unique_ptr<UcxWorker>> UcxWorker::Create(const std::string& tls, const std::string& net_devices) {
  SetDefaults(tls);
  UcxConfig config;
  RETURN_IF_ERROR(config.Read());
  RETURN_IF_ERROR(config.Set("TLS", tls));
  RETURN_IF_ERROR(config.Set("NET_DEVICES", net_devices));
  RETURN_IF_ERROR(config.Set("RNDV_THRESH", "inf"));

  std::unique_ptr<UcxWorker> worker(new UcxWorker);
  ucp_params_t params{};
  params.field_mask = UCP_PARAM_FIELD_FEATURES | UCP_PARAM_FIELD_NAME;
  params.features = UCP_FEATURE_AM | UCP_FEATURE_WAKEUP;
  params.name = "copse";
  RETURN_IF_ERROR(UcxToStatus(ucp_init(&params, config.get(), &worker->context_),
                              "ucp_init (tls=" + tls + ", net_devices=" + net_devices + ")"));
  return worker;
}

absl::Status UcxWorker::Open() {
  if (is_open()) return absl::OkStatus();
  ucp_worker_params_t params{};
  params.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
  params.thread_mode = UCS_THREAD_MODE_SINGLE;
  if (worker_ == nullptr) {
    RETURN_IF_ERROR(UcxToStatus(ucp_worker_create(context_, &params, &worker_), "ucp_worker_create"));
  }
  RETURN_IF_ERROR(ReadAddress());
  return UcxToStatus(ucp_worker_get_efd(worker_, &event_fd_), "ucp_worker_get_efd");
}

absl::Status UcxWorker::ReadAddress() {
  ucp_address_t* address = nullptr;
  size_t bytes = 0;
  RETURN_IF_ERROR(UcxToStatus(ucp_worker_get_address(worker_, &address, &bytes), "ucp_worker_get_address"));
  address_.assign(reinterpret_cast<const char*>(address), bytes);
  ucp_worker_release_address(worker_, address);
  return absl::OkStatus();
}

UcxWorker::~UcxWorker() {
  if (worker_ != nullptr) ucp_worker_destroy(worker_);
  if (context_ != nullptr) ucp_cleanup(context_);
}

}  // namespace copse::emu
