// Questions of a session, answered in place.

import { post } from "./api.js";
import { button, el, report } from "./dom.js";
import { inputView } from "./input.js";

/** The card of a question. `subtask` is set if a subtask asks, `isShown` if a card above shows the call's input. Paths below `root` are relative. */
export function questionCard(session, question, { subtask, isShown, root }) {
  const card = el("section", { class: "question", role: "group", "aria-label": "Question", dataset: { question: question.id } });
  const answer = async (value) => {
    card.querySelectorAll("button, input, textarea").forEach((node) => { node.disabled = true; });
    try {
      await post(`/sessions/${session}/answers`, { question: question.id, answer: value });
    } catch (error) {
      report(error);
      if (error.status !== 409) card.querySelectorAll("button, input, textarea").forEach((node) => { node.disabled = false; });
    }
  };
  if (subtask) card.append(el("p", { class: "muted" }, "A subtask asks:"));
  if (question.question !== undefined) inquiry(card, question, answer);
  else permission(card, question, answer, isShown, root);
  return card;
}

function permission(card, question, answer, isShown, root) {
  card.append(el("h3", {}, describe(question, root)), el("p", { class: "muted" }, question.why), isShown ? "" : actionView(question));
  const buttons = el("div", { class: "buttons" },
    button("Allow once", () => answer({ type: "approve" }), { class: "primary", dataset: { answer: "once" } }),
    question.action?.action === "escalate" ? button("Network only", () => answer({ type: "approve_network" })) : null,
    question.input && typeof question.input === "object" ? button("Edit…", () => editInput(card, question, answer), { dataset: { answer: "edit" } }) : null,
    button("Deny", () => answer({ type: "reject", reason: reason.value.trim() || null }), { class: "danger", dataset: { answer: "deny" } }),
  );
  const rules = question.rules ?? [];
  if (rules.length > 0) {
    const rule = el("select", { "aria-label": "Rule" }, rules.map((text) => el("option", { value: text }, text)));
    card.append(buttons, el("details", {}, el("summary", {}, "Allow more"),
      el("div", { class: "buttons" }, rule,
        button("For this session", () => answer({ type: "approve", scope: "session", rule: rule.value })),
        button("Always in this project", () => answer({ type: "approve", scope: "always", rule: rule.value })))));
  } else card.append(buttons);
  const reason = el("input", { placeholder: "Reason for denying (optional)", "aria-label": "Reason for denying" });
  card.append(reason);
}

/** Lets the user change the command, or the whole input, before it is allowed. */
function editInput(card, question, answer) {
  if (card.querySelector("textarea")) return;
  const command = typeof question.input.command === "string" ? question.input.command : null;
  const text = el("textarea", { rows: "4", "aria-label": command === null ? "Input" : "Command" });
  text.value = command ?? JSON.stringify(question.input, null, 2);
  const apply = () => {
    try {
      answer({ type: "modify", input: command === null ? JSON.parse(text.value) : { ...question.input, command: text.value } });
    } catch (error) { report(error); }
  };
  card.append(text, el("div", { class: "buttons" }, button("Run the edited call", apply, { class: "primary" })));
  text.focus();
}

function inquiry(card, question, answer) {
  card.append(el("h3", {}, question.question));
  const chosen = new Set();
  const choices = question.choices.map((choice, index) => {
    const about = question.descriptions?.[index];
    const label = [el("span", {}, choice), about ? el("small", {}, about) : null];
    if (!question.several) return el("button", { type: "button", onclick: () => answer({ type: "text", text: choice }) }, ...label);
    return el("label", { class: "choice" }, el("input", { type: "checkbox", onchange: (event) => {
      if (event.target.checked) chosen.add(choice); else chosen.delete(choice);
    } }), ...label);
  });
  const free = el("input", { placeholder: "Another answer", "aria-label": "Another answer" });
  const form = el("form", { class: "buttons", onsubmit: (event) => {
    event.preventDefault();
    const parts = [...chosen, free.value.trim()].filter(Boolean);
    if (parts.length > 0) answer({ type: "text", text: parts.join(", ") });
  } }, free, el("button", { type: "submit", class: "primary" }, "Answer"));
  card.append(el("div", { class: "choices" }, choices), form);
}

function describe(question, root) {
  const action = question.action ?? {};
  const path = root && action.path?.startsWith(`${root}/`) ? action.path.slice(root.length + 1) : action.path;
  switch (action.action) {
    case "read": return `Read ${path}?`;
    case "write": return `Change ${path}?`;
    case "run": return "Run this command?";
    case "escalate": return "Run this command outside the sandbox?";
    case "fetch": return `Fetch ${action.url}?`;
    case "mcp": return `Call ${action.tool} of the server ${action.server}?`;
    case "switch_mode": return `Switch to the mode ${action.to}?`;
    case "subtask": return `Start a subtask in mode ${action.mode}?`;
    default: return `${question.tool} asks for permission`;
  }
}

function actionView(question) {
  const action = question.action ?? {};
  const input = question.input;
  if (!action.command && typeof input === "object" && input && Object.keys(input).length > 0) return inputView(input);
  return el("pre", { class: "action", tabindex: "0" }, action.command ?? action.path ?? action.url ?? question.tool);
}
