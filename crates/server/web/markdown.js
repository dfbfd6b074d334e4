// Renders Markdown as elements. Text of a model is never parsed as HTML, and links lead only to web addresses.

import { highlight } from "./api.js";
import { el } from "./dom.js";

/** Deeper nested text is shown as it is. */
const MAX_DEPTH = 24;
/** Longer lines are shown as they are: matching takes quadratic time. */
const MAX_LINE = 8000;

let depth = 0;

/** Calls a function that may call itself for nested text; beyond the maximum depth, calls another one instead. */
function nested(render, renderPlain) {
  if (depth >= MAX_DEPTH) return renderPlain();
  depth += 1;
  try {
    return render();
  } finally {
    depth -= 1;
  }
}

/** Renders growing Markdown into a container: unchanged blocks keep their elements. */
export class MarkdownView {
  constructor() {
    this.node = el("div", { class: "markdown" });
    this.blocks = [];
  }

  update(text, finished) {
    const blocks = splitBlocks(text);
    blocks.forEach((block, index) => {
      const isLast = index === blocks.length - 1;
      const state = finished || !isLast ? "done" : "open";
      const known = this.blocks[index];
      if (known && known.text === block && known.state === state) return;
      const node = renderBlock(block, state === "done");
      if (known) known.node.replaceWith(node);
      else this.node.append(node);
      this.blocks[index] = { text: block, state, node };
    });
    for (const rest of this.blocks.splice(blocks.length)) rest.node.remove();
  }
}

/** Renders finished Markdown. */
export function markdown(text) {
  const view = new MarkdownView();
  view.update(text, true);
  return view.node;
}

/** Splits text at blank lines outside of code blocks and lists. */
function splitBlocks(text) {
  const blocks = [];
  let lines = [];
  let fence = null;
  const flush = () => {
    if (lines.some((line) => line.trim())) blocks.push(lines.join("\n"));
    lines = [];
  };
  for (const line of text.split("\n")) {
    const mark = /^\s{0,3}(`{3,}|~{3,})/.exec(line);
    if (fence) {
      lines.push(line);
      if (mark && mark[1].startsWith(fence) && !line.trim().slice(mark[1].length).trim()) {
        fence = null;
        flush();
      }
      continue;
    }
    if (mark) {
      // A code block in a list item stays in the item.
      if (!isList(lines)) flush();
      fence = mark[1];
      lines.push(line);
      continue;
    }
    if (!line.trim()) {
      if (isList(lines)) lines.push(line);
      else flush();
      continue;
    }
    if (isList(lines) && !/^\s/.test(line) && !isItem(line) && !lines[lines.length - 1].trim()) flush();
    const isFirst = lines.length === 0;
    lines.push(line);
    if (isFirst && (HEADING.test(line) || RULE.test(line))) flush();
  }
  flush();
  return blocks;
}

const HEADING = /^\s{0,3}(#{1,6})\s+(.*?)\s*#*$/;
const RULE = /^\s{0,3}([-*_])(\s*\1){2,}\s*$/;

const isItem = (line) => /^\s*([-*+]|\d{1,9}[.)])\s/.test(line);
const isList = (lines) => lines.length > 0 && isItem(lines[0]);

function renderBlock(block, finished) {
  return nested(() => renderNestedBlock(block, finished), () => el("p", {}, block));
}

function renderNestedBlock(block, finished) {
  const lines = block.split("\n");
  const first = lines[0];
  const fence = /^\s{0,3}(`{3,}|~{3,})\s*([^\s`]*)/.exec(first);
  if (fence) {
    const last = lines[lines.length - 1].trim();
    const body = lines.slice(1, lines.length > 1 && last.startsWith(fence[1]) ? -1 : undefined);
    return codeBlock(body.join("\n"), fence[2], finished);
  }
  const heading = HEADING.exec(first);
  if (heading) return el(`h${Math.min(heading[1].length + 2, 6)}`, {}, inline(heading[2]));
  if (RULE.test(first)) return el("hr");
  if (first.startsWith(">")) {
    const inner = lines.map((line) => line.replace(/^\s*>\s?/, "")).join("\n");
    return el("blockquote", {}, splitBlocks(inner).map((part) => renderBlock(part, finished)));
  }
  if (isItem(first)) return list(lines, finished);
  if (lines.length > 1 && first.includes("|") && /^\s*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*$/.test(lines[1])) {
    return table(lines);
  }
  return el("p", {}, paragraph(lines));
}

function paragraph(lines) {
  const nodes = [];
  lines.forEach((line, index) => {
    if (index > 0) nodes.push(/ {2,}$/.test(lines[index - 1]) ? el("br") : "\n");
    nodes.push(inline(line.trim()));
  });
  return nodes;
}

function list(lines, finished) {
  const ordered = /^\s*\d/.test(lines[0]);
  const start = ordered ? parseInt(lines[0].trim(), 10) : undefined;
  const node = el(ordered ? "ol" : "ul", start > 1 ? { start: String(start) } : {});
  const indent = /^\s*/.exec(lines[0])[0].length;
  const items = [];
  for (const line of lines) {
    const depth = /^\s*/.exec(line)[0].length;
    if (isItem(line) && depth <= indent + 1) items.push([line.replace(/^\s*([-*+]|\d{1,9}[.)])\s/, "")]);
    else items[items.length - 1]?.push(line.slice(Math.min(depth, indent + 2)));
  }
  for (const item of items) {
    const task = /^\[([ xX])\]\s+/.exec(item[0]);
    const content = [];
    if (task) {
      content.push(el("input", { type: "checkbox", disabled: true, checked: task[1] !== " ", "aria-label": "task" }), " ");
      item[0] = item[0].slice(task[0].length);
    }
    const rest = [];
    const lead = [];
    let isLead = true;
    for (const line of item) {
      if (isLead && lead.length > 0 && (isItem(line) || !line.trim() || /^\s*(```|~~~)/.test(line))) isLead = false;
      (isLead ? lead : rest).push(line);
    }
    content.push(paragraph(lead));
    if (rest.some((line) => line.trim())) {
      content.push(splitBlocks(rest.join("\n")).map((part) => renderBlock(part, finished)));
    }
    node.append(el("li", {}, content));
  }
  return node;
}

function table(lines) {
  const cells = (line) => line.trim().replace(/^\||\|$/g, "").split(/(?<!\\)\|/).map((cell) => cell.trim().replace(/\\\|/g, "|"));
  const align = cells(lines[1]).map((cell) => (cell.endsWith(":") ? (cell.startsWith(":") ? "center" : "right") : ""));
  const row = (line, tag) => el("tr", {}, cells(line).map((cell, index) => el(tag, { class: align[index] || undefined }, inline(cell))));
  return el("div", { class: "table" }, el("table", {},
    el("thead", {}, row(lines[0], "th")),
    el("tbody", {}, lines.slice(2).filter((line) => line.trim()).map((line) => row(line, "td")))));
}

/** A code block; highlighted by the server once it is complete. */
export function codeBlock(text, language, finished) {
  const code = el("code", {}, text);
  const copy = el("button", { type: "button", class: "copy", title: "Copy", "aria-label": "Copy code",
    onclick: () => navigator.clipboard?.writeText(text) }, "Copy");
  const node = el("div", { class: "code-block" }, el("pre", { tabindex: "0" }, code), copy);
  if (finished && language && text.length < 60000) {
    highlight(language, text).then((spans) => spans && code.replaceChildren(...highlightedNodes(text, spans)));
  }
  return node;
}

/** Text as nodes, with spans by kind of token. */
export function highlightedNodes(text, spans) {
  const nodes = [];
  let at = 0;
  for (const [start, end, kind] of spans) {
    if (start > at) nodes.push(document.createTextNode(text.slice(at, start)));
    nodes.push(el("span", { class: `t-${kind}` }, text.slice(start, end)));
    at = end;
  }
  if (at < text.length) nodes.push(document.createTextNode(text.slice(at)));
  return nodes;
}

const INLINE = new RegExp([
  "(?<code>(?<ticks>`+)(?<inner>[^`]|[^`][\\s\\S]*?[^`])\\k<ticks>(?!`))",
  "\\\\(?<escaped>[\\\\`*_{}\\[\\]()#+\\-.!|~<>])",
  "(?<image>!\\[(?<alt>[^\\]]*)\\]\\((?<src>[^()\\s]*)(?:\\s[^()]*)?\\))",
  "(?<link>\\[(?<label>(?:[^\\[\\]]|\\[[^\\]]*\\])*)\\]\\((?<href>(?:[^()\\s]|\\([^()]*\\))*)(?:\\s+\"[^\"]*\")?\\))",
  "(?<bold>(?<b>\\*\\*|__)(?=\\S)(?<strong>[\\s\\S]*?\\S)\\k<b>)",
  "(?<strike>~~(?=\\S)(?<struck>[\\s\\S]*?\\S)~~)",
  "(?<italic>(?<![\\w*])(?<i>\\*|_)(?=[^\\s*_])(?<em>[^*_]*?[^\\s*_])\\k<i>(?![\\w*]))",
  "(?<url>https?://[^\\s<>\"'`)\\]]+[^\\s<>\"'`)\\].,:;!?])",
].join("|"), "g");

function inline(text) {
  return text.length > MAX_LINE ? [text] : nested(() => inlineNodes(text), () => [text]);
}

function inlineNodes(text) {
  const nodes = [];
  let at = 0;
  for (const match of text.matchAll(INLINE)) {
    if (match.index > at) nodes.push(text.slice(at, match.index));
    at = match.index + match[0].length;
    const part = match.groups;
    if (part.code) nodes.push(el("code", {}, part.inner.trim()));
    else if (part.escaped) nodes.push(part.escaped);
    else if (part.image) nodes.push(link(part.src, [`[image: ${part.alt || part.src}]`]));
    else if (part.link) nodes.push(link(part.href, inline(part.label)));
    else if (part.bold) nodes.push(el("strong", {}, inline(part.strong)));
    else if (part.strike) nodes.push(el("s", {}, inline(part.struck)));
    else if (part.italic) nodes.push(el("em", {}, inline(part.em)));
    else if (part.url) nodes.push(link(part.url, [part.url]));
  }
  if (at < text.length) nodes.push(text.slice(at));
  return nodes;
}

/** A link to a web address; other addresses are only text. */
function link(href, children) {
  let url = null;
  try {
    url = new URL(href);
  } catch { /* A relative address: a file name. */ }
  if (!url || !["http:", "https:", "mailto:"].includes(url.protocol)) return el("span", { class: "file-link", title: href }, children);
  return el("a", { href: url.href, target: "_blank", rel: "noopener noreferrer" }, children);
}
