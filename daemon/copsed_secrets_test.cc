// SPDX-License-Identifier: Apache-2.0
//
// Tests what a core dump of copsed holds of its clients' memory and of its keys, that its log holds neither, and that
// its keys can be replaced while it runs.

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <functional>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/unique_fd.h"
#include "daemon/shm/testing/raw_client.h"
#include "offload_emu/tcp/testing/test_authority.h"

namespace copse::daemon {
namespace {

constexpr uint64_t kLongestMapping = uint64_t{1} << 30;  // longer ones are a sanitizer's
constexpr size_t kPieceBytes = 1 << 20;

std::string ReadAll(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// --- What the kernel would dump of a process (core(5)) ---

struct MappedRange {
  uint64_t begin = 0, end = 0;
  bool is_readable = false, is_shared = false, is_file = false, has_own_pages = false, is_kept_out = false;
};

std::vector<MappedRange> RangesOf(pid_t pid) {
  std::vector<MappedRange> ranges;
  std::ifstream smaps(absl::StrCat("/proc/", pid, "/smaps"));
  for (std::string line; std::getline(smaps, line);) {
    const std::vector<std::string> words = absl::StrSplit(line, ' ', absl::SkipEmpty());
    if (words.size() >= 5 && absl::StrContains(words[0], "-")) {
      MappedRange range;
      const std::vector<std::string> ends = absl::StrSplit(words[0], '-');
      range.begin = std::stoull(ends[0], nullptr, 16);
      range.end = std::stoull(ends[1], nullptr, 16);
      range.is_readable = words[1][0] == 'r';
      range.is_shared = words[1][3] == 's';
      // A memfd's file has no name in a folder, and counts as anonymous memory.
      range.is_file = words.size() > 5 && words[5][0] == '/' && !absl::StrContains(line, "(deleted)");
      ranges.push_back(range);
    } else if (words.size() > 1 && words[0] == "Anonymous:") {
      ranges.back().has_own_pages = words[1] != "0";
    } else if (!words.empty() && words[0] == "VmFlags:") {
      ranges.back().is_kept_out = std::find(words.begin(), words.end(), "dd") != words.end();
    }
  }
  return ranges;
}

bool IsDumped(const MappedRange& range, unsigned long filter) {
  if (range.is_kept_out) return false;
  if (range.is_shared) return (filter & (range.is_file ? 8u : 2u)) != 0;
  if (range.has_own_pages && (filter & 1u) != 0) return true;
  return range.is_file && (filter & 4u) != 0;
}

// Returns which of the patterns are in the process's memory: in what a core dump would hold of it, or in all of it.
std::vector<bool> Found(pid_t pid, bool in_core, const std::vector<std::string>& patterns) {
  const unsigned long filter = std::stoul(ReadAll(absl::StrCat("/proc/", pid, "/coredump_filter")), nullptr, 16);
  std::vector<bool> found(patterns.size());
  for (const MappedRange& range : RangesOf(pid)) {
    if (!range.is_readable || range.end - range.begin > kLongestMapping) continue;
    if (in_core && !IsDumped(range, filter)) continue;
    // Pieces overlap, so that no pattern is cut in two.
    std::string piece(kPieceBytes + 256, '\0');
    for (uint64_t at = range.begin; at < range.end; at += kPieceBytes) {
      const iovec local{piece.data(), std::min<uint64_t>(piece.size(), range.end - at)};
      const iovec remote{reinterpret_cast<void*>(at), local.iov_len};
      const ssize_t bytes = process_vm_readv(pid, &local, 1, &remote, 1, 0);
      if (bytes <= 0) continue;
      const std::string_view read(piece.data(), static_cast<size_t>(bytes));
      for (size_t i = 0; i < patterns.size(); ++i) {
        found[i] = found[i] || read.find(patterns[i]) != std::string_view::npos;
      }
    }
  }
  return found;
}

// --- The daemon ---

class CopsedSecretsTest : public ::testing::Test {
 protected:
  CopsedSecretsTest() {
    const emu::TestCertificate node = authority_.IssueNode("n1");
    Write("n1.pem", node.certificate);
    Write("n1.key", node.key);
    Write("ca.pem", authority_.certificate());
    Write("token", "join-token-of-this-test\n");
    key_ = node.key;
  }
  ~CopsedSecretsTest() override { End(); }

  void Write(const std::string& name, const std::string& text) {
    const std::string path = folder_ + "/" + name;
    std::ofstream(path) << text;
    chmod(path.c_str(), 0600);
  }

  // Starts the program, in its own folder, with its messages in the file "log".
  void Run(const std::vector<std::string>& more, const std::string& flag = "") {
    std::vector<std::string> settings = {"node=n1",
                                         "planner=127.0.0.1:1",
                                         "admin_listen=127.0.0.1:0",
                                         "socket=" + socket_,
                                         "log_level=debug",
                                         "join_token_file=" + folder_ + "/token",
                                         "tls_cert=" + folder_ + "/n1.pem",
                                         "tls_key=" + folder_ + "/n1.key",
                                         "tls_ca=" + folder_ + "/ca.pem"};
    settings.insert(settings.end(), more.begin(), more.end());
    std::vector<std::string> arguments = {"copsed"};
    for (const std::string& setting : settings) arguments.insert(arguments.end(), {"--set", setting});
    if (!flag.empty()) arguments.push_back(flag);
    std::vector<char*> argv;
    for (std::string& argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);
    char program[PATH_MAX];
    ASSERT_NE(realpath("daemon/copsed", program), nullptr);
    pid_ = fork();
    if (pid_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      rlimit cores{};
      getrlimit(RLIMIT_CORE, &cores);
      cores.rlim_cur = cores.rlim_max;
      setrlimit(RLIMIT_CORE, &cores);
      dup2(open((folder_ + "/log").c_str(), O_CREAT | O_WRONLY | O_TRUNC, 0600), STDERR_FILENO);
      if (chdir(folder_.c_str()) != 0) _exit(98);
      execv(program, argv.data());
      _exit(99);
    }
  }
  // Returns the exit code and what was said.
  std::string CheckConfig(const std::vector<std::string>& more) {
    Run(more, "--check-config");
    int status = 0;
    waitpid(std::exchange(pid_, -1), &status, 0);
    return absl::StrCat(WEXITSTATUS(status), " ", ReadAll(folder_ + "/log"));
  }
  // Starts the daemon with a client that has written kClients to its data area and sent it.
  void Start(const std::vector<std::string>& more) {
    ASSERT_NO_FATAL_FAILURE(Run(more));
    const absl::Time until = absl::Now() + absl::Seconds(20);
    do {
      sched_yield();
      client_ = std::make_unique<RawClient>(socket_, [] { sched_yield(); });
    } while (!client_->connected() && absl::Now() < until);
    ASSERT_EQ(client_->Attach().status, 0) << ReadAll(folder_ + "/log");
    std::memcpy(client_->data(), kClients.data(), kClients.size());
    client_->PostNop(1);
    ASSERT_TRUE(client_->AwaitEvent().has_value());
  }
  void End() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }

  // Returns the bytes of the key that are secret: those of the number, as written in the file and as OpenSSL holds
  // them, and a line of the file.
  std::vector<std::string> SecretsOf(const std::string& pem) const {
    const std::vector<std::string> lines = absl::StrSplit(pem, '\n', absl::SkipEmpty());
    std::string der;
    std::string body;
    for (const std::string& line : lines) body += absl::StartsWith(line, "-") ? "" : line;
    EXPECT_TRUE(absl::Base64Unescape(body, &der));
    const size_t number = der.find(std::string("\x04\x20", 2));  // an octet string of 32 bytes
    EXPECT_NE(number, std::string::npos);
    const std::string big = der.substr(number + 2, 32);
    return {big, std::string(big.rbegin(), big.rend()), lines[1]};
  }

  const std::string kClients = "what-a-client-has-in-its-memory-and-nobody-else-may-read";
  const emu::TestAuthority authority_;
  std::string key_;
  const std::string folder_ = [] {
    std::string name = std::string(getenv("TEST_TMPDIR")) + "/copsed_secrets_XXXXXX";
    return std::string(mkdtemp(name.data()));
  }();
  const std::string socket_ = absl::StrCat("@copsed_secrets_test_", getpid());
  std::unique_ptr<RawClient> client_;
  pid_t pid_ = -1;
};

TEST_F(CopsedSecretsTest, ACoreHoldsNeitherClientsMemoryNorKeys) {
  ASSERT_NO_FATAL_FAILURE(Start({}));
  std::vector<std::string> secrets = SecretsOf(key_);
  secrets.push_back(kClients);
  secrets.push_back("join-token-of-this-test");
  const std::vector<bool> in_memory = Found(pid_, false, secrets);
  EXPECT_TRUE(in_memory[0] || in_memory[1]) << "the search does not find the key";
  EXPECT_TRUE(in_memory[3]) << "the search does not find the client's memory";
  EXPECT_EQ(Found(pid_, true, secrets), std::vector<bool>(secrets.size()));

  // The same of a core dump, if the kernel writes it to the folder.
  kill(pid_, SIGABRT);
  int status = 0;
  ASSERT_EQ(waitpid(pid_, &status, 0), pid_);
  const bool was_dumped = WIFSIGNALED(status) && WCOREDUMP(status);
  const std::string pid = absl::StrCat(pid_);
  pid_ = -1;
  const std::string pattern = ReadAll("/proc/sys/kernel/core_pattern");
  if (!was_dumped || pattern.find_first_of("|/%") != std::string::npos) return;
  std::string core = ReadAll(folder_ + "/core");
  if (core.empty()) core = ReadAll(folder_ + "/core." + pid);
  EXPECT_TRUE(absl::StartsWith(core,
                               "\x7f"
                               "ELF"));
  for (const std::string& secret : secrets) EXPECT_FALSE(absl::StrContains(core, secret));
}

TEST_F(CopsedSecretsTest, ACoreThatIsAskedForHoldsNoClientsMemory) {
  ASSERT_NO_FATAL_FAILURE(Start({"core_memory=true"}));
  EXPECT_TRUE(Found(pid_, true, {"join-token-of-this-test"})[0]);
  EXPECT_FALSE(Found(pid_, true, {kClients})[0]);
}

TEST_F(CopsedSecretsTest, NewCertificatesAreUsedOnHangUp) {
  ASSERT_NO_FATAL_FAILURE(Start({}));
  const emu::TestCertificate renewed = authority_.IssueNode("n1");
  Write("n1.key", renewed.key);
  Write("n1.pem", renewed.certificate);
  kill(pid_, SIGHUP);
  const absl::Time until = absl::Now() + absl::Seconds(20);
  while (!absl::StrContains(ReadAll(folder_ + "/log"), "data connections use the new ones")) {
    ASSERT_LT(absl::Now(), until) << ReadAll(folder_ + "/log");
    sched_yield();
  }
}

TEST_F(CopsedSecretsTest, CheckConfigNamesWhatIsWrongWithTheFiles) {
  EXPECT_EQ(CheckConfig({}), "0 ");
  EXPECT_THAT(CheckConfig({"tls_cert=/nowhere/n1.pem"}), testing::StartsWith("1 copsed: tls_cert: cannot be read"));
  const emu::TestCertificate other = authority_.IssueNode("n2");
  Write("n2.pem", other.certificate);
  Write("n2.key", other.key);
  const std::string n2_pem = folder_ + "/n2.pem", n2_key = folder_ + "/n2.key";
  EXPECT_THAT(CheckConfig({"tls_key=" + n2_key}), testing::HasSubstr("tls_key=" + n2_key));
  EXPECT_THAT(CheckConfig({"tls_cert=" + n2_pem, "tls_key=" + n2_key}), testing::HasSubstr("its node=n2, node=n1"));
  const emu::TestCertificate viewer = authority_.Issue({.uri = "spiffe://test/viewer/n1"});
  Write("n2.pem", viewer.certificate);
  Write("n2.key", viewer.key);
  EXPECT_THAT(CheckConfig({"tls_cert=" + n2_pem, "tls_key=" + n2_key}), testing::HasSubstr("role=viewer, wanted=node"));
  const emu::TestCertificate old = authority_.Issue({.uri = "spiffe://test/node/n1", .days = -1});
  Write("n2.pem", old.certificate);
  Write("n2.key", old.key);
  EXPECT_THAT(CheckConfig({"tls_cert=" + n2_pem, "tls_key=" + n2_key}), testing::HasSubstr("has expired"));
  chmod(n2_key.c_str(), 0644);
  EXPECT_THAT(CheckConfig({"tls_key=" + n2_key}), testing::HasSubstr("mode=0644, wanted=0600"));
}

TEST_F(CopsedSecretsTest, NoSecretIsLoggedOrInArguments) {
  ASSERT_NO_FATAL_FAILURE(Start({}));
  const std::string seen = ReadAll(folder_ + "/log") + ReadAll(absl::StrCat("/proc/", pid_, "/cmdline")) +
                           ReadAll(absl::StrCat("/proc/", pid_, "/environ"));
  EXPECT_TRUE(absl::StrContains(seen, "n1.key"));
  EXPECT_FALSE(absl::StrContains(seen, SecretsOf(key_)[2]));
  EXPECT_FALSE(absl::StrContains(seen, "join-token-of-this-test"));
  EXPECT_FALSE(absl::StrContains(seen, kClients));
}

}  // namespace
}  // namespace copse::daemon
