// SPDX-License-Identifier: Apache-2.0
//
// Makes panels of figures that planner and daemons count: each answers one question.
import {element, table} from "/draw.js";

const ROWS_MAX = 20;

const milliseconds = (us) => `${(us / 1e3).toFixed(us < 1e5 ? 2 : 0)} ms`;
const sum = (values) => values.reduce((all, value) => all + value, 0);

function bytes(value) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  for (; value >= 2048 && unit < units.length - 1; ++unit) value /= 1024;
  return `${value.toFixed(0)} ${units[unit]}`;
}

function duration(seconds) {
  const units = [[86400, "d"], [3600, "h"], [60, "min"]];
  const [size, unit] = units.find(([least]) => seconds >= 2 * least) ?? [1, "s"];
  return `${Math.floor(seconds / size)} ${unit}`;
}

/** Returns a table of names and values. */
function facts(rows) {
  return element("table", {}, ...rows.map(([name, value]) => element("tr", {}, element("th", {scope: "row"}, name), element("td", {}, value))));
}

/** Returns how often each value of `key` stands in the rows, the most frequent first. */
function frequencies(rows, key) {
  const by = new Map();
  for (const row of rows) by.set(key(row), (by.get(key(row)) ?? 0) + 1);
  return [...by].sort((a, b) => b[1] - a[1]);
}

/** Returns the growth a second of a series between its last two known values; null: not known. */
function growth(times, values) {
  const known = times.map((time, i) => [time, values[i]]).filter(([, value]) => value !== null).slice(-2);
  if (known.length < 2) return null;
  const [[begin, first], [end, last]] = known;
  return end > begin && last >= first ? (last - first) / (end - begin) : null;
}

export function leaderPanel(data) {
  const planner = data.planner;
  return facts([
    ["leads", `${planner.leader} (asked: ${planner.address}, ${planner.role}, version ${planner.version})`],
    ["for", duration(planner.since_s)],
    ["term", `${planner.term}: at most ${Math.max(planner.term - 1, 0)} changes of planner before`],
    ["nodes of other clusters", sum((planner.foreign ?? []).map((foreign) => foreign.nodes.length))],
  ]);
}

export function formationsPanel(data, history) {
  const counters = data.counters;
  const rate = history && growth(history.times, history.series["formations.formed"]);
  const failed = (data.events ?? []).filter((row) => row.method === "not formed");
  return element("div", {}, facts([
    ["p50", milliseconds(counters["formations.time_p50_us"] ?? 0)],
    ["p99", milliseconds(counters["formations.time_p99_us"] ?? 0)],
    ["a second", rate === null ? "unknown yet" : rate.toFixed(2)],
    ["formed", counters["formations.formed"] ?? 0],
    ["failed", counters["formations.failed"] ?? 0],
    ["canceled", counters["formations.canceled"] ?? 0],
  ]), table(["not formed, in the last events", "times"], frequencies(failed, (row) => row.result).slice(0, ROWS_MAX), "No failure in the last events."));
}

export function threadPanel(data) {
  const {planner, counters} = data;
  return facts([
    ["longest turn", `${planner.longest_turn_ms.toFixed(2)} ms of processor time${planner.longest_turn_at ? `, ${planner.longest_turn_at}` : ""}`],
    ["turn, p99", milliseconds(counters["loop.turn_p99_us"] ?? 0)],
    ["oldest task", `${planner.oldest_task_ms.toFixed(2)} ms of ${counters["queue.tasks"] ?? 0} that wait`],
    ["oldest ever", milliseconds(counters["queue.oldest_max_us"] ?? 0)],
    ["memory", bytes(counters["process.memory_bytes"] ?? 0)],
  ]);
}

export function storePanel(data) {
  const counters = data.counters;
  return facts([
    ["commit, p99", milliseconds(counters["store.time_p99_us"] ?? 0)],
    ["commits", counters["store.commits"] ?? 0],
    ["failed", counters["store.commits_failed"] ?? 0],
    ["failing for", `${((counters["store.failing_ms"] ?? 0) / 1e3).toFixed(1)} s`],
    ["set aside as damaged", counters["store.quarantined"] ?? 0],
    ["waiting changes", counters["store.waiting_changes"] ?? 0],
    ["disk left", counters["store.free_bytes"] === undefined ? "the store is no file" : bytes(counters["store.free_bytes"])],
  ]);
}

export function streamsPanel(data) {
  const counters = data.counters;
  const registered = (data.events ?? []).filter((row) => row.method === "registered").map((row) => Date.parse(row.time));
  const recent = registered.filter((time) => time > Date.now() - 60e3).length;
  return element("div", {}, facts([
    ["streams", counters.sessions ?? 0],
    ["registered in the last minute", `${recent}${recent && recent === (data.events ?? []).length ? " or more" : ""}: ${(recent / 60).toFixed(2)} a second`],
    ["not taken yet", `${bytes(counters["sessions.queued_bytes"] ?? 0)}, of one daemon ${bytes(counters["sessions.queued_bytes_most"] ?? 0)}`],
  ]), table(["longest silent", "for"], (data.quiet ?? []).map((row) => [row.name, `${row.last_seen_s.toFixed(1)} s`])));
}

export function ratesPanel(data, before) {
  const stats = data.stats;
  const passed = before ? stats.time - before.time : 0;
  const rate = (name, count) => passed > 0 && count >= (before.calls[name] ?? 0) ? ((count - (before.calls[name] ?? 0)) / passed).toFixed(1) : "unknown yet";
  const rows = Object.entries(stats.calls ?? {}).map(([name, count]) => [name, count, rate(name, count)]);
  return element("div", {}, table(["collective", "calls of ranks", "a second"], rows, "No daemon has ended a call."), element("p", {}, "All of these were offloaded. Calls that MPI made itself are known to their programs alone."));
}

export function failuresPanel(data) {
  const {failures, totals} = data.stats;
  return element("div", {}, table(["node", "collective", "reason", "calls of ranks"], failures.map((row) => [row.node, row.collective, row.reason, row.count]), "No call has failed."), element("p", {}, `Refused before they had a number: ${totals["calls.refused"] ?? 0}.`));
}

export function limitsPanel(data) {
  const {accounts, totals} = data.stats;
  const limit = sum((data.nodes ?? []).map((node) => node.memory_limit_bytes ?? 0));
  const held = accounts.flatMap((account) => account.holdings.filter((one) => one.used > 0).map((one) => [account.uid, account.job, one.resource, one.resource.match(/memory|bytes/) ? bytes(one.used) : one.used, one.percent === null ? "no limit" : `${one.percent.toFixed(0)} % at ${one.node}`]));
  const refused = Object.entries(totals).filter(([name, count]) => name.startsWith("quota.refused.") && count > 0).map(([name, count]) => `${name.slice(14)} ${count}`);
  return element("div", {}, facts([
    ["reserved", `${bytes(totals["engine.memory.reserved_bytes"] ?? 0)}, in use ${bytes(totals["engine.memory.used_bytes"] ?? 0)}, of ${bytes(limit)}`],
    ["refused", refused.join(", ") || "none"],
    ["leaked: jobs without a process", totals["quota.orphans"] ?? 0],
  ]), table(["user", "job", "resource", "on all nodes", "most of a limit"], held.slice(0, 5 * ROWS_MAX), "No job holds anything."));
}

export function networkPanel(data) {
  const {totals, worst} = data.stats;
  const names = {"engine.credits.stalls": "credit stalls", "engine.frames.waiting": "frames waiting, now", "engine.sends.waiting": "sends waiting, now", "daemon.neighbors.lost": "neighbors lost", "wire.reconnected": "connections anew"};
  const rows = Object.entries(names).map(([name, text]) => [text, totals[name] ?? 0, (worst[name] ?? []).map((one) => `${one.node} ${one.value}`).join(", ")]);
  const silent = data.stats.silent_count ? `${data.stats.silent_count} did not answer: ${data.stats.silent.join(" ")}.` : "";
  return element("div", {}, table(["what", "all nodes", "most"], rows), element("p", {}, `${data.stats.answered} daemons answered. ${silent}`), element("p", {}, "Links' figures stand in the cluster's tree, as the topology has them; copsectl topo probe measures them."));
}
