// SPDX-License-Identifier: Apache-2.0
//
// Makes each panel's content of the data.
import {chart, element, planPicture, table} from "/draw.js";

const NODES_DRAWN_MAX = 64;  // of a switch; beyond it counts alone
const microseconds = (value) => value === undefined ? "" : `${value.toFixed(1)} µs`;
const state = (text) => element("span", {class: text}, text);

function counts(nodes) {
  const by = new Map();
  for (const node of nodes) by.set(node.state, (by.get(node.state) ?? 0) + 1);
  return [...by].sort().map(([name, count]) => element("span", {class: `${name} node`}, `${count} ${name}`));
}

/** The topology's tree; nodes that it lacks hang on its end. */
export function clusterPanel(data, opened) {
  const nodes = new Map((data.nodes ?? []).map((node) => [node.name, node]));
  const topology = data.topology ?? {switches: [], nodes: []};
  const own = new Map();
  const placed = new Set();
  for (const row of topology.nodes) {
    const node = nodes.get(row.name) ?? {name: row.name, state: "absent"};
    if (!own.has(row.switch)) own.set(row.switch, []);
    own.get(row.switch).push(node);
    placed.add(row.name);
  }
  const below = new Map();
  for (const row of topology.switches) {
    if (!below.has(row.parent)) below.set(row.parent, []);
    below.get(row.parent).push(row.name);
  }
  const all = (name) => [...(own.get(name) ?? []), ...(below.get(name) ?? []).flatMap(all)];
  const rows = (list) => list.length > NODES_DRAWN_MAX ? [] : list.map((node) => element("span", {class: `${node.state} node`, title: node.why ?? ""}, `${node.name} ${node.state}`));
  const draw = (name) => {
    const details = element("details", opened.has(name) ? {open: ""} : {}, element("summary", {}, `${name} `, ...counts(all(name))), ...(below.get(name) ?? []).map(draw), ...rows(own.get(name) ?? []));
    details.addEventListener("toggle", () => details.open ? opened.add(name) : opened.delete(name));
    return details;
  };
  const rest = [...nodes.values()].filter((node) => !placed.has(node.name));
  return element("div", {}, ...(below.get("") ?? []).map(draw), ...counts(rest.length > NODES_DRAWN_MAX ? rest : []), ...rows(rest));
}

export function statesPanel(data) {
  return element("span", {}, ...counts(data.nodes ?? []));
}

export function teamsPanel(data, chosen, choose) {
  return table(["team", "name", "ranks", "state", "why"], (data.teams ?? []).slice(0, 500).map((team) => {
    const button = element("button", {type: "button", "aria-pressed": String(team.id === chosen)}, team.id);
    button.addEventListener("click", () => choose(team.id));
    return [button, team.name, team.size, state(team.state), team.why];
  }));
}

export function teamPanel(answer) {
  if (answer.error) return element("p", {}, answer.error);
  if (!answer.team) return element("p", {}, "...");
  const plans = answer.plans.slice(0, 40).map((plan) => element("figure", {}, element("figcaption", {}, `${plan.collective}, ${plan.bytes_min} to ${plan.bytes_max} bytes: ${plan.algorithm}, ${microseconds(plan.predicted_us)}`), planPicture(plan)));
  return element("div", {}, element("p", {}, `${answer.team.name}, ${answer.team.size} ranks, epoch ${answer.team.epoch}: `, state(answer.team.state)), ...plans);
}

export function callsPanel(data) {
  return table(["team", "call", "age", "joined", "missing", "on nodes"], (data.calls ?? []).slice(0, 200).map((call) => [call.team, `${call.collective} ${call.sequence}`, `${call.age_s.toFixed(1)} s`, call.joined.length, call.missing.slice(0, 20).join(" "), call.missing_nodes.slice(0, 20).join(" ")]));
}

/** A row's prediction: that of the plan of the chosen team that is for its sizes. */
export function predictedFor(row, plans) {
  return plans.find((plan) => plan.collective === row.collective && plan.bytes_min <= row.bytes_max && row.bytes_min <= plan.bytes_max);
}

export function latencyPanel(data, answer) {
  return table(["collective", "bytes", "calls", "p50", "p99", "predicted"], (data.latency ?? []).map((row) => [row.collective, `${row.bytes_min} to ${row.bytes_max}`, row.count, microseconds(row.p50_ns / 1e3), microseconds(row.p99_ns / 1e3), microseconds(predictedFor(row, answer.plans ?? [])?.predicted_us)]));
}

export function eventsPanel(data) {
  return table(["time", "who", "what", "with"], [...(data.events ?? [])].reverse().map((row) => [row.time, row.who, row.method, row.result]));
}

export function auditPanel(data) {
  if (data.audit === null) return element("p", {}, "A viewer may not see it: copsectl audit.");
  return table(["time", "who", "method", "result"], [...(data.audit ?? [])].reverse().map((row) => [row.time, row.who, row.method, row.result]));
}

export function historyPanel(history) {
  const format = (name) => (value) => name.endsWith("_us") ? microseconds(value) : String(value);
  return element("div", {}, ...Object.entries(history.series ?? {}).map(([name, values]) => chart(name, history.times, values, format(name))));
}
