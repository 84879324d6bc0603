// SPDX-License-Identifier: Apache-2.0
//
// Asks for the cluster's state once a second, and shows what has changed.
import * as panels from "/panels.js";

const PAUSE_MS = 1000;
const HISTORY_PAUSE_MS = 5000;
const viewer = crypto.randomUUID?.() ?? String(Math.random());
const opened = new Set();
const shown = new Map();
let data = {};
let team = {};
let chosen = null;
let historyAt = -Infinity;

async function ask(path) {
  const answer = await fetch(path, {headers: {"X-Copse-Viewer": viewer}});
  if (answer.ok) return answer.json();
  const error = new Error((await answer.text()).trim());
  error.pauseMs = 1000 * Number(answer.headers.get("Retry-After") ?? 0);
  throw error;
}

/** Replaces a panel's content if `source` differs from what it was made of, so that what is read stays. */
function show(id, source, make) {
  const text = JSON.stringify(source) ?? "";
  if (shown.get(id) === text) return;
  shown.set(id, text);
  const panel = document.getElementById(id);
  const focused = panel.contains(document.activeElement) ? document.activeElement.textContent : null;
  panel.replaceChildren(make());
  if (focused !== null) [...panel.querySelectorAll("button")].find((one) => one.textContent === focused)?.focus();
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

function showError(error) {
  document.getElementById("error").textContent = error ? error.message : "";
}

function showAll() {
  const planner = data.planner;
  show("leader", planner && [planner.leader, planner.role, planner.term], () => `Planner ${planner.address} (${planner.role}, term ${planner.term}, version ${planner.version})`);
  const nodes = data.nodes?.map((node) => [node.name, node.state, node.why]);
  show("states", nodes, () => panels.statesPanel(data));
  show("cluster", [nodes, data.topology], () => panels.clusterPanel(data, opened));
  show("teams", [data.teams, chosen], () => panels.teamsPanel(data, chosen, choose));
  if (chosen !== null) show("team", team, () => panels.teamPanel(team));
  show("calls", data.calls, () => panels.callsPanel(data));
  show("latency", [data.latency, team.plans], () => panels.latencyPanel(data, team));
  show("events", data.events, () => panels.eventsPanel(data));
  show("audit", data.audit, () => panels.auditPanel(data));
}

async function turn() {
  let pauseMs = PAUSE_MS;
  try {
    data = await ask("/api/cluster");
    chosen ??= data.teams?.[0]?.id ?? null;
    await askTeam();
    if (performance.now() > historyAt + HISTORY_PAUSE_MS) {
      historyAt = performance.now();
      const history = await ask("/api/history");
      show("history", history, () => panels.historyPanel(history));
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
