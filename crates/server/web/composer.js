// The prompt: text with completion of files and commands, attachments, and how it is delivered.

import { get } from "./api.js";
import { button, el, fill, toast } from "./dom.js";

const MEDIA = ["image/png", "image/jpeg", "image/gif", "image/webp", "application/pdf"];
const MAX_FILE = 8 << 20;

export class Composer {
  constructor(session, commands, send, interrupt) {
    Object.assign(this, { session, commands, send, interrupt, attachments: [], matches: [], selected: 0, isWorking: false });
    this.custom = null;
    const popup = `complete-${session}`;
    this.input = el("textarea", {
      rows: "1", placeholder: "Describe a task, / for commands, @ for files", "aria-label": "Prompt", "aria-autocomplete": "list",
      "aria-controls": popup, oninput: () => this.changed(), onkeydown: (event) => this.key(event), onpaste: (event) => this.files(event, event.clipboardData),
    });
    this.popup = el("ul", { class: "completions", id: popup, role: "listbox", hidden: true, "aria-label": "Completions" });
    this.chips = el("div", { class: "chips" });
    const picker = el("input", { type: "file", accept: MEDIA.join(","), multiple: true, hidden: true, onchange: () => {
      this.addFiles(picker.files);
      picker.value = "";
    } });
    this.sendButton = button("Send", () => this.submit("steer"), { class: "primary", dataset: { action: "send" } });
    this.queueButton = button("Queue", () => this.submit("queue"), { title: "Send after this turn", hidden: true, dataset: { action: "queue" } });
    this.stopButton = button("Stop", () => this.interrupt(), { class: "danger", hidden: true, dataset: { action: "stop" } });
    const attach = button("+", () => picker.click(), { title: "Attach images or PDF files", "aria-label": "Attach files" });
    this.node = el("div", { class: "composer", ondragover: (event) => event.preventDefault(), ondrop: (event) => this.files(event, event.dataTransfer) },
      this.popup, this.chips, el("div", { class: "composer-row" }, attach, this.input, this.stopButton, this.queueButton, this.sendButton), picker);
    const draft = sessionStorage.getItem(`draft-${session}`);
    if (draft) this.input.value = draft;
    requestAnimationFrame(() => this.resize());
  }

  setWorking(isWorking) {
    this.isWorking = isWorking;
    this.stopButton.hidden = !isWorking;
    this.queueButton.hidden = !isWorking;
    this.sendButton.textContent = isWorking ? "Steer" : "Send";
  }

  setText(text) {
    this.input.value = text;
    this.changed();
    this.input.focus();
  }

  resize() {
    this.input.style.height = "auto";
    this.input.style.height = `${Math.min(this.input.scrollHeight + 2, 240)}px`;
  }

  changed() {
    this.resize();
    sessionStorage.setItem(`draft-${this.session}`, this.input.value);
    this.complete();
  }

  key(event) {
    if (!this.popup.hidden) {
      if (event.key === "ArrowDown" || event.key === "ArrowUp") {
        event.preventDefault();
        const step = event.key === "ArrowDown" ? 1 : this.matches.length - 1;
        this.selected = (this.selected + step) % this.matches.length;
        return this.showMatches();
      }
      // A command that is complete runs.
      const isComplete = this.matches.some((match) => match.from === 0 && match.text.trim() === this.input.value.trim());
      if (event.key === "Tab" || (event.key === "Enter" && !event.shiftKey && !isComplete)) {
        event.preventDefault();
        return this.accept(this.selected);
      }
      if (event.key === "Escape") {
        event.stopPropagation();
        return this.hide();
      }
    }
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      this.submit(event.altKey ? "queue" : "steer");
    } else if (event.key === "Escape" && this.isWorking) this.interrupt();
  }

  async submit(delivery) {
    const text = this.input.value.trim();
    if (!text && this.attachments.length === 0) return;
    this.hide();
    const attachments = this.attachments;
    this.input.value = "";
    this.attachments = [];
    this.changed();
    this.showChips();
    if (!(await this.send(text, delivery, attachments))) {
      this.attachments = attachments;
      this.showChips();
      this.setText(text);
    }
  }

  files(event, source) {
    if (!source?.files?.length) return;
    event.preventDefault();
    this.addFiles(source.files);
  }

  async addFiles(files) {
    for (const file of files) {
      if (!MEDIA.includes(file.type) || file.size > MAX_FILE) {
        toast(`${file.name} cannot be attached: only images and PDF files up to 8 MB`, "error");
        continue;
      }
      const bytes = new Uint8Array(await file.arrayBuffer());
      let binary = "";
      for (let at = 0; at < bytes.length; at += 32768) binary += String.fromCharCode(...bytes.subarray(at, at + 32768));
      this.attachments.push({ mime: file.type, name: file.name, data: btoa(binary) });
    }
    this.showChips();
  }

  showChips() {
    fill(this.chips, this.attachments.map((file, index) => el("span", { class: "chip" }, file.name, button("✕", () => {
      this.attachments.splice(index, 1);
      this.showChips();
    }, { class: "plain", "aria-label": `Remove ${file.name}` }))));
  }

  async complete() {
    const before = this.input.value.slice(0, this.input.selectionStart);
    const slash = /^\/(\S*)$/.exec(before);
    const at = /(?:^|\s)@([^\s@]*)$/.exec(before);
    const request = (this.request = (this.request ?? 0) + 1);
    if (slash) {
      this.custom ??= get(`/sessions/${this.session}/commands`).catch(() => []);
      const custom = await this.custom;
      if (request !== this.request) return;
      const all = [...this.commands.map(([name, description]) => ({ name, description })), ...custom];
      const found = all.filter((command) => command.name.startsWith(slash[1]));
      return this.offer(found.map((command) => ({ text: `/${command.name} `, label: `/${command.name}`, about: command.description, from: 0 })));
    }
    if (at) {
      const found = await get(`/sessions/${this.session}/files?q=${encodeURIComponent(at[1])}`).catch(() => []);
      if (request !== this.request) return;
      const from = before.length - at[1].length - 1;
      return this.offer(found.slice(0, 12).map((path) => ({ text: `@${path} `, label: path, from })));
    }
    this.hide();
  }

  offer(matches) {
    this.matches = matches;
    this.selected = 0;
    if (matches.length === 0) return this.hide();
    this.showMatches();
  }

  showMatches() {
    this.popup.hidden = false;
    fill(this.popup, this.matches.map((match, index) => el("li", {
      role: "option", id: `${this.popup.id}-${index}`, "aria-selected": String(index === this.selected), onmousedown: (event) => {
        event.preventDefault();
        this.accept(index);
      },
    }, el("span", {}, match.label), match.about ? el("small", {}, match.about) : null)));
    this.input.setAttribute("aria-activedescendant", `${this.popup.id}-${this.selected}`);
    this.popup.children[this.selected]?.scrollIntoView({ block: "nearest" });
  }

  accept(index) {
    const match = this.matches[index];
    const end = this.input.selectionStart;
    this.input.value = this.input.value.slice(0, match.from) + match.text + this.input.value.slice(end);
    const at = match.from + match.text.length;
    this.input.setSelectionRange(at, at);
    sessionStorage.setItem(`draft-${this.session}`, this.input.value);
    this.hide();
    this.resize();
  }

  hide() {
    this.request = (this.request ?? 0) + 1;
    this.popup.hidden = true;
    this.matches = [];
    this.input.removeAttribute("aria-activedescendant");
  }
}
