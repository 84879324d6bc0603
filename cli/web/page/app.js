// SPDX-License-Identifier: Apache-2.0
//
// Asks for what has changed once a second, and shows it.
import * as panels from "/panels.js";
import * as questions from "/questions.js";

const PAUSE_MS = 1000;
const FIRST_PAUSE_MS = 100;  // until there is a cluster to see
const HISTORY_PAUSE_MS = 5000;
const viewer = crypto.randomUUID?.() ?? String(Math.random());
const opened = new Map();  // switches, by name
const shown = new Map();
const answers = new Map();
let data = {};
let team = {};
let history = null;
let before = null;  // the daemons' counters before the newest ones
let chosen = null;
let historyAt = -Infinity;

/** Returns the answer; the same object if it is the same text as the last time. */
async function ask(path) {
  const answer = await fetch(path, {headers: {"X-Copse-Viewer": viewer}});
  const text = await answer.text();
  if (answer.ok) {
    const name = path.split("?")[0];
    if (answers.get(name)?.text !== text) answers.set(name, {text, value: JSON.parse(text)});
    return answers.get(name).value;
  }
  const error = new Error(text.trim());
  error.pauseMs = 1000 * Number(answer.headers.get("Retry-After") ?? 0);
  throw error;
}

/** Replaces a panel's content if one of `sources`, what it was made of, is another one, so that what is read stays. */
function show(id, sources, make) {
  const last = shown.get(id);
  if (last && sources.every((source, i) => source === last[i])) return;
  shown.set(id, sources);
  const panel = document.getElementById(id);
  const focused = panel.contains(document.activeElement) ? document.activeElement.textContent : null;
  panel.replaceChildren(make());
  if (focused !== null) [...panel.querySelectorAll("button, summary")].find((one) => one.textContent === focused)?.focus();
}

function choose(id) {
  chosen = id;
  team = {};
  showAll();
  askTeam().then(showAll, showError);
}

async function askTeam() {
  const asked = chosen;
  if (asked === null) return;
  const answer = await ask(`/api/team?id=${asked}`);
  if (asked === chosen) team = answer;
}

async function askCluster() {
  const answer = await ask(`/api/cluster?after=${data.version ?? 0}`);
  if (answer.stats && data.stats) before = data.stats;
  data = {...data, error: "", ...answer};
}

function showError(error) {
  document.getElementById("error").textContent = error ? error.message : "";
}

function showAll() {
  const counters = data.counters;
  if (!data.planner) return;
  show("leader", [data.planner], () => questions.leaderPanel(data));
  if (data.nodes) {
    show("states", [data.nodes, data.planner.version], () => panels.statesPanel(data));
    show("cluster", [data.nodes, data.topology], () => panels.clusterPanel(data, opened));
  }
  show("formations", [counters, data.events, history], () => questions.formationsPanel(data, history));
  show("thread", [data.planner, counters], () => questions.threadPanel(data));
  show("store", [counters], () => questions.storePanel(data));
  show("streams", [counters, data.events, data.quiet], () => questions.streamsPanel(data));
  if (data.teams) show("teams", [data.teams, chosen], () => panels.teamsPanel(data, chosen, choose));
  if (chosen !== null) show("team", [team], () => panels.teamPanel(team));
  if (data.calls) show("calls", [data.calls], () => panels.callsPanel(data));
  if (data.latency) show("latency", [data.latency, team.plans], () => panels.latencyPanel(data, team));
  if (data.stats) {
    show("rates", [data.stats], () => questions.ratesPanel(data, before));
    show("failures", [data.stats], () => questions.failuresPanel(data));
    show("limits", [data.stats, data.nodes], () => questions.limitsPanel(data));
    show("network", [data.stats, data.topology], () => questions.networkPanel(data));
  }
  if (data.events) show("events", [data.events], () => panels.eventsPanel(data));
  if (data.audit !== undefined) show("audit", [data.audit], () => panels.auditPanel(data));
}

async function turn() {
  let pauseMs = PAUSE_MS;
  try {
    await askCluster();
    if (!data.error && !(data.nodes && data.topology)) pauseMs = FIRST_PAUSE_MS;
    chosen ??= data.teams?.[0]?.id ?? null;
    showAll();
    await askTeam();
    if (performance.now() > historyAt + HISTORY_PAUSE_MS) {
      historyAt = performance.now();
      history = await ask("/api/history");
      show("history", [history], () => panels.historyPanel(history));
    }
    showAll();
    showError(data.error ? new Error(data.error) : null);
  } catch (error) {
    pauseMs = Math.max(pauseMs, error.pauseMs ?? 0);
    showError(error);
  }
  setTimeout(turn, pauseMs);
}

document.addEventListener("keydown", (event) => {
  const step = {j: 1, k: -1}[event.key];
  if (!step || event.ctrlKey || event.metaKey || event.altKey) return;
  const ids = (data.teams ?? []).map((row) => row.id);
  if (ids.length === 0) return;
  const next = chosen === null ? 0 : ids.indexOf(chosen) + step;
  choose(ids[Math.min(Math.max(next, 0), ids.length - 1)]);
});
turn();
