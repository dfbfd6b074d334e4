// The input of a tool call: a diff for an edit, otherwise its fields.

import { diffLine, diffView } from "./diff.js";
import { el } from "./dom.js";

const text = (input, names) => names.map((name) => input[name]).find((value) => typeof value === "string");

/** The path in an input; undefined if it has none. */
export const inputPath = (input) => text(input, ["path", "file_path"]);

/** Whether an input shows a change. */
export const isEdit = (input) => [before(input), after(input), patch(input)].some((value) => value !== undefined);

const before = (input) => text(input, ["old_text", "old_string", "search"]);
const after = (input) => text(input, ["new_text", "new_string", "content", "replace"]);
const patch = (input) => text(input, ["patch", "diff"]);

/** The input of a call; highlighted if it is complete. */
export function inputView(input, isComplete = true) {
  if (before(input) !== undefined || after(input) !== undefined) {
    // The place of an edit is not known before it is made.
    const isWhole = before(input) === undefined && typeof input.content === "string";
    return diffView(before(input) ?? "", after(input) ?? "", isWhole ? 1 : null, isComplete ? inputPath(input) : null);
  }
  if (patch(input) !== undefined) {
    return el("div", { class: "diff", tabindex: "0" },
      patch(input).split("\n").map((line) => diffLine("+-".includes(line[0]) && line ? line[0] : " ", line.slice(1))));
  }
  const shown = Object.entries(input).map(([key, value]) => `${key}: ${typeof value === "string" ? value : JSON.stringify(value)}`);
  return el("pre", { class: "action", tabindex: "0" }, shown.join("\n"));
}
