// Charts of the context and the cost, as SVG.

import { dollars, el, svg, tokens } from "./dom.js";

const COLOURS = ["c1", "c2", "c3", "c4", "c5", "c6", "c7", "c8"];
/** The colour of the n-th largest section; the small ones share the last. */
const colour = (index) => COLOURS[Math.min(index, COLOURS.length - 1)];

/** What fills the context window: the sections of the newest request as one bar with a legend. */
export function contextChart(ledger, window) {
  const last = [...ledger].reverse().find((row) => row.purpose === "turn" && row.sections.length > 0);
  if (!last) return el("p", { class: "muted" }, "No request yet.");
  const groups = new Map();
  for (const section of last.sections) {
    const name = groupName(section.name);
    const group = groups.get(name) ?? { name, tokens: 0, cached: 0 };
    group.tokens += section.tokens;
    group.cached += section.cached;
    groups.set(name, group);
  }
  const rows = [...groups.values()].sort((a, b) => b.tokens - a.tokens);
  const used = rows.reduce((sum, row) => sum + row.tokens, 0);
  // A prompt that is small for its window is shown enlarged.
  const size = Math.max(used > window / 10 ? window || 0 : used * 1.1, used, 1);
  let x = 0;
  const bars = rows.flatMap((row, index) => {
    const width = (row.tokens / size) * 1000;
    const parts = [svg("rect", { x, y: 0, width, height: 28, class: colour(index) }, svg("title", {}, `${row.name}: ${tokens(row.tokens)}`))];
    if (row.cached > 0) parts.push(svg("rect", { x, y: 22, width: (row.cached / size) * 1000, height: 6, class: "cached" }));
    x += width;
    return parts;
  });
  const label = `${tokens(used)} of ${window ? tokens(window) : "an unknown window"} tokens`;
  const share = window ? ` (${Math.round((used / window) * 100)} %)` : "";
  return el("figure", { class: "chart" },
    el("figcaption", {}, `What fills the window: ${label}${share}`),
    svg("svg", { viewBox: "0 0 1000 28", preserveAspectRatio: "none", role: "img", "aria-label": label, class: "bar" },
      svg("rect", { x: 0, y: 0, width: 1000, height: 28, class: "free" }), ...bars),
    el("table", { class: "legend" },
      el("thead", {}, el("tr", {}, ["Section", "Tokens", "Cached"].map((name) => el("th", { scope: "col" }, name)))),
      el("tbody", {}, rows.map((row, index) => el("tr", {},
        el("td", {}, swatch(colour(index)), row.name), el("td", {}, tokens(row.tokens)), el("td", {}, tokens(row.cached)))))));
}

function groupName(section) {
  const parts = section.split("/");
  return ["history", "turn"].includes(parts[0]) && parts[1] === "results" ? `results of ${parts[2] ?? "tools"}` : parts.slice(0, 2).join(" ");
}

function swatch(colour) {
  return svg("svg", { viewBox: "0 0 10 10", class: "swatch", "aria-hidden": "true" }, svg("rect", { width: 10, height: 10, class: colour }));
}

/** The prompts of all requests: read from the cache, written to it, new; and replies. */
export function cacheChart(ledger) {
  const rows = ledger.filter((row) => row.input + row.cache_read + row.cache_write + row.output > 0).slice(-60);
  if (rows.length === 0) return el("p", { class: "muted" }, "No request yet.");
  const kinds = [["cache_read", "cached", "Read from the cache"], ["cache_write", "c3", "Written to the cache"], ["input", "c2", "New"], ["output", "c1", "Reply"]];
  const most = Math.max(...rows.map((row) => kinds.reduce((sum, [key]) => sum + row[key], 0)));
  return barChart("Tokens of each request", "Request", rows.map((row) => ({
    label: `${row.purpose}, ${row.model}`, parts: kinds.map(([key, colour, name]) => ({ value: row[key], colour, name })),
  })), most, tokens, kinds);
}

/** What each turn cost: requests that follow a prompt belong to its turn. */
export function costChart(ledger, items) {
  const turns = [];
  const prompts = items.filter((item) => item.kind === "prompt");
  for (const row of ledger) {
    const index = prompts.findLastIndex((item) => item.at_ms <= row.at_ms);
    const key = Math.max(index, 0);
    turns[key] ??= { label: prompts[key] ? promptText(prompts[key]) : "before the first prompt", cost: 0, requests: 0 };
    turns[key].cost += row.cost_usd ?? 0;
    turns[key].requests += 1;
  }
  const rows = turns.filter(Boolean).slice(-60);
  if (rows.length === 0) return el("p", { class: "muted" }, "No request yet.");
  const total = ledger.reduce((sum, row) => sum + (row.cost_usd ?? 0), 0);
  const most = Math.max(...rows.map((row) => row.cost), 1e-9);
  return barChart(`Cost of each turn: ${dollars(total)} in total`, "Turn", rows.map((row) => ({
    label: `${row.label} (${row.requests === 1 ? "1 request" : `${row.requests} requests`})`, parts: [{ value: row.cost, colour: "c1", name: "Cost" }],
  })), most, dollars, [["cost", "c1", "Cost"]]);
}

function promptText(item) {
  const text = item.parts.filter((part) => part.type === "text" && !part.origin).map((part) => part.text).join(" ");
  return text.length > 60 ? `${text.slice(0, 60)}…` : text;
}

function barChart(caption, unit, rows, most, format, legend) {
  const width = 600;
  const step = width / Math.max(rows.length, 8);
  const bars = rows.flatMap((row, index) => {
    let y = 120;
    return row.parts.filter((part) => part.value > 0).map((part) => {
      const height = Math.max((part.value / most) * 118, 1);
      y -= height;
      return svg("rect", { x: index * step + 1, y, width: Math.max(step - 2, 1), height, class: part.colour },
        svg("title", {}, `${row.label}\n${part.name}: ${format(part.value)}`));
    });
  });
  return el("figure", { class: "chart" }, el("figcaption", {}, caption, el("span", { class: "muted" }, ` (highest: ${format(most)})`)),
    svg("svg", { viewBox: `0 0 ${width} 120`, preserveAspectRatio: "none", role: "img", "aria-label": caption, class: "bars" }, ...bars),
    el("div", { class: "chips" }, legend.map(([, colour, name]) => el("span", { class: "chip" }, swatch(colour), name))),
    // Also for touch screens and screen readers, which do not show the titles of bars.
    el("details", {}, el("summary", {}, "Figures"), el("div", { class: "table" }, el("table", { class: "legend" },
      el("thead", {}, el("tr", {}, [unit, ...legend.map(([, , name]) => name)].map((name) => el("th", { scope: "col" }, name)))),
      el("tbody", {}, [...rows].reverse().map((row) => el("tr", {}, el("td", {}, row.label), row.parts.map((part) => el("td", {}, format(part.value))))))))));
}
