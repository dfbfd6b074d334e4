// Dialogs of a session: review, rewind, charts, jobs, settings; and of the server: devices.

import { get, post, request } from "./api.js";
import { cacheChart, contextChart, costChart } from "./charts.js";
import { diffView } from "./diff.js";
import { codeBlock } from "./markdown.js";
import { ago, button, dialog, dollars, el, fill, report, svg, toast, tokens } from "./dom.js";

/** The unreviewed changes: hunks are accepted or rejected one by one, by file or all at once. Returns what reloads them. */
export async function reviewView(session) {
  let isDeciding = false;
  const body = el("div", {}, "Loading…");
  const box = dialog("Changes", body);
  const load = async () => {
    const files = await get(`/sessions/${session}/changes`);
    const all = files.flatMap((file) => file.hunks.map((hunk) => hunk.id));
    const decide = async (decision) => {
      isDeciding = true;
      try {
        toast((await post(`/sessions/${session}/changes`, decision)).message);
      } catch (error) { report(error); }
      isDeciding = false;
      await load().catch(report);
    };
    const pair = (ids, label) => el("div", { class: "buttons" },
      button(`Accept${label}`, () => decide({ accept: ids }), { class: "primary", dataset: { review: "accept" } }),
      button(`Reject${label}`, () => decide({ reject: ids }), { class: "danger", dataset: { review: "reject" } }));
    fill(body,
      files.length === 0 ? el("p", { class: "muted" }, "Nothing to review.") : pair(all, " all"),
      files.map((file) => el("section", { class: "file" },
        el("h3", {}, file.path, el("small", {}, ` ${file.status}`)),
        file.no_diff_reason ? el("p", { class: "muted" }, file.no_diff_reason) : null,
        file.hunks.map((hunk) => el("div", { class: "hunk" },
          hunk.has_user_edits ? el("p", { class: "muted" }, "includes your edits") : null,
          diffView(hunk.before, hunk.after, hunk.line, file.path), pair([hunk.id], ""))),
        files.length > 1 && file.hunks.length > 1 ? pair(file.hunks.map((hunk) => hunk.id), " this file") : null)),
      el("div", { class: "buttons" }, button("Undo last turn", () => restore(session, "undo")), button("Redo", () => restore(session, "redo"))));
  };
  await load().catch((error) => { report(error); box.close(); });
  return () => { if (box.open && !isDeciding) load().catch(() => {}); };
}

/** Undoes, redoes or rewinds; asks about files that were changed outside the session. Returns the report; false if nothing was done. */
export async function restore(session, operation, body = {}) {
  try {
    const result = await post(`/sessions/${session}/${operation}`, body);
    if (result.conflicts.length === 0) {
      toast(result.message);
      return result;
    }
    return await new Promise((resolve) => {
      const again = async (conflicts) => {
        box.close();
        resolve(await restore(session, operation, { ...body, conflicts }));
      };
      const box = dialog("Changed outside the session", el("ul", {}, result.conflicts.map((path) => el("li", {}, path))),
        el("div", { class: "buttons" }, button("Keep these files", () => again("keep"), { class: "primary" }), button("Overwrite them", () => again("overwrite"), { class: "danger" })));
      box.addEventListener("close", () => resolve(false));
    });
  } catch (error) {
    report(error);
    return false;
  }
}

/** Rewinds to before a prompt; `done` receives its text, and whether it was the first one, so that a new session follows. */
export function rewindView(session, prompts, done) {
  const box = dialog("Rewind to before a prompt", prompts.length === 0 ? el("p", { class: "muted" }, "There is no prompt yet.") : el("div", {},
    [...prompts].reverse().map(({ item }) => {
      const text = item.parts.filter((part) => part.type === "text" && !part.origin).map((part) => part.text).join("\n");
      const go = async (parts) => {
        box.close();
        const report = await restore(session, "rewind", { prompt: item.id, parts });
        if (report && parts !== "files") done(text, !report.head);
      };
      return el("section", { class: "file" }, el("p", { class: "clamp" }, text), el("div", { class: "buttons" },
        button("Conversation and files", () => go("both"), { class: "primary" }), button("Conversation", () => go("conversation")), button("Files", () => go("files"))));
    })));
}

/** Charts of the context and the cost. */
export async function chartsView(session, settings, items) {
  try {
    const ledger = await get(`/sessions/${session}/ledger`);
    const total = (key) => ledger.reduce((sum, row) => sum + (row[key] ?? 0), 0);
    dialog("Context and cost",
      el("p", { class: "muted" }, `${ledger.length} requests, ${tokens(total("input") + total("cache_read") + total("cache_write"))} prompt tokens (${tokens(total("cache_read"))} cached), ${tokens(total("output"))} reply tokens, ${dollars(total("cost_usd"))}`),
      contextChart(ledger, settings?.context_window), cacheChart(ledger), costChart(ledger, items));
  } catch (error) { report(error); }
}

/** Background jobs with their output. */
export async function jobsView(session) {
  const body = el("div", {}, "Loading…");
  const box = dialog("Jobs", body);
  const load = async () => {
    const jobs = await get(`/sessions/${session}/jobs`);
    fill(body, jobs.length === 0 ? el("p", { class: "muted" }, "No background jobs.") : null, jobs.map((job) => el("section", { class: "file" },
      el("h3", {}, `${job.id}. ${job.command}`, el("small", {}, ` ${job.state}`)),
      el("pre", { class: "output terminal", tabindex: "0" }, job.output),
      job.running ? el("div", { class: "buttons" }, button("Stop", async () => { await post(`/sessions/${session}/jobs/${job.id}/stop`).catch(report); load(); }, { class: "danger" })) : null)),
      el("div", { class: "buttons" }, button("Move the running command to the background", async () => {
        await post(`/sessions/${session}/background`).then((result) => toast(result.message), report);
        load();
      })));
  };
  await load().catch(report);
  const timer = setInterval(() => load().catch(() => {}), 2000);
  box.addEventListener("close", () => clearInterval(timer));
}

/** Subtasks with their progress: they can be steered and stopped. `current` returns them. Returns what shows them anew. */
export function subtasksView(session, current) {
  const none = el("p", { class: "muted" }, "No subtasks since this page was opened.");
  const body = el("div", {}, none);
  const box = dialog("Subtasks", body);
  const rows = new Map();
  // Rows are changed in place, so that an input keeps its text and the focus.
  const show = () => {
    if (!box.open) return;
    const subtasks = current();
    none.hidden = subtasks.size > 0;
    for (const [id, row] of rows) {
      if (subtasks.has(id)) continue;
      row.node.remove();
      rows.delete(id);
    }
    for (const [id, subtask] of subtasks) {
      if (!rows.has(id)) {
        rows.set(id, subtaskRow(session, id, subtask.title));
        body.append(rows.get(id).node);
      }
      const { state, output, form } = rows.get(id);
      state.textContent = subtask.isWorking ? " working" : " done";
      output.textContent = subtask.lines.join("\n");
      form.hidden = !subtask.isWorking;
    }
  };
  show();
  return show;
}

function subtaskRow(session, id, title) {
  const act = (name, data) => post(`/sessions/${session}/subtasks/${id}/${name}`, data).then(() => toast("Sent"), report);
  const state = el("small", {});
  const output = el("pre", { class: "output", tabindex: "0" });
  const message = el("input", { placeholder: "Message to this subtask", "aria-label": `Message to ${title}` });
  const form = el("form", { class: "buttons", onsubmit: (event) => {
    event.preventDefault();
    if (message.value.trim()) act("prompts", { text: message.value.trim() });
    message.value = "";
  } }, message, el("button", { type: "submit" }, "Steer"), button("Stop", () => act("interrupt"), { class: "danger" }));
  return { node: el("section", { class: "file" }, el("h3", {}, title, state), output, form), state, output, form };
}

/** Code of the project that is about these words. */
export async function codeView(session, words) {
  const body = el("div", {}, "Searching…");
  const box = dialog(`Code: ${words}`, body);
  try {
    const found = await get(`/sessions/${session}/code?q=${encodeURIComponent(words)}`);
    fill(body, found.length === 0 ? el("p", { class: "muted" }, "Nothing found.") : found.map((match) => el("section", { class: "file" },
      el("h3", {}, `${match.path}:${match.lines}`, el("small", {}, ` ${[match.symbol, match.reasons].filter(Boolean).join(" · ")}`)),
      codeBlock(match.text, match.path, true))));
  } catch (error) {
    box.close();
    report(error);
  }
}

/** The rules files, with the text of those in the project. */
export async function rulesView(session) {
  const files = await get(`/sessions/${session}/rules`).catch(report);
  if (!files) return;
  dialog("Rules files", files.map((file) => {
    const text = el("div", {});
    const details = el("details", { ontoggle: () => {
      if (!details.open || text.firstChild) return;
      get(`/sessions/${session}/file?path=${encodeURIComponent(file.path)}`).then(
        (loaded) => fill(text, el("pre", { class: "output", tabindex: "0" }, loaded.text)), (error) => fill(text, el("p", { class: "muted" }, error.message)));
    } }, el("summary", {}, file.name, el("small", {}, ` ${file.description}`)), text);
    return details;
  }));
}

/** The report of a command. */
export function reportView(title, text) {
  dialog(title, el("pre", { class: "output", tabindex: "0" }, text));
}

/** The model, the mode, permissions, panels, servers and the configuration. */
export async function settingsView(session, settings, opened) {
  const change = (body) => request("PATCH", `/sessions/${session}/settings`, body).then(() => toast("Changed"));
  const pick = (label, options, current, apply) => el("label", { class: "field" }, label, el("select", { onchange: ({ target }) => {
    apply(target.value).then(() => { current = target.value; }, (error) => {
      report(error);
      target.value = current;
    });
  } },
    options.map((option) => el("option", { value: option.name, selected: option.name === current, disabled: Boolean(option.unavailable) },
      option.unavailable ? `${option.name} (${option.unavailable})` : option.name))));
  try {
    const [models, modes, panels, servers, rules, config] = await Promise.all(
      ["models", "modes", "panels", "servers", "permissions", "config"].map((name) => get(`/sessions/${session}/${name}`)));
    if (!models.some((model) => model.name === settings.model)) models.unshift({ name: settings.model });
    const levels = ["read-only", "workspace", "full"].map((name) => ({ name }));
    const efforts = ["default", "none", "minimal", "low", "medium", "high", "max"].map((name) => ({ name }));
    const approvals = [["ask", "Ask about each"], ["allow", "As configured"]].map(([name, label]) =>
      button(label, () => change({ edit_approval: name }).then(() => mark(name), report), { dataset: { approval: name } }));
    const mark = (current) => approvals.forEach((node) => node.classList.toggle("primary", node.dataset.approval === current));
    mark(settings.edit_approval);
    dialog("Settings",
      pick("Model", models, settings.model, (model) => change({ model })),
      pick("Mode", modes, settings.mode, (mode) => change({ mode })),
      pick("Permission", levels, settings.permission, (permission) => change({ permission })),
      pick("Effort", efforts, settings.effort || "default", (effort) => change({ effort })),
      el("div", { class: "buttons" }, "Changes and commands:",
        approvals),
      el("p", { class: "muted" }, `Sandbox: ${settings.sandbox}. Rules files: ${settings.rules.join(", ") || "none"}.`),
      section("Panels", opened === "panels", panels.map((panel) => el("label", { class: "choice" }, el("input", { type: "checkbox", checked: panel.open,
        onchange: (event) => post(`/sessions/${session}/panels`, { name: panel.name, open: event.target.checked }).then((result) => toast(result.message), report) }), panel.name))),
      section("Servers", opened === "servers", servers.map((server) => el("p", {}, `${server.kind} ${server.name}: ${server.state}`))),
      section("Permission rules", opened === "permissions", rules.map((rule) => el("p", { class: "row" }, el("span", {}, `${rule.effect} ${rule.rule}`, el("small", {}, ` ${rule.origin}`)),
        rule.revocation === "none" ? null : button("Revoke", (event) => {
          event.target.disabled = true;
          post(`/sessions/${session}/permissions/revoke`, { rule: rule.rule }).then(() => toast("Revoked"), report);
        }, { class: "plain" })))),
      section("Configuration", false, config.filter((row) => row.value).map((row) => el("p", { title: row.description }, el("code", {}, row.key), ` = ${row.value}`, el("small", {}, ` ${row.origin}`)))));
  } catch (error) { report(error); }
}

function section(title, open, rows) {
  return el("details", { open }, el("summary", {}, `${title} (${rows.length})`), rows);
}

/** The commands and the keys. */
export function helpView(commands, keys) {
  const row = ([name, text]) => el("tr", {}, el("th", { scope: "row" }, name), el("td", {}, text));
  dialog("Help", el("h3", {}, "Commands"), el("table", { class: "legend help" }, el("tbody", {}, commands.map(([name, text]) => row([`/${name}`, text])))),
    el("h3", {}, "Keys"), el("table", { class: "legend help" }, el("tbody", {}, keys.map(row))));
}

/** Paired devices, and a link that pairs another one. */
export async function devicesView(me) {
  const body = el("div", {}, "Loading…");
  dialog("Devices", body);
  const load = async () => {
    const devices = await get("/devices");
    fill(body, button("Pair another device", async () => {
      try { showLink(await post("/pairings"), "Open this link on the other device. It works once, for 10 minutes."); } catch (error) { report(error); }
    }, { class: "primary" }), el("ul", { class: "rows" }, devices.map((device) => el("li", { class: "row" },
      el("span", {}, device.name, device.id === me.device ? " (this device)" : "", el("small", {}, ` ${device.kind}, used ${ago(device.used_ms)}`)),
      button("Revoke", async () => {
        await request("DELETE", `/devices/${device.id}`).catch(report);
        if (device.id === me.device) location.replace("/pair");
        else load();
      }, { class: "danger" })))));
  };
  await load().catch(report);
}

export function showLink(link, text) {
  dialog("Link", el("p", {}, text), qrCode(link.qr), el("p", { class: "link" }, link.url),
    button("Copy", () => navigator.clipboard?.writeText(link.url).then(() => toast("Copied")), { class: "primary" }));
}

function qrCode(rows) {
  const size = rows.length + 8;
  const path = rows.flatMap((row, y) => [...row].map((module, x) => (module === "1" ? `M${x + 4} ${y + 4}h1v1h-1z` : ""))).join("");
  return svg("svg", { viewBox: `0 0 ${size} ${size}`, class: "qr", role: "img", "aria-label": "QR code of the link", "shape-rendering": "crispEdges" },
    svg("rect", { width: size, height: size, fill: "#fff" }), svg("path", { d: path, fill: "#000" }));
}
