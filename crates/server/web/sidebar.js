// The list of sessions with their states, and the search in all of them.

import { get } from "./api.js";
import { ago, button, el, fill, report } from "./dom.js";
import { devicesView } from "./views.js";

export class Sidebar {
  constructor(app) {
    this.app = app;
    this.rows = [];
    this.states = new Map();
    this.list = el("ul", { class: "sessions" });
    const search = el("input", { type: "search", placeholder: "Search all sessions", "aria-label": "Search all sessions", oninput: () => {
      clearTimeout(this.timer);
      this.timer = setTimeout(() => this.search(search.value.trim()), 250);
    } });
    this.searchInput = search;
    this.node = el("aside", { class: "sidebar", "aria-label": "Sessions" },
      el("div", { class: "sidebar-top" }, el("h1", {}, "hew"), button("New session", () => app.create(), { class: "primary", dataset: { action: "new" } })),
      search, this.list,
      el("div", { class: "sidebar-bottom" }, button("Devices", () => devicesView(app.me)), button("Notifications", () => app.allowNotifications()),
        button("Theme", () => app.nextTheme(), { title: "Automatic, light or dark" })));
  }

  async refresh() {
    try {
      this.rows = await get("/sessions?limit=200");
      this.show();
    } catch (error) { report(error); }
  }

  setStates(states) {
    const before = JSON.stringify([...this.states]);
    this.states = new Map(states.map((row) => [row.id, row]));
    // A session gets its title with the first prompt.
    const isNew = (row) => {
      const known = this.rows.find((other) => other.id === row.id);
      return !known || (known.items === 0 && row.state !== "idle");
    };
    if (states.some(isNew)) this.refresh();
    else if (before !== JSON.stringify([...this.states])) this.show();
  }

  show() {
    if (this.isSearching) return;
    const open = new Set(this.app.panes.keys());
    fill(this.list, this.rows.map((row) => {
      const now = this.states.get(row.id);
      const state = now?.state ?? (["working", "waiting", "idle"].includes(row.state) ? "stored" : row.state);
      const title = now?.title ?? row.title ?? (row.items === 0 ? "New session" : "Untitled");
      const beside = open.size > 0 && !open.has(row.id)
        ? button("+", () => this.app.openPane(row.id, true), { class: "plain beside", title: "Show beside the others", "aria-label": `Show ${title} beside the others` }) : null;
      return el("li", { class: "session-row" }, el("button", { type: "button", class: open.has(row.id) ? "session current" : "session", dataset: { state, session: row.id },
        onclick: (event) => this.app.openPane(row.id, event.ctrlKey || event.metaKey || event.shiftKey), title: `${row.root}\n${row.model}` },
        el("span", { class: "session-title" }, title),
        el("small", {}, [badge(state), row.root.split("/").pop(), ago(row.updated_ms)].filter(Boolean).join(" · "))), beside);
    }));
    const waiting = [...this.states.values()].filter((row) => row.state === "waiting").length;
    navigator.setAppBadge?.(waiting)?.catch(() => {});
  }

  focusSearch(query) {
    this.app.node.classList.add("sidebar-open");
    this.searchInput.value = query;
    this.searchInput.focus();
    this.search(query);
  }

  async search(query) {
    this.isSearching = query.length > 0;
    if (!this.isSearching) return this.show();
    try {
      const hits = await get(`/search?q=${encodeURIComponent(query)}`);
      fill(this.list, hits.length === 0 ? el("li", { class: "muted" }, "Nothing found.") : hits.map((hit) => el("li", {}, el("button", { type: "button", class: "session",
        onclick: (event) => this.app.openPane(hit.session, event.ctrlKey || event.metaKey, hit.item) }, el("span", { class: "session-title" }, hit.title ?? "Untitled"), el("small", {}, hit.excerpt)))));
    } catch (error) { report(error); }
  }
}

function badge(state) {
  return { waiting: "● needs an answer", working: "working", elsewhere: "in a terminal" }[state];
}
