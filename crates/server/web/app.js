// The page: sessions side by side, a sidebar, notifications, themes.

import { connect, post } from "./api.js";
import { el, fill, report, toast } from "./dom.js";
import { SessionPane } from "./session.js";
import { Sidebar } from "./sidebar.js";

const THEMES = ["auto", "light", "dark"];

class App {
  constructor(me) {
    this.me = me;
    this.panes = new Map();
    this.known = new Map();
    this.sidebar = new Sidebar(this);
    this.main = el("main", { class: "panes" });
    this.node = el("div", { class: me.read_only ? "app read-only" : "app" }, me.read_only ? null : this.sidebar.node, this.main);
    fill(document.getElementById("app"), this.node);
    this.setTheme(localStorage.getItem("theme") ?? "auto");
    if (!me.read_only) {
      this.sidebar.refresh();
      setInterval(() => { if (!document.hidden && this.panes.size === 0) this.sidebar.refresh(); }, 5000);
    }
    addEventListener("hashchange", () => this.route());
    addEventListener("keydown", (event) => {
      if (event.altKey && event.key === "n") this.create(this.active()?.conversation.root);
    });
    this.route();
  }

  route() {
    const ids = location.hash.slice(1).split(",").filter((id) => /^[0-9a-f-]{36}$/.test(id));
    const wanted = this.me.read_only ? [this.me.session] : ids;
    for (const [id, pane] of this.panes) {
      if (wanted.includes(id)) continue;
      pane.remove();
      this.panes.delete(id);
    }
    for (const id of wanted) {
      if (this.panes.has(id)) continue;
      const pane = new SessionPane(id, this);
      this.panes.set(id, pane);
      this.main.append(pane.node);
    }
    this.node.classList.toggle("empty", this.panes.size === 0);
    this.node.classList.remove("sidebar-open");
    if (this.panes.size === 0) {
      fill(this.main, el("div", { class: "welcome" }, el("h2", {}, "hew"), el("p", {}, `Start a session in ${this.me.root}, or choose one.`),
        el("button", { type: "button", class: "primary", onclick: () => this.create() }, "New session")));
    } else this.main.querySelector(".welcome")?.remove();
    this.sidebar.show();
  }

  /** Shows a session, beside the others or alone, at an item or at its end. */
  openPane(id, beside = false, item = null) {
    const ids = beside ? [...this.panes.keys(), id] : [id];
    const hash = `#${[...new Set(ids)].slice(-4).join(",")}`;
    if (location.hash !== hash) location.hash = hash;
    this.route();
    if (item) this.panes.get(id)?.showItem(item);
  }

  closePane(id) {
    location.hash = [...this.panes.keys()].filter((open) => open !== id).join(",");
  }

  active() {
    return [...this.panes.values()].at(-1);
  }

  /** Starts a session in a project; by default, in that of the server. */
  async create(root) {
    try {
      const session = await post("/sessions", root ? { root } : {});
      this.openPane(session.id);
      await this.sidebar.refresh();
      const pane = this.panes.get(session.id);
      pane?.focus();
      return pane;
    } catch (error) { report(error); }
  }

  states(states) {
    for (const row of states) {
      const before = this.known.get(row.id);
      if (row.state === "waiting" && before !== "waiting" && !this.panes.has(row.id)) this.notify({ id: row.id, title: row.title }, "needs an answer");
      this.known.set(row.id, row.state);
    }
    this.sidebar.setStates(states);
  }

  toggleSidebar() {
    this.node.classList.toggle("sidebar-open");
  }

  async allowNotifications() {
    if (!("Notification" in window)) return toast("This browser has no notifications.", "error");
    const answer = await Notification.requestPermission();
    toast(answer === "granted" ? "Notifications are on." : "The browser does not allow notifications.");
  }

  notify(pane, text) {
    if (!document.hidden || !("Notification" in window) || Notification.permission !== "granted") return;
    const note = new Notification(pane.title ?? "hew", { body: text, tag: pane.id, icon: "/icon.svg" });
    note.onclick = () => {
      focus();
      this.openPane(pane.id);
    };
  }

  nextTheme() {
    const now = localStorage.getItem("theme") ?? "auto";
    const next = THEMES[(THEMES.indexOf(now) + 1) % THEMES.length];
    localStorage.setItem("theme", next);
    this.setTheme(next);
    toast(`Theme: ${next}`);
  }

  setTheme(theme) {
    document.documentElement.dataset.theme = theme;
  }
}

connect().then((me) => { window.hew = new App(me); }, (error) => {
  fill(document.getElementById("app"), el("p", { class: "loading" }, error.message));
  setTimeout(() => location.reload(), 3000);
});
