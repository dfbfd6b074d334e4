// One open session: its conversation, its questions, its queue and its composer.

import { follow, get, post, request } from "./api.js";
import { Composer } from "./composer.js";
import { Conversation } from "./conversation.js";
import { button, dollars, el, fill, report, toast, tokens } from "./dom.js";
import { chartsView, jobsView, restore, reviewView, rewindView, settingsView, showLink } from "./views.js";

/** Commands of the page, as in the terminal. */
export const COMMANDS = [
  ["new", "start a new session"], ["changes", "review the changes of this session"], ["undo", "undo the last turn's file changes"],
  ["redo", "redo the undone file changes"], ["rewind", "rewind to an earlier prompt"], ["fork", "continue in a copy of this session"],
  ["compact", "replace the conversation by a summary"], ["continue", "continue the interrupted turn"], ["model", "choose a model"],
  ["mode", "choose a mode"], ["effort", "set the reasoning effort"], ["permission", "set the permission level"], ["context", "what fills the window"],
  ["cost", "what each turn cost"], ["jobs", "show background jobs"], ["settings", "settings, panels, servers and permissions"],
  ["rename", "change the title"], ["export", "download the session"], ["share", "create a read-only link"], ["close", "close this session here"],
];

export class SessionPane {
  constructor(id, app) {
    Object.assign(this, { id, app, settings: null, state: "stored", title: null, isAtEnd: true });
    this.heading = el("h1", { class: "title" }, "…");
    this.status = el("span", { class: "status", role: "status" });
    this.meta = el("div", { class: "meta" });
    this.banner = el("div", { class: "banner", hidden: true });
    this.todos = el("div", { class: "todos", hidden: true });
    this.queue = el("div", { class: "queue" });
    this.conversation = new Conversation(id, {
      readOnly: app.me.read_only,
      grown: () => this.scroll(),
      asked: (question) => this.app.notify(this, question.question ?? "Permission required"),
      todos: (list) => this.showTodos(list),
      rewind: (item, text) => rewindView(this.id, [{ item }], () => this.composer?.setText(text)),
      fork: (item) => this.fork(item.id),
    });
    this.scroller = el("div", { class: "scroller", tabindex: "0", onscroll: () => {
      const { scrollTop, scrollHeight, clientHeight } = this.scroller;
      this.isAtEnd = scrollHeight - scrollTop - clientHeight < 60;
    } }, this.conversation.node);
    const readOnly = app.me.read_only;
    this.composer = readOnly ? null : new Composer(id, COMMANDS, (...args) => this.send(...args), () => this.act("interrupt"));
    const tools = readOnly ? [] : [
      button("Changes", () => reviewView(id), { dataset: { view: "changes" } }),
      button("Context", () => this.charts(), { dataset: { view: "charts" } }),
      button("Jobs", () => jobsView(id), { dataset: { view: "jobs" } }),
      button("Rewind", () => this.rewind(), { dataset: { view: "rewind" } }),
      button("Settings", () => this.showSettings(), { dataset: { view: "settings" } }),
    ];
    this.node = el("section", { class: "pane", "aria-label": "Session", dataset: { session: id } },
      el("header", { class: "pane-header" },
        el("div", { class: "title-row" }, button("☰", () => app.toggleSidebar(), { class: "plain menu-button", "aria-label": "Sessions" }), this.heading, this.status,
          readOnly ? null : button("✕", () => app.closePane(id), { class: "plain", "aria-label": "Close this view" })),
        this.meta, el("nav", { class: "tools", "aria-label": "Session" }, tools)),
      this.banner, this.scroller, this.todos, this.queue, this.composer?.node);
    this.load();
  }

  async load() {
    try {
      const detail = await get(`/sessions/${this.id}`);
      if (this.isGone) return;
      this.title = detail.session.title;
      this.cost = detail.session.cost_usd;
      for (const item of detail.items) this.conversation.finish(item);
      this.handle(detail.live);
      this.showHeader();
      this.isAtEnd = true;
      this.scroll();
      this.stop = follow(this.id, detail.cursor, (event) => this.handle(event), (status) => this.connection(status));
      if (!this.settings && !this.app.me.read_only && this.state === "stored") this.wake();
    } catch (error) {
      this.status.textContent = error.message;
      report(error);
    }
  }

  /** Opens the session in the server, so that its settings and completions are known. */
  async wake() {
    const settings = await get(`/sessions/${this.id}/settings`).catch((error) => { report(error); return null; });
    if (settings) this.settings = settings;
    this.showHeader();
  }

  remove() {
    this.isGone = true;
    this.stop?.();
    this.node.remove();
  }

  connection(status) {
    this.status.textContent = { connected: "", reconnecting: "Reconnecting…", gone: "This session was deleted." }[status];
    this.node.dataset.connection = status;
  }

  handle(event) {
    switch (event.type) {
      case "live":
        this.conversation.clearLive();
        this.setState(event.state);
        this.title = event.title ?? this.title;
        if (event.settings) this.settings = event.settings;
        if (event.totals?.requests > 0) this.cost = event.totals.cost_usd;
        this.showQueue(event.queued);
        this.showUnfinished(event.unfinished);
        for (const inner of event.events) this.conversation.handle(inner);
        break;
      case "reset":
        this.conversation.clear();
        break;
      case "lagged":
        break;
      case "sessions":
        this.app.states(event.sessions);
        return;
      case "settings":
        this.settings = event.settings;
        break;
      case "queue":
        this.showQueue(event.queued);
        break;
      case "session.titled":
        this.title = event.title;
        this.app.sidebar.refresh();
        break;
      case "turn.started":
        this.setState("working");
        this.showUnfinished(false);
        this.conversation.clearLive();
        break;
      case "question":
        this.conversation.handle(event);
        this.setState("waiting");
        break;
      case "question.answered":
        this.conversation.handle(event);
        this.setState("working");
        break;
      case "turn.finished":
        this.conversation.handle(event);
        this.setState("idle");
        this.app.notify(this, `The turn ended: ${event.ending.reason}`);
        break;
      case "usage":
        this.cost = event.totals.cost_usd;
        this.usage = event.usage;
        break;
      default:
        this.conversation.handle(event);
    }
    this.showHeader();
    this.scroll();
  }

  setState(state) {
    this.state = state;
    this.node.dataset.state = state;
    this.composer?.setWorking(["working", "waiting"].includes(state));
  }

  showHeader() {
    this.heading.textContent = this.title ?? this.conversation.firstPrompt() ?? "New session";
    this.heading.title = this.id;
    const settings = this.settings;
    const used = this.usage ? this.usage.input + this.usage.cache_read + this.usage.cache_write + this.usage.output : 0;
    const share = settings?.context_window && used ? `${Math.round((used / settings.context_window) * 100)} % of ${tokens(settings.context_window)}` : null;
    fill(this.meta, [this.state, settings?.model, settings?.mode, settings?.permission, share, this.cost ? dollars(this.cost) : null, settings?.display_path]
      .filter(Boolean).map((text) => el("span", {}, text)));
    if (this.app.active() === this) document.title = `${this.state === "waiting" ? "● " : ""}${this.title ?? "hew"}`;
  }

  showQueue(queued) {
    fill(this.queue, queued.map((prompt) => el("p", { class: "queued" }, el("small", {}, prompt.delivery === "queue" ? "queued " : "next request "), prompt.text)));
  }

  showTodos(list) {
    const open = list.filter((todo) => todo.status === "pending" || todo.status === "in_progress");
    this.todos.hidden = open.length === 0;
    const mark = { pending: "○", in_progress: "◐", completed: "●", cancelled: "✕" };
    fill(this.todos, el("details", {}, el("summary", {}, `Todo: ${list.length - open.length} of ${list.length} done`),
      list.map((todo) => el("p", { class: todo.status }, `${mark[todo.status]} ${todo.text}`))));
  }

  showUnfinished(isUnfinished) {
    this.banner.hidden = !isUnfinished || this.app.me.read_only;
    if (isUnfinished) fill(this.banner, "The last turn was not finished. ", button("Continue", () => this.act("continue"), { class: "primary" }));
  }

  scroll() {
    if (this.isAtEnd && !this.frame) {
      this.frame = requestAnimationFrame(() => {
        this.frame = 0;
        this.scroller.scrollTop = this.scroller.scrollHeight;
      });
    }
  }

  async act(name, body) {
    try {
      const result = await post(`/sessions/${this.id}/${name}`, body);
      if (result.message) toast(result.message);
      return true;
    } catch (error) {
      report(error);
      return false;
    }
  }

  async send(text, delivery, attachments) {
    const command = /^\/(\w+)(?:\s+([\s\S]*))?$/.exec(text);
    if (command && attachments.length === 0 && COMMANDS.some(([name]) => name === command[1])) return this.command(command[1], command[2]?.trim() ?? "");
    this.isAtEnd = true;
    return this.act("prompts", { text, delivery, attachments });
  }

  async command(name, argument) {
    const setting = async (key) => {
      if (!argument) this.showSettings();
      else await request("PATCH", `/sessions/${this.id}/settings`, { [key]: argument }).then(() => toast(`${key}: ${argument}`), report);
    };
    switch (name) {
      case "new": this.app.create(); break;
      case "changes": reviewView(this.id); break;
      case "undo": case "redo": return restore(this.id, name);
      case "rewind": this.rewind(); break;
      case "fork": this.fork(); break;
      case "compact": return this.act("compact", { instructions: argument || null });
      case "continue": return this.act("continue");
      case "model": case "mode": case "effort": case "permission": await setting(name); break;
      case "context": case "cost": this.charts(); break;
      case "jobs": jobsView(this.id); break;
      case "settings": this.showSettings(); break;
      case "rename":
        if (argument) await request("PATCH", `/sessions/${this.id}`, { title: argument }).catch(report);
        break;
      case "export": location.assign(`/api/v1/sessions/${this.id}/export?format=${argument || "markdown"}`); break;
      case "share":
        await post(`/sessions/${this.id}/shares`).then((link) => showLink(link, "Anyone with this link can read this session for 24 hours."), report);
        break;
      case "close": await this.act("close"); this.app.closePane(this.id); break;
      default: return false;
    }
    return true;
  }

  charts() {
    chartsView(this.id, this.settings, this.conversation.items.map((known) => known.item));
  }

  rewind() {
    rewindView(this.id, this.conversation.prompts(), (text) => this.composer.setText(text));
  }

  async showSettings() {
    if (!this.settings) await this.wake();
    if (this.settings) settingsView(this.id, this.settings);
  }

  async fork(upto) {
    await post(`/sessions/${this.id}/fork`, { upto: upto ?? null }).then((copy) => this.app.openPane(copy.id), report);
  }
}
