// SPDX-License-Identifier: Apache-2.0
#include "planner/store/sqlite_store.h"

#include <sqlite3.h>

#include <functional>
#include <set>
#include <type_traits>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "planner/store/team_record_codec.h"

namespace copse::planner {
namespace {

using coordinator::Snapshot;
using coordinator::TeamRecord;
using coordinator::TopologyVersion;

// The tables whose rows have checksums.
constexpr const char* kTables[] = {"team", "aborted", "draining", "meta", "topology"};
constexpr int kSchemaVersion = 1;
// The store and file(1) recognize the file by this id in its header.
constexpr int kApplicationId = 0x43505345;  // "CPSE"

// A Value is a parameter of a statement.
using Value = std::variant<int64_t, std::string>;
using Statement = std::pair<std::string, std::vector<Value>>;

int64_t Integer(TeamId team) { return static_cast<int64_t>(team.value()); }

int64_t Sum(std::string_view table, std::string_view key, std::string_view value) {
  return static_cast<int64_t>(RowSum(table, key, value));
}

Statement PutMeta(const std::string& key, Value value) {
  const auto* number = std::get_if<int64_t>(&value);
  const std::string text = number != nullptr ? absl::StrCat(*number) : std::get<std::string>(value);
  const int64_t sum = Sum("meta", key, text);
  return {"INSERT OR REPLACE INTO meta (key, value, sum) VALUES (CAST(? AS TEXT), ?, ?)", {key, std::move(value), sum}};
}

std::string TopologySumText(const TopologyVersion& version) {
  return absl::StrCat(absl::ToUnixNanos(version.applied), " ", version.from_file ? 1 : 0, " ", version.source, "\n",
                      version.text);
}

void AddStatements(const coordinator::StoreChange& change, std::vector<Statement>& to) {
  std::visit(
      [&](const auto& c) {
        using T = std::decay_t<decltype(c)>;
        if constexpr (std::is_same_v<T, coordinator::PutTeam>) {
          const int64_t id = Integer(c.record->layout.id);
          const std::string bytes = SerializeTeam(*c.record);
          to.push_back({"INSERT OR REPLACE INTO team (id, record, sum) VALUES (?, ?, ?)",
                        {id, bytes, Sum("team", absl::StrCat(id), bytes)}});
        }
        if constexpr (std::is_same_v<T, coordinator::DropTeam>) {
          to.push_back({"DELETE FROM team WHERE id = ?", {Integer(c.team)}});
        }
        if constexpr (std::is_same_v<T, coordinator::PutDraining>) {
          if (c.draining) {
            to.push_back({"INSERT OR REPLACE INTO draining (node, sum, why) VALUES (?, ?, ?)",
                          {c.node, Sum("draining", c.node, ""), c.why}});
          } else {
            to.push_back({"DELETE FROM draining WHERE node = ?", {c.node}});
          }
        }
        if constexpr (std::is_same_v<T, coordinator::PutTerm>) {
          to.push_back(PutMeta("term", static_cast<int64_t>(c.term)));
          to.push_back(PutMeta("since", static_cast<int64_t>(c.since)));
        }
        if constexpr (std::is_same_v<T, coordinator::PutCluster>) {
          to.push_back(PutMeta("cluster", c.uuid));
          to.push_back(PutMeta("cluster_is_new", int64_t{c.is_new}));
        }
        if constexpr (std::is_same_v<T, coordinator::PutAborted>) {
          const int64_t id = Integer(c.team);
          to.push_back(
              {"INSERT OR REPLACE INTO aborted (team, sum) VALUES (?, ?)", {id, Sum("aborted", absl::StrCat(id), "")}});
          to.push_back(
              {"DELETE FROM aborted WHERE team <= "
               "(SELECT team FROM aborted ORDER BY team DESC LIMIT 1 OFFSET ?)",
               {static_cast<int64_t>(coordinator::kAbortedMax)}});
        }
        if constexpr (std::is_same_v<T, coordinator::PutTopology>) {
          const TopologyVersion& version = *c.version;
          to.push_back(
              {"INSERT OR REPLACE INTO topology (version, applied_ns, from_file, source, text, sum) "
               "VALUES (?, ?, ?, ?, ?, ?)",
               {static_cast<int64_t>(version.version), absl::ToUnixNanos(version.applied), int64_t{version.from_file},
                version.source, version.text,
                Sum("topology", absl::StrCat(version.version), TopologySumText(version))}});
        }
        if constexpr (std::is_same_v<T, coordinator::DropTopology>) {
          to.push_back({"DELETE FROM topology WHERE version = ?", {static_cast<int64_t>(c.version)}});
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
    // Trying again does not help: only another program, or another file, does.
    if (tables > 0 && version != kSchemaVersion) {
      return absl::InvalidArgumentError(
          absl::StrCat("state: another version of copse-planner has written it, which alone can read it (state=", path_,
                       ", schema=", version, ", this program's=", kSchemaVersion, ")"));
    }
    if (tables == 0) {
      RETURN_IF_ERROR(Run("CREATE TABLE team (id INTEGER PRIMARY KEY, record BLOB NOT NULL)"));
      RETURN_IF_ERROR(Run("CREATE TABLE aborted (team INTEGER PRIMARY KEY)"));
      RETURN_IF_ERROR(Run("CREATE TABLE draining (node TEXT PRIMARY KEY) WITHOUT ROWID"));
      RETURN_IF_ERROR(Run("CREATE TABLE meta (key TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID"));
      RETURN_IF_ERROR(Run(absl::StrCat("PRAGMA application_id=", kApplicationId)));
      RETURN_IF_ERROR(Run(absl::StrCat("PRAGMA user_version=", kSchemaVersion)));
    }
    // What follows was added without a new schema number, since older planners can ignore it.
    RETURN_IF_ERROR(
        Run("CREATE TABLE IF NOT EXISTS topology (version INTEGER PRIMARY KEY, applied_ns INTEGER NOT NULL, "
            "from_file INTEGER NOT NULL, source BLOB NOT NULL, text BLOB NOT NULL)"));
    // An earlier version has put records of teams aside there.
    RETURN_IF_ERROR(Run("CREATE TABLE IF NOT EXISTS damaged (id INTEGER PRIMARY KEY, record BLOB NOT NULL)"));
    RETURN_IF_ERROR(Run(
        "CREATE TABLE IF NOT EXISTS quarantine (number INTEGER PRIMARY KEY, row TEXT NOT NULL, content BLOB NOT NULL, "
        "why TEXT NOT NULL)"));
    for (const char* table : kTables) RETURN_IF_ERROR(AddColumn(table, "sum", "INTEGER"));
    // The sum leaves it out: earlier versions would not believe the row.
    RETURN_IF_ERROR(AddColumn("draining", "why", "BLOB"));
    return Run("COMMIT");
  }

  // Adds a column that the table may have already.
  absl::Status AddColumn(const char* table, const char* name, const char* type) {
    ASSIGN_OR_RETURN(const int64_t present, Integer(absl::StrCat("SELECT count(*) FROM pragma_table_info('", table,
                                                                 "') WHERE name = '", name, "'")));
    if (present != 0) return absl::OkStatus();
    return Run(absl::StrCat("ALTER TABLE ", table, " ADD COLUMN ", name, " ", type));
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

// A Reader reads all rows, and notes those that are damaged.
class SqliteStore::Reader {
 public:
  explicit Reader(Database* database) : database_(*database) {}

  absl::Status ReadTeams(Snapshot* snapshot) {
    return database_.Query("SELECT id, record, sum FROM team", {}, [&](sqlite3_stmt* row) {
      const int64_t id = sqlite3_column_int64(row, 0);
      const std::string bytes = Database::Bytes(row, 1);
      absl::Status status = Check(row, 2, "team", absl::StrCat(id), bytes);
      absl::StatusOr<TeamRecord> record = status.ok() ? DeserializeTeam(bytes) : status;
      if (record.ok() && record->layout.id.value() != static_cast<uint64_t>(id)) {
        record = absl::InvalidArgumentError(absl::StrCat("it is of team ", record->layout.id.value()));
      }
      if (!record.ok()) return Note({"team", "id", absl::StrCat(id), bytes, record.status()});
      snapshot->teams.emplace(record->layout.id, *std::move(record));
    });
  }

  absl::Status ReadOthers(Snapshot* snapshot) {
    RETURN_IF_ERROR(database_.Query("SELECT team, sum FROM aborted", {}, [&](sqlite3_stmt* row) {
      const int64_t id = sqlite3_column_int64(row, 0);
      const absl::Status status = Check(row, 1, "aborted", absl::StrCat(id), "");
      if (!status.ok()) return Note({"aborted", "team", absl::StrCat(id), "", status});
      snapshot->aborted.insert(TeamId(static_cast<uint64_t>(id)));
    }));
    RETURN_IF_ERROR(database_.Query("SELECT node, sum, why FROM draining", {}, [&](sqlite3_stmt* row) {
      const std::string node = Database::Bytes(row, 0);
      const absl::Status status = Check(row, 1, "draining", node, "");
      if (!status.ok()) return Note({"draining", "node", node, "", status});
      snapshot->draining[node] = Database::Bytes(row, 2);
    }));
    std::set<std::string> terms;
    bool are_damaged = false;
    RETURN_IF_ERROR(database_.Query("SELECT key, value, sum FROM meta", {}, [&](sqlite3_stmt* row) {
      const std::string key = Database::Bytes(row, 0), value = Database::Bytes(row, 1);
      if (const absl::Status status = Check(row, 2, "meta", key, value); !status.ok()) {
        are_damaged = true;
        return Note({"meta", "key", key, value, status});
      }
      const auto number = static_cast<uint64_t>(sqlite3_column_int64(row, 1));
      if (key == "term" || key == "since") terms.insert(key);
      if (key == "term") snapshot->term = number;
      if (key == "since") snapshot->since = number;
      if (key == "cluster") snapshot->cluster = value;
      if (key == "cluster_is_new") snapshot->cluster_is_new = number != 0;
    }));
    // One may have been put aside by a planner that ended before it had recorded a new one.
    if (terms.size() == 1 || (are_damaged && terms.empty())) Outdate(*snapshot);
    ASSIGN_OR_RETURN(const int64_t aside,
                     database_.Integer("SELECT (SELECT count(*) FROM quarantine) + (SELECT count(*) FROM damaged)"));
    snapshot->quarantined = static_cast<uint64_t>(aside);
    return absl::OkStatus();
  }

  absl::Status ReadTopologies(Snapshot* snapshot) {
    return database_.Query("SELECT version, applied_ns, from_file, source, text, sum FROM topology", {},
                           [&](sqlite3_stmt* row) {
                             TopologyVersion version{.version = static_cast<uint64_t>(sqlite3_column_int64(row, 0)),
                                                     .applied = absl::FromUnixNanos(sqlite3_column_int64(row, 1)),
                                                     .source = Database::Bytes(row, 3),
                                                     .from_file = sqlite3_column_int64(row, 2) != 0,
                                                     .text = Database::Bytes(row, 4)};
                             const std::string key = absl::StrCat(version.version), text = TopologySumText(version);
                             const absl::Status status = Check(row, 5, "topology", key, text);
                             if (!status.ok()) return Note({"topology", "version", key, text, status});
                             snapshot->topologies.emplace(version.version, std::move(version));
                           });
  }

  // Moves the damaged rows to the table `quarantine`.
  absl::Status PutAside() {
    std::vector<Statement> statements;
    for (const Damage& damage : damages_) {
      COPSE_LOG(kError, "state: a row is damaged, and put aside (row=", damage.Row(), ", state=", database_.path(),
                "): ", damage.why.message());
      statements.push_back({"INSERT INTO quarantine (row, content, why) VALUES (CAST(? AS TEXT), ?, CAST(? AS TEXT))",
                            {damage.Row(), damage.content, std::string(damage.why.message())}});
      statements.push_back(
          {absl::StrCat("DELETE FROM ", damage.table, " WHERE CAST(", damage.column, " AS BLOB) = CAST(? AS BLOB)"),
           {damage.key}});
    }
    return statements.empty() ? absl::OkStatus() : database_.RunTogether(statements);
  }

  absl::StatusOr<std::vector<std::string>> Lines() {
    std::vector<std::string> lines;
    RETURN_IF_ERROR(database_.Query("PRAGMA integrity_check(10)", {}, [&](sqlite3_stmt* row) {
      if (const std::string line = Database::Bytes(row, 0); line != "ok") lines.push_back("file: " + line);
    }));
    for (const Damage& damage : damages_) lines.push_back(absl::StrCat(damage.Row(), ": ", damage.why.message()));
    RETURN_IF_ERROR(database_.Query("SELECT row, why FROM quarantine", {}, [&](sqlite3_stmt* row) {
      lines.push_back(absl::StrCat(Database::Bytes(row, 0), ": in quarantine: ", Database::Bytes(row, 1)));
    }));
    RETURN_IF_ERROR(database_.Query("SELECT id FROM damaged", {}, [&](sqlite3_stmt* row) {
      lines.push_back(absl::StrCat("team/", sqlite3_column_int64(row, 0), ": in quarantine"));
    }));
    return lines;
  }

  size_t damages() const { return damages_.size(); }

 private:
  struct Damage {
    const char* table;
    const char* column;  // of the key
    std::string key;
    std::string content;
    absl::Status why;
    std::string Row() const { return absl::StrCat(table, "/", key); }
  };

  static absl::Status Check(sqlite3_stmt* row, int column, std::string_view table, std::string_view key,
                            std::string_view value) {
    if (sqlite3_column_type(row, column) == SQLITE_NULL) return absl::OkStatus();
    const int64_t recorded = sqlite3_column_int64(row, column), sum = Sum(table, key, value);
    if (recorded == sum) return absl::OkStatus();
    return absl::DataLossError(absl::StrCat("its checksum differs (sum=", sum, ", recorded=", recorded, ")"));
  }
  void Note(Damage damage) { damages_.push_back(std::move(damage)); }

  Database& database_;
  std::vector<Damage> damages_;
};

absl::StatusOr<Snapshot> SqliteStore::Load() {
  const MutexLock lock(&database_mutex_);
  Snapshot snapshot;
  Reader reader(database_.get());
  RETURN_IF_ERROR(reader.ReadTeams(&snapshot));
  RETURN_IF_ERROR(reader.ReadOthers(&snapshot));
  RETURN_IF_ERROR(reader.ReadTopologies(&snapshot));
  RETURN_IF_ERROR(reader.PutAside());
  snapshot.quarantined += reader.damages();
  return snapshot;
}

absl::StatusOr<StateReading> SqliteStore::ReadState() {
  const MutexLock lock(&database_mutex_);
  StateReading reading;
  Reader reader(database_.get());
  RETURN_IF_ERROR(reader.ReadTeams(&reading.snapshot));
  RETURN_IF_ERROR(reader.ReadOthers(&reading.snapshot));
  RETURN_IF_ERROR(reader.ReadTopologies(&reading.snapshot));
  ASSIGN_OR_RETURN(reading.damaged, reader.Lines());
  return reading;
}

}  // namespace copse::planner
