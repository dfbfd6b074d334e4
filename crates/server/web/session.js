// One open session: its conversation, its questions, its queue and its composer.

import { follow, get, post, request } from "./api.js";
import { Composer } from "./composer.js";
import { Conversation, textOf } from "./conversation.js";
import { button, dollars, el, fill, report, toast, tokens } from "./dom.js";
import {
  chartsView, codeView, helpView, jobsView, reportView, restore, reviewView, rewindView, rulesView, settingsView, showLink, subtasksView,
} from "./views.js";

/** Commands of the page, with the names and aliases of the terminal. */
export const COMMANDS = [
  ["new", "start a new session", "clear", "reset"], ["sessions", "search all sessions", "resume", "history", "search", "find"],
  ["changes", "review the changes of this session", "diff"], ["undo", "undo the last turn's file changes"],
  ["redo", "redo the undone file changes"], ["rewind", "rewind to an earlier prompt", "back", "checkpoint", "timeline"],
  ["fork", "continue in a copy of this session", "branch"], ["compact", "replace the conversation by a summary", "summarise", "summarize"],
  ["continue", "continue the interrupted turn"], ["model", "choose a model", "models"], ["mode", "choose a mode", "modes", "agent"],
  ["effort", "set the reasoning effort", "reasoning", "thinking"], ["permission", "set the permission level"],
  ["context", "what fills the window", "usage", "stats"], ["cost", "what each turn cost"], ["todo", "show the todo list", "todos"],
  ["jobs", "show background jobs", "ps", "bashes"],
  ["agents", "show subtasks: watch, steer, stop", "subagents", "tasks"], ["memory", "show rules files", "rules"],
  ["code", "find code by meaning, with its text", "codebase"], ["settings", "settings and their sources", "config", "status"],
  ["panels", "open or close panels", "panel"], ["servers", "show MCP and language servers", "mcp", "lsp"],
  ["permissions", "show and revoke permission rules", "allow", "approvals"], ["theme", "automatic, light or dark", "themes"],
  ["copy", "copy the last reply"], ["rename", "change the title", "title"], ["export", "download the session"],
  ["share", "create a read-only link"], ["help", "show commands and keys", "keys"], ["close", "close this session here", "quit", "exit", "q"],
];

const KEYS = [
  ["Enter", "send; while a turn runs, steer it"], ["Alt+Enter", "send after this turn"], ["Shift+Enter", "a new line"],
  ["Escape", "interrupt the turn; close a dialog"], ["Alt+N", "start a new session"], ["Ctrl+click", "show a session beside the others"],
];

export class SessionPane {
  constructor(id, app) {
    Object.assign(this, { id, app, settings: null, state: "stored", title: null, isAtEnd: true, queued: [], usages: new Map() });
    this.heading = el(app.me.read_only ? "h1" : "h2", { class: "title" }, "…");
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
      rewind: (item) => rewindView(this.id, [{ item }], (...args) => this.rewound(...args)),
      subtasks: () => this.showSubtasks?.(),
      fork: (item) => this.fork(item.id),
    });
    this.scroller = el("div", { class: "scroller", tabindex: "0", onscroll: () => {
      const { scrollTop, scrollHeight, clientHeight } = this.scroller;
      const size = `${scrollHeight} ${clientHeight}`;
      // A new size moves the position too: only the user leaves the end.
      if (size === this.size) this.isAtEnd = scrollHeight - scrollTop - clientHeight < 60;
      this.size = size;
    } }, this.conversation.node);
    this.sizes = new ResizeObserver(() => this.scroll());
    this.sizes.observe(this.scroller);
    this.sizes.observe(this.conversation.node);
    const readOnly = app.me.read_only;
    this.composer = readOnly ? null : new Composer(id, COMMANDS, (...args) => this.send(...args), () => this.stopTurn());
    const tools = readOnly ? [] : [
      button("Changes", () => this.review(), { dataset: { view: "changes" } }),
      button("Context", () => this.charts(), { dataset: { view: "charts" } }),
      button("Jobs", () => jobsView(id), { dataset: { view: "jobs" } }),
      button("Rewind", () => this.rewind(), { dataset: { view: "rewind" } }),
      button("Settings", () => this.showSettings(), { dataset: { view: "settings" } }),
    ];
    this.node = el("section", { class: "pane", "aria-label": "Session", dataset: { session: id } },
      el("header", { class: "pane-header" },
        el("div", { class: "title-row" }, readOnly ? null : button("☰", () => app.toggleSidebar(), { class: "plain menu-button", "aria-label": "Sessions" }), this.heading, this.status,
          readOnly ? null : button("✕", () => app.closePane(id), { class: "plain", "aria-label": "Close this view" })),
        this.meta, this.tools = el("nav", { class: "tools" }, tools)),
      this.banner, this.scroller, this.todos, this.queue, this.composer?.node);
    this.load();
  }

  async load() {
    try {
      const detail = await get(`/sessions/${this.id}`);
      if (this.isGone) return;
      this.title = detail.session.title;
      this.cost = detail.session.cost_usd;
      this.conversation.clear();
      this.conversation.root = detail.session.root;
      for (const item of detail.items) this.conversation.finish(item);
      this.handle(detail.live);
      this.showHeader();
      this.isAtEnd = true;
      this.isLoaded = true;
      if (this.wanted) this.showItem(this.wanted);
      else this.scroll();
      this.stop = follow(this.id, detail.cursor, (event) => this.handle(event), (status) => this.connection(status));
      if (!this.settings && !this.app.me.read_only && this.state === "stored") this.wake();
    } catch (error) {
      if (this.isGone) return;
      this.status.textContent = error.message;
      // The server may be starting again.
      if (error.status === 0 || error.status >= 500) setTimeout(() => { if (!this.isGone) this.load(); }, 2000);
      else report(error);
    }
  }

  /** Scrolls to an item, once it is loaded. */
  showItem(id) {
    this.wanted = this.isLoaded ? null : id;
    const node = this.conversation.items.find((known) => known.item.id === id)?.nodes[0];
    if (!node) return;
    this.isAtEnd = false;
    node.scrollIntoView({ block: "center" });
  }

  focus() {
    // On a touch screen, this would open the keyboard.
    if (matchMedia("(pointer: fine)").matches) this.composer?.input.focus();
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
    this.sizes.disconnect();
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
        this.conversation.clearNotices();
        this.isWorking = event.state === "waiting";
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
        this.showSubtasks?.();
        break;
      case "lagged":
        break;
      case "changed":
        if (event.what === "changes") this.reloadReview?.();
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
        this.conversation.clearNotices();
        break;
      case "question":
      case "question.answered":
      case "subtask":
        this.conversation.handle(event);
        this.setState(this.conversation.questions.size > 0 ? "waiting" : this.isWorking ? "working" : "idle");
        break;
      case "turn.finished":
        this.conversation.handle(event);
        this.returnQueued(event.ending);
        this.setState("idle");
        this.app.notify(this, `The turn ended: ${event.ending.reason}`);
        break;
      case "usage":
        this.cost = event.totals.cost_usd;
        this.usages.set(event.request, event.usage);
        this.updateUsage();
        break;
      case "item.finished":
        if (event.item.kind === "reply") this.lastRequest = event.item.request;
        this.updateUsage();
        this.conversation.handle(event);
        break;
      default:
        this.conversation.handle(event);
    }
    this.showHeader();
    this.scroll();
  }

  /** The size of the context is that of the last reply's request: others, such as that for the title, do not count. */
  updateUsage() {
    const usage = this.usages.get(this.lastRequest);
    if (!usage) return;
    this.usage = usage;
    this.usages.clear();
  }

  setState(state) {
    this.state = state;
    if (state !== "waiting") this.isWorking = state === "working";
    this.node.dataset.state = state;
    this.composer?.setWorking(["working", "waiting"].includes(state));
  }

  showHeader() {
    this.heading.textContent = this.title ?? this.conversation.firstPrompt() ?? "New session";
    this.heading.title = this.id;
    this.node.setAttribute("aria-label", this.heading.textContent);
    this.tools.setAttribute("aria-label", `Tools of ${this.heading.textContent}`);
    const settings = this.settings;
    const used = this.usage ? this.usage.input + this.usage.cache_read + this.usage.cache_write + this.usage.output : 0;
    const share = settings?.context_window && used ? `${Math.round((used / settings.context_window) * 100)} % of ${tokens(settings.context_window)}` : null;
    fill(this.meta, [this.state, settings?.model, settings?.mode, settings?.permission, share, this.cost ? dollars(this.cost) : null, settings?.display_path]
      .map((text, index) => text && el("span", { class: index === 6 ? "path" : "" }, text)));
    if (this.app.active() === this) document.title = `${this.state === "waiting" ? "● " : ""}${this.title ?? "hew"}`;
  }

  /** The prompts that were not sent go back to the composer of the page that stopped the turn. */
  returnQueued(ending) {
    if (this.isStopping && ending.reason === "interrupted" && this.queued.length > 0) {
      this.composer.setText([...this.queued.map((prompt) => prompt.text), this.composer.input.value].filter(Boolean).join("\n\n"));
    }
    this.isStopping = false;
  }

  stopTurn() {
    this.isStopping = true;
    return this.act("interrupt");
  }

  showQueue(queued) {
    this.queued = queued;
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
        this.size = `${this.scroller.scrollHeight} ${this.scroller.clientHeight}`;
      });
    }
  }

  async act(name, body) {
    try {
      const result = await post(`/sessions/${this.id}/${name}`, body);
      if (result.message?.includes("\n")) reportView("Report", result.message);
      else if (result.message) toast(result.message);
      return true;
    } catch (error) {
      report(error);
      return false;
    }
  }

  async send(text, delivery, attachments) {
    const command = /^\/(\w+)(?:\s+([\s\S]*))?$/.exec(text);
    const known = command && attachments.length === 0 && COMMANDS.find(([name, , ...aliases]) => name === command[1] || aliases.includes(command[1]));
    if (known) return this.command(known[0], command[2]?.trim() ?? "");
    this.isAtEnd = true;
    return this.act("prompts", { text, delivery, attachments });
  }

  async command(name, argument) {
    const setting = async (key) => {
      if (!argument) this.showSettings();
      else await request("PATCH", `/sessions/${this.id}/settings`, { [key]: argument }).then(() => toast(`${key}: ${argument}`), report);
    };
    switch (name) {
      case "new": this.app.create(this.conversation.root); break;
      case "changes": this.review(); break;
      case "undo": case "redo": return restore(this.id, name);
      case "rewind": this.rewind(); break;
      case "fork": this.fork(); break;
      case "compact": return this.act("compact", { instructions: argument || null });
      case "continue": return this.act("continue");
      case "model": case "mode": case "effort": case "permission": await setting(name); break;
      case "context": case "cost": this.charts(); break;
      case "jobs": jobsView(this.id); break;
      case "agents": this.showSubtasks = subtasksView(this.id, () => this.conversation.subtasks); break;
      case "memory": await rulesView(this.id); break;
      case "code":
        if (!argument) return toast("Usage: /code WORDS", "error");
        codeView(this.id, argument);
        break;
      case "settings": case "panels": case "servers": case "permissions": this.showSettings(name); break;
      case "sessions": this.app.sidebar.focusSearch(argument); break;
      case "todo": this.openTodos(); break;
      case "theme": this.app.nextTheme(); break;
      case "copy": await this.copyReply(); break;
      case "help": helpView(COMMANDS, KEYS); break;
      case "rename":
        if (!argument) return toast("Usage: /rename TITLE", "error");
        await request("PATCH", `/sessions/${this.id}`, { title: argument }).catch(report);
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

  async review() {
    this.reloadReview = await reviewView(this.id);
  }

  charts() {
    chartsView(this.id, this.settings, this.conversation.items.map((known) => known.item));
  }

  rewind() {
    rewindView(this.id, this.conversation.prompts(), (...args) => this.rewound(...args));
  }

  /** The prompt returns to the composer: of a new session, if there is no item before it. */
  async rewound(text, wasFirst) {
    const pane = wasFirst ? await this.app.create(this.conversation.root) : this;
    pane?.composer.setText(text);
  }

  async showSettings(section) {
    if (!this.settings) await this.wake();
    if (this.settings) settingsView(this.id, this.settings, section);
  }

  openTodos() {
    const details = this.todos.querySelector("details");
    if (this.todos.hidden || !details) return toast("There are no open todos.");
    details.open = true;
    details.querySelector("summary").focus();
  }

  async copyReply() {
    const reply = this.conversation.items.findLast((known) => known.item.kind === "reply" && textOf(known.item));
    if (!reply) return toast("There is no reply yet.");
    await navigator.clipboard?.writeText(textOf(reply.item)).then(() => toast("Copied"), report);
  }

  async fork(upto) {
    await post(`/sessions/${this.id}/fork`, { upto: upto ?? null }).then((copy) => this.app.openPane(copy.id), report);
  }
}
