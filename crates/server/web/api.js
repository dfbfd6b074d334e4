// Requests to the server, and its event streams.

let csrf = "";
let canHighlight = true;

export class ApiError extends Error {
  constructor(status, message, hint) {
    super(message);
    this.status = status;
    this.hint = hint;
  }
}

/** The client; sets the value against cross-site requests. */
export async function connect() {
  const me = await request("GET", "/me");
  csrf = me.csrf;
  canHighlight = !me.read_only;
  return me;
}

export async function request(method, path, body) {
  const headers = { "x-hew-csrf": csrf };
  if (body !== undefined) headers["content-type"] = "application/json";
  let response;
  try {
    response = await fetch(`/api/v1${path}`, { method, headers, body: body === undefined ? undefined : JSON.stringify(body) });
  } catch {
    throw new ApiError(0, "The server does not answer.");
  }
  if (response.status === 401) {
    location.replace("/pair");
    throw new ApiError(401, "This device is not paired.");
  }
  const result = await response.json().catch(() => ({}));
  if (!response.ok) throw new ApiError(response.status, result.error?.message ?? response.statusText, result.error?.hint);
  return result;
}

export const get = (path) => request("GET", path);
export const post = (path, body = {}) => request("POST", path, body);

/**
 * Follows the events of a session from a position, and reconnects from the last received one. Returns a function that ends it.
 * `handle` receives each event, `status` whether the stream is connected.
 */
export function follow(session, cursor, handle, status) {
  const control = { stopped: false, abort: null };
  run();
  return () => {
    control.stopped = true;
    control.abort?.abort();
  };

  async function run() {
    let delay = 250;
    while (!control.stopped) {
      control.abort = new AbortController();
      // A stream without any byte for this long is dead: the server sends a comment every 15 seconds.
      let watchdog;
      const alive = () => {
        clearTimeout(watchdog);
        watchdog = setTimeout(() => control.abort.abort(), 40000);
      };
      try {
        alive();
        const response = await fetch(`/api/v1/sessions/${session}/events?states=1`, {
          headers: cursor ? { "last-event-id": cursor } : {},
          signal: control.abort.signal,
          cache: "no-store",
        });
        if (response.status === 401) return location.replace("/pair");
        if (response.status === 404) return status("gone");
        if (response.ok) {
          status("connected");
          delay = 250;
          const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
          let text = "";
          for (;;) {
            const { done, value } = await reader.read();
            if (done) break;
            alive();
            text += value;
            let end;
            while ((end = text.indexOf("\n\n")) >= 0) {
              take(text.slice(0, end));
              text = text.slice(end + 2);
            }
          }
        }
      } catch { /* The next attempt follows. */ }
      clearTimeout(watchdog);
      if (control.stopped) return;
      status("reconnecting");
      await new Promise((resolve) => setTimeout(resolve, delay));
      delay = Math.min(delay * 2, 5000);
    }
  }

  function take(block) {
    let data = "";
    let id = null;
    for (const line of block.split("\n")) {
      if (line.startsWith("data: ")) data += line.slice(6);
      else if (line.startsWith("id: ")) id = line.slice(4);
    }
    if (!data || control.stopped) return;
    handle(JSON.parse(data));
    // Only after it was handled, so that an event is never lost.
    if (id) cursor = id;
  }
}

/** An image of an item as an address for an `img` element; null if it cannot be loaded. */
export async function itemImage(session, item, number) {
  const response = await fetch(`/api/v1/sessions/${session}/items/${item}/media/${number}`).catch(() => null);
  return response?.ok ? URL.createObjectURL(await response.blob()) : null;
}

const highlighted = new Map();
/** Spans of highlighted source text; null if the language is unknown. */
export async function highlight(language, text) {
  if (!canHighlight) return null;
  const key = `${language}\n${text}`;
  if (!highlighted.has(key)) {
    if (highlighted.size > 200) highlighted.clear();
    highlighted.set(key, post("/highlight", { language, text }).catch(() => null));
  }
  return highlighted.get(key);
}
