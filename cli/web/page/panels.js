// SPDX-License-Identifier: Apache-2.0
//
// Makes each panel's content of the data.
import {chart, element, planPicture, table} from "/draw.js";

const NODES_DRAWN_MAX = 64;  // of a switch; beyond it counts alone
const TEAMS_MAX = 500;
const CALLS_MAX = 200;
const OLD_CALL_S = 10;
const UNITS = [[1e6, "s"], [1e3, "ms"], [0, "µs"]];  // from so many microseconds on
const duration = (us) => {
  if (us === undefined) return "";
  const [least, unit] = UNITS.find(([from]) => us >= from) ?? UNITS.at(-1);
  return `${(us / (least || 1)).toFixed(1)} ${unit}`;
};
const state = (text) => element("span", {class: text}, text);

/** What nodes below a switch add up to. */
class Tally {
  constructor() {
    this.states = new Map();
    this.ranks = 0;
  }
  add(node) {
    this.states.set(node.state, (this.states.get(node.state) ?? 0) + 1);
    this.ranks += node.ranks ?? 0;
  }
  addAll(other) {
    for (const [name, count] of other.states) this.states.set(name, (this.states.get(name) ?? 0) + count);
    this.ranks += other.ranks;
  }
  elements() {
    const states = [...this.states].sort().map(([name, count]) => element("span", {class: `${name} node`}, `${count} ${name}`));
    return this.ranks ? [...states, element("span", {class: "node"}, `${this.ranks} ranks`)] : states;
  }
}

function rate(bps) {
  return bps >= 1e9 ? `${(bps / 1e9).toFixed(1)} Gbit/s` : `${(bps / 1e6).toFixed(1)} Mbit/s`;
}

/** Switches by name, with own nodes, lower switches and tallies; and the nodes that the topology lacks. */
function tree(data) {
  const nodes = new Map(data.nodes.map((node) => [node.name, node]));
  const switches = new Map();
  for (const row of data.topology?.switches ?? []) switches.set(row.name, {row, nodes: [], lower: [], tally: new Tally()});
  for (const row of data.topology?.nodes ?? []) {
    const above = switches.get(row.switch);
    const node = nodes.get(row.name) ?? {name: row.name, state: "absent"};
    if (!above) continue;
    above.nodes.push(node);
    above.tally.add(node);
    nodes.delete(row.name);
  }
  const roots = [];
  for (const one of switches.values()) (switches.get(one.row.parent)?.lower ?? roots).push(one);
  const addUp = (one) => {
    for (const lower of one.lower) {
      addUp(lower);
      one.tally.addAll(lower.tally);
    }
  };
  roots.forEach(addUp);
  return {roots, rest: [...nodes.values()]};
}

/** The topology's tree, whose switches are drawn when they are opened; nodes that it lacks hang on its end. */
export function clusterPanel(data, opened) {
  const {roots, rest} = tree(data);
  const rows = (list) => list.length > NODES_DRAWN_MAX ? [] : list.map((node) => element("span", {class: `${node.state} node`, title: node.why ?? ""}, `${node.name} ${node.state}${node.ranks ? ` ${node.ranks} ranks` : ""}`));
  const draw = (one) => {
    const {name, parent, latency_ns, bandwidth_bps} = one.row;
    const link = parent ? element("span", {class: "node"}, `${rate(bandwidth_bps)}, ${duration(latency_ns / 1e3)} up`) : "";
    const details = element("details", {}, element("summary", {}, `${name} `, ...one.tally.elements(), link));
    const fill = () => {
      if (details.open && details.children.length === 1) details.append(...one.lower.map(draw), ...rows(one.nodes));
    };
    details.open = opened.get(name) ?? !parent;
    fill();
    details.addEventListener("toggle", () => {
      opened.set(name, details.open);
      fill();
    });
    return details;
  };
  const tally = new Tally();
  rest.forEach((node) => tally.add(node));
  return element("div", {}, ...roots.map(draw), ...(rest.length > NODES_DRAWN_MAX ? tally.elements() : rows(rest)));
}

export function statesPanel(data) {
  const tally = new Tally();
  const versions = new Map();
  for (const node of data.nodes) {
    tally.add(node);
    if (node.version && node.version !== data.planner.version) versions.set(node.version, (versions.get(node.version) ?? 0) + 1);
  }
  const skewed = [...versions].map(([version, count]) => `${count} with ${version}`);
  return element("span", {}, ...tally.elements(), element("span", {class: `${skewed.length ? "away " : ""}node`}, skewed.length ? `other versions: ${skewed.join(", ")}` : "all of the planner's version"));
}

export function teamsPanel(data, chosen, choose) {
  const rows = data.teams.slice(0, TEAMS_MAX).map((team) => {
    const button = element("button", {type: "button", "aria-pressed": String(team.id === chosen)}, team.id);
    button.addEventListener("click", () => choose(team.id));
    return [button, team.name, team.size, state(team.state), team.why];
  });
  const cut = data.teams.length > TEAMS_MAX ? `The first ${TEAMS_MAX} of ${data.teams.length}.` : "";
  return element("div", {}, table(["team", "name", "ranks", "state", "why"], rows), cut);
}

export function teamPanel(answer) {
  if (answer.error) return element("p", {}, answer.error);
  if (!answer.team) return element("p", {}, "...");
  const plans = answer.plans.slice(0, 40).map((plan) => element("figure", {}, element("figcaption", {}, `${plan.collective}, ${plan.bytes_min} to ${plan.bytes_max} bytes: ${plan.algorithm}, ${duration(plan.predicted_us)}`), planPicture(plan)));
  return element("div", {}, element("p", {}, `${answer.team.name}, ${answer.team.size} ranks, epoch ${answer.team.epoch}: `, state(answer.team.state)), ...plans);
}

export function callsPanel(data) {
  const calls = [...data.calls].sort((a, b) => b.age_s - a.age_s);
  const old = calls.filter((call) => call.age_s > OLD_CALL_S).length;
  const rows = calls.slice(0, CALLS_MAX).map((call) => [call.team, `${call.collective} ${call.sequence}`, element("span", call.age_s > OLD_CALL_S ? {class: "lost"} : {}, `${call.age_s.toFixed(1)} s`), call.joined.length, call.missing.slice(0, 20).join(" "), call.missing_nodes.slice(0, 20).join(" ")]);
  return element("div", {}, element("p", {class: old ? "lost" : "ready"}, `${old} of ${calls.length} are older than ${OLD_CALL_S} s.`), table(["team", "call", "age", "joined", "missing", "on nodes"], rows));
}

/** A row's prediction: that of the plan of the chosen team that is for its sizes. */
export function predictedFor(row, plans) {
  return plans.find((plan) => plan.collective === row.collective && plan.bytes_min <= row.bytes_max && row.bytes_min <= plan.bytes_max);
}

export function latencyPanel(data, answer) {
  return table(["collective", "bytes", "calls", "p50", "p99", "predicted", "p50 / predicted"], data.latency.map((row) => {
    const predicted = predictedFor(row, answer.plans ?? [])?.predicted_us;
    const ratio = predicted ? (row.p50_ns / 1e3 / predicted).toFixed(2) : "";
    return [row.collective, `${row.bytes_min} to ${row.bytes_max}`, row.count, duration(row.p50_ns / 1e3), duration(row.p99_ns / 1e3), duration(predicted), ratio];
  }), "No call has ended well.");
}

export function eventsPanel(data) {
  return table(["time", "who", "what", "with"], [...(data.events ?? [])].reverse().map((row) => [row.time, row.who, row.method, row.result]));
}

export function auditPanel(data) {
  if (data.audit === null) return element("p", {}, "A viewer may not see it: copsectl audit.");
  return table(["time", "who", "method", "result"], [...(data.audit ?? [])].reverse().map((row) => [row.time, row.who, row.method, row.result]));
}

export function historyPanel(history) {
  const format = (name) => (value) => name.endsWith("_us") ? duration(value) : String(value);
  return element("div", {}, ...Object.entries(history.series ?? {}).map(([name, values]) => chart(name, history.times, values, format(name))));
}
