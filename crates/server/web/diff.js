// Differences of texts, by lines.

import { highlight } from "./api.js";
import { el } from "./dom.js";
import { highlightedNodes } from "./markdown.js";

const CONTEXT = 3;
const MAX_CELLS = 4_000_000;
/** Longer texts are highlighted in parts. */
const MAX_HIGHLIGHTED = 60_000;

/** The difference of two texts as a list of `[kind, line]`: " ", "-" or "+". */
export function diffLines(before, after) {
  const a = before === "" ? [] : before.replace(/\n$/, "").split("\n");
  const b = after === "" ? [] : after.replace(/\n$/, "").split("\n");
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start += 1;
  let end = 0;
  while (end < a.length - start && end < b.length - start && a[a.length - 1 - end] === b[b.length - 1 - end]) end += 1;
  const [x, y] = [a.slice(start, a.length - end), b.slice(start, b.length - end)];
  const middle = x.length * y.length > MAX_CELLS
    ? [...x.map((line) => ["-", line]), ...y.map((line) => ["+", line])]
    : longestCommon(x, y);
  return [...a.slice(0, start).map((line) => [" ", line]), ...middle, ...a.slice(a.length - end).map((line) => [" ", line])];
}

function longestCommon(x, y) {
  const width = y.length + 1;
  const lengths = new Uint32Array((x.length + 1) * width);
  for (let i = x.length - 1; i >= 0; i -= 1) {
    for (let j = y.length - 1; j >= 0; j -= 1) {
      lengths[i * width + j] = x[i] === y[j]
        ? lengths[(i + 1) * width + j + 1] + 1
        : Math.max(lengths[(i + 1) * width + j], lengths[i * width + j + 1]);
    }
  }
  const result = [];
  let [i, j] = [0, 0];
  while (i < x.length && j < y.length) {
    if (x[i] === y[j]) {
      result.push([" ", x[i]]);
      i += 1;
      j += 1;
    } else if (lengths[(i + 1) * width + j] >= lengths[i * width + j + 1]) {
      result.push(["-", x[i]]);
      i += 1;
    } else {
      result.push(["+", y[j]]);
      j += 1;
    }
  }
  while (i < x.length) { result.push(["-", x[i]]); i += 1; }
  while (j < y.length) { result.push(["+", y[j]]); j += 1; }
  return result;
}

/** A diff with a few lines of context, numbered from `firstLine` (null: without numbers). A path highlights it. */
export function diffView(before, after, firstLine = 1, path = null) {
  const lines = diffLines(before ?? "", after ?? "");
  const shown = new Array(lines.length).fill(false);
  lines.forEach(([kind], index) => {
    if (kind === " ") return;
    for (let near = Math.max(0, index - CONTEXT); near <= Math.min(lines.length - 1, index + CONTEXT); near += 1) shown[near] = true;
  });
  const node = el("div", { class: "diff", role: "figure", "aria-label": "changes", tabindex: "0" });
  let [oldLine, newLine, isGap] = [0, 0, false];
  const sides = { old: [], new: [] };
  lines.forEach(([kind, line], index) => {
    if (shown[index]) {
      const row = diffLine(kind, line, firstLine === null ? null : firstLine + (kind === "-" ? oldLine : newLine));
      node.append(row);
      sides[kind === "-" ? "old" : "new"].push([kind === "-" ? oldLine : newLine, row.lastChild]);
      isGap = false;
    } else if (!isGap) {
      node.append(el("div", { class: "diff-gap" }, "⋯"));
      isGap = true;
    }
    if (kind !== "+") oldLine += 1;
    if (kind !== "-") newLine += 1;
  });
  if (lines.every(([kind]) => kind === " ")) node.append(el("div", { class: "diff-gap" }, "no visible change"));
  if (path) {
    highlightLines(before ?? "", path, sides.old);
    highlightLines(after ?? "", path, sides.new);
  }
  return node;
}

/** Highlights elements that show lines of a text: pairs of a line number from 0 and an element. */
async function highlightLines(text, path, rows) {
  if (rows.length === 0) return;
  // Of a large file, only the lines that are shown.
  const isLarge = text.length > MAX_HIGHLIGHTED;
  const all = text.split("\n");
  const shown = isLarge ? rows.map(([line]) => all[line] ?? "") : all;
  const source = shown.join("\n");
  if (source.length > MAX_HIGHLIGHTED) return;
  const spans = await highlight(path, source);
  if (!spans) return;
  const starts = [];
  let at = 0;
  for (const line of shown) {
    starts.push(at);
    at += line.length + 1;
  }
  let next = 0;
  rows.forEach(([number], index) => {
    const line = isLarge ? index : number;
    const [start, end] = [starts[line], starts[line] + (shown[line] ?? "").length];
    while (next < spans.length && spans[next][1] <= start) next += 1;
    const inside = [];
    for (let span = next; span < spans.length && spans[span][0] < end; span += 1) {
      inside.push([Math.max(spans[span][0], start) - start, Math.min(spans[span][1], end) - start, spans[span][2]]);
    }
    if (inside.length > 0) rows[index][1].replaceChildren(...highlightedNodes(shown[line], inside));
  });
}

export function diffLine(kind, line, number) {
  const name = { "+": "added", "-": "removed", " ": "same" }[kind];
  return el("div", { class: `diff-line ${name}` },
    el("span", { class: "diff-number" }, number ?? ""), el("span", { class: "diff-sign" }, kind), el("span", { class: "diff-text" }, line));
}

export function diffCount(before, after) {
  let [added, removed] = [0, 0];
  for (const [kind] of diffLines(before ?? "", after ?? "")) {
    if (kind === "+") added += 1;
    else if (kind === "-") removed += 1;
  }
  return { added, removed };
}
