// Builds elements. Text becomes text nodes, never markup.

/** Creates an element: properties, then children (strings become text). */
export function el(tag, properties, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(properties ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name === "class") node.className = value;
    else if (name === "dataset") Object.assign(node.dataset, value);
    else if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name in node && typeof value !== "string") node[name] = value;
    else node.setAttribute(name, value === true ? "" : value);
  }
  append(node, children);
  return node;
}

/** Creates an SVG element. */
export function svg(tag, attributes, ...children) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes ?? {})) node.setAttribute(name, String(value));
  append(node, children);
  return node;
}

function append(node, children) {
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    node.append(child instanceof Node ? child : String(child));
  }
}

/** Replaces the children of an element. */
export function fill(node, ...children) {
  node.replaceChildren();
  append(node, children);
  return node;
}

export function button(label, onclick, properties) {
  return el("button", { type: "button", onclick, ...properties }, label);
}

let toastTimer;
/** Shows a message for a few seconds. */
export function toast(text, kind = "info") {
  let box = document.getElementById("toast");
  if (!box) {
    box = el("div", { id: "toast", role: "status", popover: "manual" });
    document.body.append(box);
  }
  box.className = kind;
  box.textContent = text;
  // Shown anew, so that it is above a dialog.
  box.hidePopover?.();
  if (text) box.showPopover?.();
  clearTimeout(toastTimer);
  toastTimer = setTimeout(() => {
    box.textContent = "";
    box.hidePopover?.();
  }, 6000);
}

/** Reports a failed request. */
export function report(error) {
  toast(error.hint ? `${error.message} (${error.hint})` : error.message, "error");
}

export function tokens(count) {
  if (count >= 1e6) return `${(count / 1e6).toFixed(1)}M`;
  if (count >= 1e3) return `${(count / 1e3).toFixed(count >= 1e4 ? 0 : 1)}k`;
  return String(count ?? 0);
}

export function dollars(usd) {
  if (usd === null || usd === undefined) return "";
  return `$${usd < 0.01 && usd > 0 ? usd.toFixed(4) : usd.toFixed(2)}`;
}

export function ago(ms) {
  const minutes = Math.floor((Date.now() - ms) / 60000);
  if (minutes < 1) return "now";
  if (minutes < 60) return `${minutes} min`;
  if (minutes < 1440) return `${Math.floor(minutes / 60)} h`;
  return new Date(ms).toLocaleDateString();
}

/** Shows a dialog with a title; returns it. */
export function dialog(title, ...children) {
  const box = el("dialog", { class: "dialog", "aria-label": title });
  const close = button("✕", () => box.close(), { class: "plain", "aria-label": "Close" });
  box.append(el("header", {}, el("h2", {}, title), close), el("div", { class: "dialog-body" }, ...children));
  box.addEventListener("close", () => box.remove());
  box.addEventListener("click", (event) => { if (event.target === box) box.close(); });
  document.body.append(box);
  box.showModal();
  return box;
}
