// SPDX-License-Identifier: Apache-2.0
#include "planner/server/sqlite_store.h"

#include <sqlite3.h>

#include <functional>
#include <map>
#include <type_traits>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "planner/server/team_record_codec.h"

namespace copse::planner {
namespace {

using coordinator::Snapshot;
using coordinator::TeamRecord;

constexpr int kSchemaVersion = 1;
// The store and file(1) recognize the file by this id in its header.
constexpr int kApplicationId = 0x43505345;  // "CPSE"

// A Value is a parameter of a statement.
using Value = std::variant<int64_t, std::string>;
using Statement = std::pair<std::string, std::vector<Value>>;

int64_t Integer(TeamId team) { return static_cast<int64_t>(team.value()); }

void AddStatements(const coordinator::StoreChange& change, std::vector<Statement>& to) {
  std::visit(
      [&](const auto& c) {
        using T = std::decay_t<decltype(c)>;
        if constexpr (std::is_same_v<T, coordinator::PutTeam>) {
          to.push_back({"INSERT OR REPLACE INTO team (id, record) VALUES (?, ?)",
                        {Integer(c.record->layout.id), SerializeTeam(*c.record)}});
        }
        if constexpr (std::is_same_v<T, coordinator::DropTeam>) {
          to.push_back({"DELETE FROM team WHERE id = ?", {Integer(c.team)}});
        }
        if constexpr (std::is_same_v<T, coordinator::PutDraining>) {
          to.push_back(
              {c.draining ? "INSERT OR REPLACE INTO draining (node) VALUES (?)" : "DELETE FROM draining WHERE node = ?",
               {c.node}});
        }
        if constexpr (std::is_same_v<T, coordinator::PutTerm>) {
          to.push_back({"INSERT OR REPLACE INTO meta (key, value) VALUES ('term', ?), ('since', ?)",
                        {static_cast<int64_t>(c.term), static_cast<int64_t>(c.since)}});
        }
        if constexpr (std::is_same_v<T, coordinator::PutAborted>) {
          to.push_back({"INSERT OR REPLACE INTO aborted (team) VALUES (?)", {Integer(c.team)}});
          to.push_back(
              {"DELETE FROM aborted WHERE team <= "
               "(SELECT team FROM aborted ORDER BY team DESC LIMIT 1 OFFSET ?)",
               {static_cast<int64_t>(coordinator::kAbortedMax)}});
        }
      },
      change);
}

}  // namespace

// A Database is the connection to the file, with the few kinds of statement that the store needs.
class SqliteStore::Database {
 public:
  explicit Database(std::string path) : path_(std::move(path)) {}
  ~Database() { sqlite3_close_v2(handle_); }

  absl::Status Open() {
    if (sqlite3_open_v2(path_.c_str(), &handle_, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
                        nullptr) != SQLITE_OK) {
      return absl::UnavailableError(absl::StrCat("state: cannot open (state=", path_, "): ", sqlite3_errmsg(handle_)));
    }
    // The next statement, which enters WAL mode, takes the exclusive lock. It is held until the connection is closed.
    RETURN_IF_ERROR(Run("PRAGMA locking_mode=EXCLUSIVE"));
    RETURN_IF_ERROR(Run("PRAGMA journal_mode=WAL"));
    RETURN_IF_ERROR(Run("PRAGMA synchronous=FULL"));
    RETURN_IF_ERROR(Run("BEGIN IMMEDIATE"));
    ASSIGN_OR_RETURN(const int64_t application, Integer("PRAGMA application_id"));
    ASSIGN_OR_RETURN(const int64_t version, Integer("PRAGMA user_version"));
    ASSIGN_OR_RETURN(const int64_t tables, Integer("SELECT count(*) FROM sqlite_master"));
    if (tables > 0 && application != kApplicationId) {
      return absl::FailedPreconditionError(absl::StrCat("state: not a planner's state file (state=", path_, ")"));
    }
    if (tables > 0 && version != kSchemaVersion) {
      return absl::FailedPreconditionError(absl::StrCat("state: another schema (state=", path_, ", schema=", version,
                                                        ", this program's=", kSchemaVersion, ")"));
    }
    if (tables == 0) {
      RETURN_IF_ERROR(Run("CREATE TABLE team (id INTEGER PRIMARY KEY, record BLOB NOT NULL)"));
      RETURN_IF_ERROR(Run("CREATE TABLE aborted (team INTEGER PRIMARY KEY)"));
      RETURN_IF_ERROR(Run("CREATE TABLE draining (node TEXT PRIMARY KEY) WITHOUT ROWID"));
      RETURN_IF_ERROR(Run("CREATE TABLE meta (key TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID"));
      RETURN_IF_ERROR(Run(absl::StrCat("PRAGMA application_id=", kApplicationId)));
      RETURN_IF_ERROR(Run(absl::StrCat("PRAGMA user_version=", kSchemaVersion)));
    }
    // These two tables were added without a new schema number, since older planners can ignore them.
    RETURN_IF_ERROR(
        Run("CREATE TABLE IF NOT EXISTS topology (version INTEGER PRIMARY KEY, applied_ns INTEGER NOT NULL, "
            "from_file INTEGER NOT NULL, source BLOB NOT NULL, text BLOB NOT NULL)"));
    RETURN_IF_ERROR(Run("CREATE TABLE IF NOT EXISTS damaged (id INTEGER PRIMARY KEY, record BLOB NOT NULL)"));
    return Run("COMMIT");
  }

  absl::Status Run(const std::string& sql, const std::vector<Value>& values = {}) {
    return Query(sql, values, [](sqlite3_stmt*) {});
  }

  absl::Status Query(const std::string& sql, const std::vector<Value>& values,
                     const std::function<void(sqlite3_stmt*)>& on_row) {
    sqlite3_stmt* statement = nullptr;
    if (const int code = sqlite3_prepare_v2(handle_, sql.c_str(), -1, &statement, nullptr); code != SQLITE_OK)
      return Error(code);
    for (size_t i = 0; i < values.size(); ++i) {
      const int place = static_cast<int>(i) + 1;
      if (const auto* number = std::get_if<int64_t>(&values[i])) {
        sqlite3_bind_int64(statement, place, *number);
      } else {
        const std::string& bytes = std::get<std::string>(values[i]);
        sqlite3_bind_blob64(statement, place, bytes.data(), bytes.size(), SQLITE_TRANSIENT);
      }
    }
    int code = SQLITE_ROW;
    while ((code = sqlite3_step(statement)) == SQLITE_ROW) on_row(statement);
    sqlite3_finalize(statement);
    return code == SQLITE_DONE ? absl::OkStatus() : Error(code);
  }

  // Runs the statements in one transaction: all of them or none.
  absl::Status RunTogether(const std::vector<Statement>& statements) {
    RETURN_IF_ERROR(Run("BEGIN"));
    absl::Status status;
    for (const auto& [sql, values] : statements) {
      if (status.ok()) status = Run(sql, values);
    }
    if (status.ok()) status = Run("COMMIT");
    if (!status.ok()) Run("ROLLBACK").IgnoreError();  // SQLite may have rolled back already
    return status;
  }

  absl::StatusOr<int64_t> Integer(const std::string& sql) {
    int64_t value = 0;
    RETURN_IF_ERROR(Query(sql, {}, [&](sqlite3_stmt* row) { value = sqlite3_column_int64(row, 0); }));
    return value;
  }

  static std::string Bytes(sqlite3_stmt* row, int column) {
    const auto* data = static_cast<const char*>(sqlite3_column_blob(row, column));
    return data == nullptr ? "" : std::string(data, static_cast<size_t>(sqlite3_column_bytes(row, column)));
  }

  const std::string& path() const { return path_; }

 private:
  absl::Status Error(int code) {
    const std::string what = absl::StrCat("(state=", path_, "): ", sqlite3_errmsg(handle_));
    switch (code & 0xff) {
      case SQLITE_BUSY:
      case SQLITE_LOCKED:
        return absl::FailedPreconditionError(absl::StrCat("state: in use by another planner ", what));
      case SQLITE_NOTADB:
      case SQLITE_CORRUPT:
        return absl::FailedPreconditionError(absl::StrCat("state: damaged, or no state file ", what));
      case SQLITE_FULL:
        return absl::ResourceExhaustedError(absl::StrCat("state: no room ", what));
      default:
        return absl::UnavailableError(absl::StrCat("state: cannot read or write ", what));
    }
  }

  const std::string path_;
  sqlite3* handle_ = nullptr;
};

SqliteStore::SqliteStore(std::unique_ptr<Database> database, Post post)
    : post_(std::move(post)), database_(std::move(database)), thread_([this] { Work(); }) {}

SqliteStore::~SqliteStore() {
  {
    const MutexLock lock(&mutex_);
    ends_ = true;
    changed_.NotifyAll();
  }
  thread_.join();
}

absl::StatusOr<std::unique_ptr<SqliteStore>> SqliteStore::Open(const std::string& path, Post post) {
  auto database = std::make_unique<Database>(path);
  RETURN_IF_ERROR(database->Open());
  return std::unique_ptr<SqliteStore>(new SqliteStore(std::move(database), std::move(post)));
}

void SqliteStore::Commit(std::vector<coordinator::StoreChange> changes, std::function<void(const absl::Status&)> done) {
  const MutexLock lock(&mutex_);
  CHECK(!job_.has_value());  // one commit at a time
  job_ = Job{std::move(changes), std::move(done)};
  changed_.NotifyAll();
}

void SqliteStore::Work() {
  while (true) {
    Job job;
    {
      const MutexLock lock(&mutex_);
      while (!job_.has_value() && !ends_) changed_.Wait(&mutex_);
      if (!job_.has_value()) return;
      job = *std::exchange(job_, std::nullopt);
    }
    std::vector<Statement> statements;
    for (const coordinator::StoreChange& change : job.changes) AddStatements(change, statements);
    absl::Status status;
    {
      const MutexLock lock(&database_mutex_);
      status = database_->RunTogether(statements);
    }
    post_([done = std::move(job.done), status] { done(status); });
  }
}

absl::StatusOr<Snapshot> SqliteStore::Load() {
  const MutexLock lock(&database_mutex_);
  Database& database = *database_;
  Snapshot snapshot;
  std::map<int64_t, std::string> damaged;
  RETURN_IF_ERROR(database.Query("SELECT id, record FROM team", {}, [&](sqlite3_stmt* row) {
    const int64_t id = sqlite3_column_int64(row, 0);
    std::string bytes = Database::Bytes(row, 1);
    absl::StatusOr<TeamRecord> record = DeserializeTeam(bytes);
    if (record.ok() && record->layout.id.value() != static_cast<uint64_t>(id)) {
      record = absl::InvalidArgumentError(absl::StrCat("it is of team ", record->layout.id.value()));
    }
    if (record.ok()) {
      snapshot.teams.emplace(record->layout.id, *std::move(record));
    } else {
      COPSE_LOG(kError, "state: the record of team ", id, " is damaged, and put aside (state=", database.path(),
                "): ", record.status().message());
      damaged.emplace(id, std::move(bytes));
    }
  }));
  for (const auto& [id, bytes] : damaged) {
    RETURN_IF_ERROR(database.RunTogether({{"INSERT OR REPLACE INTO damaged (id, record) VALUES (?, ?)", {id, bytes}},
                                          {"DELETE FROM team WHERE id = ?", {id}}}));
  }
  RETURN_IF_ERROR(database.Query("SELECT team FROM aborted", {}, [&](sqlite3_stmt* row) {
    snapshot.aborted.insert(TeamId(static_cast<uint64_t>(sqlite3_column_int64(row, 0))));
  }));
  RETURN_IF_ERROR(database.Query("SELECT node FROM draining", {},
                                 [&](sqlite3_stmt* row) { snapshot.draining.insert(Database::Bytes(row, 0)); }));
  RETURN_IF_ERROR(database.Query("SELECT key, value FROM meta", {}, [&](sqlite3_stmt* row) {
    const std::string key = Database::Bytes(row, 0);
    const auto value = static_cast<uint64_t>(sqlite3_column_int64(row, 1));
    if (key == "term") snapshot.term = value;
    if (key == "since") snapshot.since = value;
  }));
  return snapshot;
}

absl::StatusOr<std::vector<TopologyVersion>> SqliteStore::LoadTopologies() {
  const MutexLock lock(&database_mutex_);
  std::vector<TopologyVersion> versions;
  RETURN_IF_ERROR(database_->Query("SELECT version, applied_ns, from_file, source, text FROM topology ORDER BY version",
                                   {}, [&](sqlite3_stmt* row) {
                                     versions.push_back({.version = static_cast<uint64_t>(sqlite3_column_int64(row, 0)),
                                                         .applied = absl::FromUnixNanos(sqlite3_column_int64(row, 1)),
                                                         .source = Database::Bytes(row, 3),
                                                         .from_file = sqlite3_column_int64(row, 2) != 0,
                                                         .text = Database::Bytes(row, 4)});
                                   }));
  return versions;
}

absl::Status SqliteStore::SaveTopology(const TopologyVersion& version) {
  const MutexLock lock(&database_mutex_);
  return database_->Run(
      "INSERT OR REPLACE INTO topology (version, applied_ns, from_file, source, text) VALUES (?, ?, ?, ?, ?)",
      {static_cast<int64_t>(version.version), absl::ToUnixNanos(version.applied), int64_t{version.from_file},
       version.source, version.text});
}

absl::Status SqliteStore::RemoveTopology(uint64_t version) {
  const MutexLock lock(&database_mutex_);
  return database_->Run("DELETE FROM topology WHERE version = ?", {static_cast<int64_t>(version)});
}

}  // namespace copse::planner
