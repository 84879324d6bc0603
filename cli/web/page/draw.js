// SPDX-License-Identifier: Apache-2.0
//
// Makes elements: tables, lines over time, trees.
const SVG = "http://www.w3.org/2000/svg";

/** Returns an element; children are elements or texts. */
export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children.map((child) => child instanceof Node ? child : String(child)));
  return made;
}

function shape(name, attributes, text = "") {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.textContent = text;
  return made;
}

/** Returns a table, or a sentence for one without rows. A cell is an element or a text. */
export function table(heads, rows, empty = "None.") {
  if (rows.length === 0) return element("p", {}, empty);
  const line = (kind, cells) => element("tr", {}, ...cells.map((cell) => element(kind, {}, cell)));
  return element("table", {}, line("th", heads), ...rows.map((cells) => line("td", cells)));
}

/** Returns a line over time with its last value; null is a gap. */
export function chart(name, times, values, format) {
  const [width, height] = [360, 40];
  const known = values.filter((value) => value !== null);
  const last = known.length ? format(known[known.length - 1]) : "unknown";
  const svg = shape("svg", {width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `${name}: ${last}`});
  const [begin, end, top] = [times[0], times[times.length - 1], Math.max(1, ...known)];
  const x = (i) => end > begin ? width * (times[i] - begin) / (end - begin) : width;
  let points = [];
  const finish = () => {
    if (points.length) svg.append(shape("polyline", {points: points.join(" ")}));
    points = [];
  };
  values.forEach((value, i) => value === null ? finish() : points.push(`${x(i)},${height - 1 - (height - 2) * value / top}`));
  finish();
  return element("div", {}, element("span", {}, `${name}: ${last}`), element("br"), svg);
}

/** Returns parents before their children, each with its depth and place: places of leaves are whole numbers. */
export function layOut(edges) {
  const children = new Map();
  const lower = new Set();
  for (const {from, to} of edges) {
    if (!children.has(from)) children.set(from, []);
    if (lower.has(to)) continue;  // an exchange, or a second tree
    children.get(from).push(to);
    lower.add(to);
  }
  const placed = new Map();
  let leaves = 0;
  const place = (name, depth) => {
    if (placed.has(name)) return placed.get(name).place;
    const own = {depth, place: 0};
    placed.set(name, own);
    const below = (children.get(name) ?? []).map((child) => place(child, depth + 1));
    own.place = below.length ? (Math.min(...below) + Math.max(...below)) / 2 : leaves++;
    return own.place;
  };
  for (const name of children.keys()) if (!lower.has(name)) place(name, 0);
  if (placed.size === 0 && edges.length) place(edges[0].from, 0);
  return placed;
}

/** Returns the picture of a plan's edges, with its critical path marked. */
export function planPicture(plan) {
  const placed = layOut(plan.edges);
  const spots = [...placed.values()];
  const [step, drop] = [70, 46];
  const width = step * (1 + Math.max(0, ...spots.map((spot) => spot.place)));
  const height = drop * (1 + Math.max(0, ...spots.map((spot) => spot.depth)));
  const at = (spot) => [step * spot.place + step / 2, drop * spot.depth + 16];
  const svg = shape("svg", {width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `${plan.collective} ${plan.algorithm}`});
  const late = new Set(plan.critical_path);
  for (const {from, to} of plan.edges) {
    if (!placed.has(from) || !placed.has(to)) continue;
    const [[x1, y1], [x2, y2]] = [at(placed.get(from)), at(placed.get(to))];
    const isLate = late.has(from) && late.has(to);
    svg.append(shape("line", {x1, y1: y1 + 4, x2, y2: y2 - 12, ...(isLate ? {class: "late"} : {})}));
  }
  for (const [name, spot] of placed) {
    const [x, y] = at(spot);
    svg.append(shape("text", {x, y, "text-anchor": "middle"}, name));
  }
  return svg;
}
