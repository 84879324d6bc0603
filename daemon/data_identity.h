// SPDX-License-Identifier: Apache-2.0
//
// Keeps the identity of the daemon's data connections as new as its files.
#ifndef COPSE_DAEMON_DATA_IDENTITY_H_
#define COPSE_DAEMON_DATA_IDENTITY_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "base/config/tls_files.h"
#include "daemon/loop/mailbox.h"
#include "daemon/loop/worker.h"
#include "offload_emu/tcp/tls_identity.h"

namespace copse::daemon {

// A DataIdentity reads the files of a TlsIdentity again when it is told to. Files are read, and parsed, by the worker,
// so that the loop does not wait for a slow file system. The loop's thread makes all calls.
class DataIdentity {
 public:
  using Use = std::function<void(std::shared_ptr<const emu::TlsIdentity>)>;

  // `*worker` and `*mailbox` must outlive the object, or end before the next letter is read. Errors: as
  // config::ReadTlsFiles and emu::TlsIdentity::FromCertificates; they name the file.
  static absl::StatusOr<std::unique_ptr<DataIdentity>> Open(const config::TlsFiles& files, Worker* worker,
                                                            Mailbox* mailbox);

  // Returns the identity that was read at first.
  const std::shared_ptr<const emu::TlsIdentity>& first() const { return first_; }
  // Reads the files again, and calls `use` later if one of them has changed. Files that cannot be used, or that name
  // another node, change nothing; they are logged if they are the same at the next reading, since one file may be
  // replaced a moment after another.
  void Reread(Use use);

 private:
  struct Read;
  explicit DataIdentity(Worker* worker, Mailbox* mailbox) : worker_(worker), mailbox_(mailbox) {}

  Worker* const worker_;
  Mailbox* const mailbox_;
  std::shared_ptr<const emu::TlsIdentity> first_;
  std::shared_ptr<Read> read_;  // after Open, only the worker's thread uses what it points to
};

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_DATA_IDENTITY_H_
