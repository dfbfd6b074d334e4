// The items of a session as elements: prompts, replies with growing text, tool cards with growing diffs, notices.

import { get, itemImage } from "./api.js";
import { diffCount, diffView } from "./diff.js";
import { button, el, fill } from "./dom.js";
import { inputPath, inputView, isEdit } from "./input.js";
import { codeBlock, markdown, MarkdownView } from "./markdown.js";
import { questionCard } from "./questions.js";

const MAX_SHOWN = 20000;

export class Conversation {
  constructor(session, actions) {
    this.session = session;
    this.actions = actions;
    this.list = el("div", { class: "items" });
    this.tail = el("div", { class: "tail" });
    this.node = el("div", { class: "conversation" }, this.list, this.tail);
    this.clear();
  }

  clear() {
    this.items = [];
    this.calls = new Map();
    this.open = new Map();
    this.questions = new Map();
    this.todos = [];
    this.subtasks = new Map();
    fill(this.list);
    fill(this.tail);
  }

  /** Discards unfinished work; a `live` event describes it anew. */
  clearLive() {
    for (const view of this.open.values()) if (!view.isStored) view.remove();
    this.open.clear();
    for (const [call, card] of this.calls) {
      if (card.isFinished) continue;
      // Its call is part of a finished reply.
      if (card.isStored) {
        card.reset();
        continue;
      }
      card.node.remove();
      this.calls.delete(call);
    }
    for (const question of this.questions.values()) question.remove();
    this.questions.clear();
  }

  clearNotices() {
    this.tail.querySelectorAll(".notice").forEach((node) => node.remove());
  }

  handle(event) {
    switch (event.type) {
      case "item.started": return this.start(event);
      case "item.delta": return this.delta(event);
      case "item.finished": return this.finish(event.item);
      case "item.dropped": {
        this.open.get(event.id)?.remove();
        this.open.delete(event.id);
        return;
      }
      case "question": return this.ask(event, false);
      case "question.answered": return this.answered(event.id);
      case "notice": return this.notice(event.level, event.text);
      case "retrying": return this.notice("warning", `${event.error}; attempt ${event.attempt} follows`);
      case "session.rewound": return this.rewind(event.head);
      case "subtask": return this.subtask(event);
      case "subtask.finished": return this.subtaskFinished(event);
      case "turn.finished": return this.turnFinished(event);
      default:
    }
  }

  start(event) {
    if (event.kind === "reply") {
      const view = new ReplyView(this);
      this.open.set(event.id, view);
      this.list.append(view.node);
    } else {
      const card = this.card(event.call, event.tool);
      card.setTitle(event.title);
      card.setState("running");
      this.open.set(event.id, card);
    }
  }

  delta(event) {
    const view = this.open.get(event.id);
    const delta = event.delta;
    if (!view) return;
    switch (delta.type) {
      case "text": return view.addText(delta.text);
      case "thinking": return view.addThinking(delta.text);
      case "call": {
        const card = this.card(delta.call, delta.tool, view);
        card.setState("writing");
        return;
      }
      case "input": return this.calls.get(delta.call)?.addInput(delta.json);
      case "preview": return this.calls.get(delta.call)?.setPath(delta.path);
      case "output": return view.addOutput(delta.text);
      default:
    }
  }

  finish(item) {
    if (this.items.some((known) => known.id === item.id)) return;
    const nodes = this.finishedNodes(item);
    this.open.delete(item.id);
    this.items.push({ id: item.id, item, nodes });
  }

  finishedNodes(item) {
    const add = (node) => {
      this.list.append(node);
      return [node];
    };
    switch (item.kind) {
      case "prompt": return add(this.prompt(item));
      case "reply": {
        const view = this.open.get(item.id) ?? new ReplyView(this);
        if (!view.node.isConnected) this.list.append(view.node);
        view.finish(item);
        return [view.node];
      }
      case "result": {
        const card = this.card(item.call, item.tool);
        card.finish(item);
        return [card.node];
      }
      case "summary": return add(el("details", { class: "entry summary" }, el("summary", {}, "The conversation was summarised"), markdown(textOf(item))));
      case "notice": return add(el("p", { class: "entry notice" }, item.text));
      case "wake": return add(el("details", { class: "entry notice" }, el("summary", {}, `Continuing because of ${item.cause}`),
        el("pre", { class: "output", tabindex: "0" }, textOf(item))));
      case "mode": return add(el("p", { class: "entry notice" }, `Mode: ${item.name}`));
      case "todos": {
        this.todos = item.list;
        this.actions.todos(item.list);
        return [];
      }
      case "review": return add(el("p", { class: "entry notice" }, `Reviewed ${item.files.map((file) => file.path).join(", ")}`));
      case "restored": {
        const verb = { undo: "Undid", redo: "Redid", left: "Rewound without" }[item.how] ?? item.how;
        return add(el("p", { class: "entry notice" }, `${verb} changes of ${item.changes.map((change) => change.path).join(", ")}`));
      }
      default: return [];
    }
  }

  prompt(item) {
    const parts = item.parts.filter((part) => part.type === "text" && !part.origin).map((part) => part.text);
    const extra = item.parts.filter((part) => part.type === "media" || (part.origin && !["rules", "environment", "reminder"].includes(part.origin)));
    const chips = extra.map((part) => el("span", { class: "chip" }, part.type === "media" ? `${part.name ?? part.mime}` : part.origin));
    const menu = this.actions.readOnly ? null : el("div", { class: "entry-menu" },
      button("Rewind", () => this.actions.rewind(item, parts.join("\n")), { class: "plain", title: "Rewind to before this prompt" }),
      button("Fork", () => this.actions.fork(item), { class: "plain", title: "Continue in a copy from here" }));
    return el("article", { class: "entry prompt", "aria-label": "Prompt", id: `item-${item.id}` },
      el("div", { class: "prompt-text" }, parts.join("\n\n")), images(this.session, item), chips.length > 0 ? el("div", { class: "chips" }, chips) : null, menu);
  }

  card(call, tool, reply) {
    let card = this.calls.get(call);
    if (!card) {
      card = new ToolCard(this, tool);
      this.calls.set(call, card);
      (reply?.cards ?? this.list).append(card.node);
    }
    return card;
  }

  ask(event, subtask) {
    if (this.questions.has(event.id) || this.actions.readOnly) return;
    const isShown = this.calls.get(event.call)?.showsChange();
    const card = questionCard(this.session, event, { subtask, isShown, root: this.root });
    this.questions.set(event.id, card);
    card.dataset.call = event.call ?? "";
    this.calls.get(event.call)?.setState("waiting");
    this.tail.append(card);
    this.actions.asked(event);
  }

  answered(id) {
    const card = this.questions.get(id);
    card?.remove();
    this.questions.delete(id);
    const call = this.calls.get(card?.dataset.call);
    if (call?.node.dataset.state === "waiting") call.setState("running");
  }

  notice(level, text) {
    this.tail.append(el("p", { class: `entry notice ${level}` }, text));
  }

  subtask(event) {
    const inner = event.event;
    const card = this.calls.get(event.call);
    const note = (line) => {
      const subtask = this.subtasks.get(event.session) ?? { title: card?.title.textContent || "Subtask", lines: [], isWorking: true };
      subtask.lines = [...subtask.lines.slice(-199), line];
      this.subtasks.set(event.session, subtask);
      this.actions.subtasks();
    };
    switch (inner.type) {
      case "question": return this.ask(inner, true);
      case "question.answered": return this.answered(inner.id);
      case "item.started":
        if (inner.kind !== "result") return;
        card?.progress(`▸ ${inner.title}`);
        return note(`▸ ${inner.title}`);
      case "item.finished": {
        const text = inner.item.kind === "reply" ? textOf(inner.item) : inner.item.kind === "prompt" ? `> ${promptText(inner.item)}` : "";
        return text ? note(text) : undefined;
      }
      case "notice":
        card?.progress(inner.text);
        return note(inner.text);
      case "subtask": return this.subtask({ ...inner, call: event.call });
      case "subtask.finished": return this.subtaskFinished({ ...inner, call: event.call });
      default:
    }
  }

  subtaskFinished(event) {
    this.calls.get(event.call)?.progress(`subtask ${event.ending.reason}`);
    const subtask = this.subtasks.get(event.session);
    if (!subtask) return;
    subtask.isWorking = false;
    subtask.lines.push(event.ending.reason);
    this.actions.subtasks();
  }

  turnFinished(event) {
    this.clearLive();
    const ending = event.ending ?? {};
    if (ending.reason === "failed") this.notice("warning", `${ending.error}. ${ending.hint ?? ""}`);
  }

  rewind(head) {
    const at = this.items.findIndex((known) => known.id === head);
    if (at < 0) return;
    for (const gone of this.items.splice(at + 1)) gone.nodes.forEach((node) => node.remove());
    this.clearLive();
    this.clearNotices();
  }

  firstPrompt() {
    const item = this.prompts()[0]?.item;
    return item?.parts.find((part) => part.type === "text" && !part.origin)?.text.split("\n")[0].slice(0, 80);
  }

  prompts() {
    return this.items.filter((known) => known.item.kind === "prompt");
  }
}

/** A reply: thinking, text and calls, while it arrives and when it is complete. */
class ReplyView {
  constructor(conversation) {
    this.conversation = conversation;
    this.thinkingText = "";
    this.text = "";
    this.view = new MarkdownView();
    this.thinking = null;
    this.cards = el("div", { class: "cards" });
    this.node = el("article", { class: "entry reply streaming", "aria-label": "Reply" }, this.view.node, this.cards);
  }

  remove() {
    this.node.remove();
  }

  addText(text) {
    this.text += text;
    this.schedule();
  }

  addThinking(text) {
    this.thinkingText += text;
    this.schedule();
  }

  addOutput() {}

  schedule() {
    if (this.frame) return;
    this.frame = requestAnimationFrame(() => {
      this.frame = 0;
      this.render(false);
    });
  }

  render(finished) {
    if (this.thinkingText && !this.thinking) {
      this.thinking = el("details", { class: "thinking" }, el("summary", {}, "Thinking"), el("div", { class: "thinking-text" }));
      this.node.prepend(this.thinking);
    }
    if (this.thinking) this.thinking.lastChild.textContent = this.thinkingText;
    this.view.update(this.text, finished);
    this.conversation.actions.grown();
  }

  finish(item) {
    cancelAnimationFrame(this.frame);
    this.frame = 0;
    const of = (type) => item.parts.filter((part) => part.type === type);
    this.text = of("text").map((part) => part.text).join("\n\n");
    this.thinkingText = of("thinking").map((part) => part.text).join("\n\n");
    this.render(true);
    for (const part of of("tool_call")) {
      const card = this.conversation.card(part.call, part.tool, this);
      card.isStored = true;
      card.setInput(part.input);
    }
    this.node.classList.remove("streaming");
    if (["max_tokens", "interrupted", "cut", "refusal"].includes(item.end)) {
      this.node.append(el("p", { class: "notice warning" }, { max_tokens: "The reply was cut off by its limit.", refusal: "The model declined." }[item.end] ?? "The reply was interrupted."));
    }
  }
}

/** A tool call: its input while it is written, its output while it runs, its result. */
class ToolCard {
  constructor(conversation, tool) {
    this.conversation = conversation;
    this.tool = tool;
    this.json = "";
    this.output = "";
    this.lines = [];
    this.title = el("span", { class: "card-title" }, tool);
    this.state = el("span", { class: "card-state" });
    this.body = el("div", { class: "card-body" });
    this.node = el("details", { class: "card", dataset: { tool } },
      el("summary", {}, el("span", { class: "card-mark", "aria-hidden": "true" }), el("span", { class: "card-tool" }, tool), this.title, this.state), this.body);
  }

  remove() {
    this.node.remove();
  }

  setTitle(text) {
    this.title.textContent = text && text !== this.tool ? text : "";
  }

  setPath(path) {
    if (path) this.setTitle(path);
  }

  /** Forgets what is unfinished. */
  reset() {
    cancelAnimationFrame(this.frame);
    this.frame = 0;
    this.output = "";
    this.lines = [];
    if (this.input) this.renderInput(this.input);
    this.setState("");
  }

  setState(state) {
    this.node.dataset.state = state;
    this.state.textContent = { writing: "writing…", running: "running…", waiting: "waits for an answer", ok: "", failed: "failed" }[state] ?? state;
  }

  addInput(json) {
    this.json += json;
    this.schedule();
  }

  setInput(input) {
    if (this.isFinished) return;
    this.input = input;
    this.renderInput(input);
    if (this.node.dataset.state === "writing") this.setState("");
  }

  addOutput(text) {
    this.output = (this.output + text).slice(-MAX_SHOWN);
    this.schedule();
  }

  addText() {}
  addThinking() {}

  progress(line) {
    this.lines.push(line);
    this.lines.splice(0, this.lines.length - 12);
    this.output = `${this.lines.join("\n")}\n`;
    this.schedule();
  }

  schedule() {
    if (this.frame) return;
    this.frame = requestAnimationFrame(() => {
      this.frame = 0;
      if (this.isFinished) return;
      if (this.output) {
        this.node.open = true;
        fill(this.body, this.command(), el("pre", { class: "output", tabindex: "0" }, this.output));
        this.body.lastChild.scrollTop = this.body.lastChild.scrollHeight;
      } else this.renderInput(partialFields(this.json));
      this.conversation.actions.grown();
    });
  }

  showsChange() {
    return isEdit(this.input ?? partialFields(this.json));
  }

  command() {
    const command = (this.input ?? partialFields(this.json)).command;
    return typeof command === "string" ? el("pre", { class: "command" }, command) : null;
  }

  renderInput(input) {
    if (inputPath(input)) this.setTitle(inputPath(input));
    const isChange = isEdit(input);
    if (!isChange && typeof input.command === "string") {
      this.setTitle(input.command.split("\n")[0]);
      fill(this.body, this.command());
      return;
    }
    fill(this.body, inputView(input, Boolean(this.input)));
    if (!isChange) return;
    this.node.open = true;
    // The newest lines of a growing change stay visible.
    if (!this.input) this.body.lastChild.scrollTop = this.body.lastChild.scrollHeight;
  }

  finish(item) {
    cancelAnimationFrame(this.frame);
    this.isFinished = true;
    this.setTitle(item.title);
    this.setState(item.ok ? "ok" : "failed");
    const exit = item.exit !== undefined && item.exit !== 0 ? ` exit ${item.exit}` : "";
    if (exit) this.node.dataset.state = "failed";
    const seconds = item.duration_ms >= 1000 ? ` ${(item.duration_ms / 1000).toFixed(1)} s` : "";
    this.state.textContent = [item.ok ? "" : "failed", exit, seconds].join("").trim();
    const output = textOf(item);
    const content = [this.command()];
    if (item.summary) content.push(el("p", { class: "muted" }, item.summary));
    const changes = item.changes ?? [];
    const diffs = el("div", {});
    if (changes.length > 0) content.push(diffs);
    content.push(images(this.conversation.session, item));
    if (output.trim() && (changes.length === 0 || !item.ok)) content.push(shownText(output, this.tool, this.input));
    fill(this.body, content);
    this.node.open = changes.length > 0 || !item.ok || (item.parts ?? []).some(isImage);
    if (changes.length > 0) this.showChanges(item, diffs);
  }

  async showChanges(item, node) {
    fill(node, changesList(item.changes));
    const files = await get(`/sessions/${this.conversation.session}/items/${item.id}/diff`).catch(() => []);
    let [added, removed] = [0, 0];
    // A folder has no text.
    const isText = (file) => file.before !== null || file.after !== null;
    const shown = files.some(isText) ? files.filter(isText) : files;
    const parts = shown.map((file) => {
      if (!isText(file)) return el("p", { class: "muted" }, `${file.path}: no text`);
      const count = diffCount(file.before, file.after);
      added += count.added;
      removed += count.removed;
      const caption = shown.length > 1 || file.path !== this.title.textContent ? el("figcaption", {}, file.path) : null;
      return el("figure", {}, caption, diffView(file.before ?? "", file.after ?? "", 1, file.path));
    });
    if (parts.length > 0) fill(node, parts);
    this.state.append(el("span", { class: "added" }, ` +${added}`), el("span", { class: "removed" }, ` −${removed}`));
  }
}

const isImage = (part) => part.type === "media" && part.mime.startsWith("image/");

/** The images of an item; null if it has none. */
function images(session, item) {
  const media = (item.parts ?? []).filter((part) => part.type === "media");
  if (!media.some(isImage)) return null;
  const node = el("div", { class: "images" });
  media.forEach((part, number) => {
    if (!isImage(part)) return;
    const image = el("img", { alt: part.name ?? "image", loading: "lazy" });
    node.append(image);
    itemImage(session, item.id, number).then((address) => {
      if (!address) return image.remove();
      image.addEventListener("load", () => URL.revokeObjectURL(address), { once: true });
      image.src = address;
    });
  });
  return node;
}

function changesList(changes) {
  return el("ul", {}, changes.map((change) => el("li", {}, `${change.change} ${change.path}`)));
}

function shownText(text, tool, input) {
  const shown = text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}\n…` : text;
  const path = input?.path;
  if (tool === "read_file" && typeof path === "string") return codeBlock(shown, path, true);
  return el("pre", { class: "output", tabindex: "0" }, shown);
}

/** The text of an item's parts. */
export function textOf(item) {
  return (item.parts ?? []).filter((part) => part.type === "text").map((part) => part.text).join("\n");
}

/** The text of a prompt that the user, or the parent of a subtask, wrote. */
const promptText = (item) => textOf({ parts: item.parts.filter((part) => !part.origin) });

/** The string fields of an incomplete JSON object. */
function partialFields(json) {
  const fields = {};
  for (const match of json.matchAll(/"((?:[^"\\]|\\.)*)"\s*:\s*"((?:[^"\\]|\\.)*)("|$)/gs)) {
    let value = match[2];
    // An escape sequence may be cut.
    value = value.replace(/\\(u[0-9a-fA-F]{0,3})?$/, "");
    try {
      fields[match[1]] = JSON.parse(`"${value}"`);
    } catch {
      fields[match[1]] = value;
    }
  }
  return fields;
}
