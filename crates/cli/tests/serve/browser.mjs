// Drives the web page in Chromium: `node browser.mjs SCENARIO`, with the addresses in the environment. Prints a JSON report.

import { createRequire } from "node:module";
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

const load = createRequire(join(process.env.HEW_NODE_MODULES, "resolve.js"));
const { chromium } = load("playwright-core");
const axe = readFileSync(load.resolve("axe-core/axe.min.js"), "utf8");
const shots = process.env.HEW_SCREENSHOTS;
mkdirSync(shots, { recursive: true });

const report = { errors: [], requests: [], axe: [], layout: [], steps: [] };
const browser = await chromium.launch({ executablePath: process.env.HEW_CHROMIUM, args: ["--no-sandbox"] });
const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
context.setDefaultTimeout(60000);
context.on("page", watch);

function watch(page) {
  page.on("console", (message) => { if (message.type() === "error" && !/status of (401|409|404)|ERR_/.test(message.text())) report.errors.push(message.text()); });
  page.on("pageerror", (error) => report.errors.push(String(error)));
  page.on("dialog", (dialog) => { report.errors.push(`dialog: ${dialog.message()}`); dialog.dismiss(); });
  page.on("request", (request) => { if (!request.url().startsWith(process.env.HEW_URL) && !/^(data|blob):/.test(request.url())) report.requests.push(request.url()); });
}

async function check(page, name) {
  await page.screenshot({ path: join(shots, `${name}.png`) });
  // Evaluated by the driver, which the policy of the page does not restrict.
  await page.evaluate(axe);
  const result = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
  for (const found of result.violations) {
    if (["serious", "critical"].includes(found.impact)) report.axe.push(`${name}: ${found.id}: ${found.nodes.map((node) => node.html).slice(0, 3).join(" | ")}`);
  }
  await layout(page, name);
}

/** Defects of the layout: a page that scrolls sideways, a word of a label that is broken into lines. */
async function layout(page, name) {
  const before = page.viewportSize();
  for (const width of [360, 820, 1280]) {
    await page.setViewportSize({ width, height: 800 });
    const found = await page.evaluate(() => {
      const found = document.documentElement.scrollWidth > innerWidth ? [`${document.documentElement.scrollWidth} pixels wide`] : [];
      for (const node of document.querySelectorAll("button, th, h2, summary")) {
        const texts = document.createTreeWalker(node, NodeFilter.SHOW_TEXT);
        for (let text = texts.nextNode(); text; text = texts.nextNode()) {
          for (const word of text.data.matchAll(/\S{1,16}/g)) {
            const range = new Range();
            range.setStart(text, word.index);
            range.setEnd(text, word.index + word[0].length);
            if (new Set([...range.getClientRects()].map((line) => line.top)).size > 1) found.push(`${node.tagName}: ${word[0]}`);
          }
        }
      }
      return found;
    });
    report.layout.push(...found.map((text) => `${name} at ${width}: ${text}`));
  }
  await page.setViewportSize(before);
}

/** Waits until an element is inside the visible part of the conversation. */
const inView = (page, selector) => page.waitForFunction((selector) => {
  const [inner, outer] = [selector, ".scroller"].map((name) => [...document.querySelectorAll(name)].at(-1)?.getBoundingClientRect());
  return inner && inner.top < outer.bottom && inner.bottom <= outer.bottom + 1;
}, selector);

const step = (name) => report.steps.push(name);

async function pair() {
  const page = await context.newPage();
  await page.goto(process.env.HEW_PAIR);
  await page.waitForSelector(".sidebar");
  return page;
}

async function newSession(page) {
  await page.click("[data-action=new]");
  await page.waitForSelector(".composer textarea");
  return page.url().split("#")[1];
}

async function prompt(page, text) {
  await page.fill(".composer textarea", text);
  await page.click("[data-action=send]");
}

const scenarios = {
  /** A task with an approval, a diff, steering, review, undo, a reload in mid-stream, two tabs and a phone. */
  async task() {
    const page = await pair();
    await check(page, "1-start");
    const session = await newSession(page);
    await prompt(page, "change the greeting");
    await page.waitForSelector(".question");
    step("question");
    await page.waitForFunction(() => document.querySelector(".session-title").textContent === "change the greeting");
    const second = await context.newPage();
    await second.setViewportSize({ width: 360, height: 740 });
    await second.goto(`${process.env.HEW_URL}/#${session}`);
    await second.waitForSelector(".question");
    await check(page, "2-question");
    await check(second, "3-question-phone");
    report.diffs = await page.evaluate(() => document.querySelectorAll(".diff").length);
    report.asked = await page.textContent(".question h3");
    // The end stays visible in a window of another size, as with the keyboard of a phone.
    for (const [width, height] of [[360, 400], [820, 300], [1280, 800]]) {
      await page.setViewportSize({ width, height });
      await inView(page, ".question");
    }
    await second.click("[data-answer=once]");
    await page.waitForSelector(".question", { state: "detached" });
    step("answered elsewhere");
    await page.waitForSelector(".card[data-tool=edit_file][data-state=ok] .diff-line.added .t-string");
    step("diff");
    // The second turn streams slowly: it is steered, and the page is reloaded meanwhile.
    await page.waitForSelector(".pane[data-state=idle]");
    await prompt(page, "tell a story");
    await page.waitForFunction(() => document.querySelector(".reply:last-of-type .markdown")?.textContent.includes("Once"));
    await page.fill(".composer textarea", "make it short");
    await page.click("[data-action=queue]");
    await page.waitForSelector(".queued");
    step("queued");
    await page.reload();
    await page.waitForFunction(() => [...document.querySelectorAll(".reply .markdown")].some((node) => node.textContent.includes("Once")));
    await inView(page, ".tail, .items > :last-child");
    await page.screenshot({ path: join(shots, "4-stream.png") });
    await page.click("[data-answer=once]");
    await page.waitForFunction(() => document.body.textContent.includes("The end."));
    await page.waitForFunction(() => document.body.textContent.includes("Short."));
    await page.waitForSelector(".pane[data-state=idle]");
    step("reloaded in mid-stream");
    const texts = await Promise.all([page, second].map((tab) => tab.evaluate(() => [...document.querySelectorAll(".reply .markdown")].map((node) => node.textContent))));
    report.same = JSON.stringify(texts[0]) === JSON.stringify(texts[1]);
    report.replies = texts[0];
    await page.waitForSelector(".markdown .t-keyword");
    await check(page, "5-done");
    await page.click("[data-view=changes]");
    await page.waitForSelector(".hunk .diff-line.removed .t-string");
    await check(page, "6-review");
    await second.click("[data-view=changes]");
    await second.waitForSelector(".hunk");
    await page.click(".hunk [data-review=reject]");
    for (const tab of [page, second]) await tab.waitForFunction(() => document.querySelector("dialog")?.textContent.includes("Nothing to review"));
    step("rejected");
    report.aboveDialog = await page.evaluate(() => document.getElementById("toast").matches(":popover-open"));
    await page.keyboard.press("Escape");
    await second.keyboard.press("Escape");
    await page.click("[data-view=charts]");
    await page.waitForSelector(".chart rect");
    await check(page, "7-charts");
    await page.keyboard.press("Escape");
    await page.click("[data-view=settings]");
    await page.waitForSelector(".dialog select");
    await check(page, "8-settings");
    await page.click("[data-approval=ask]");
    await page.waitForFunction(() => document.getElementById("toast")?.textContent === "Changed");
    await page.keyboard.press("Escape");
    await page.click(".sidebar-bottom button");
    await page.waitForSelector("dialog .row");
    await check(page, "8-devices");
    await page.keyboard.press("Escape");
    await page.click("[data-view=rewind]");
    await page.waitForSelector("dialog .file");
    await check(page, "8-rewind");
    await page.keyboard.press("Escape");
    await page.fill(".composer textarea", "/und");
    await page.waitForSelector(".completions li");
    await page.fill(".composer textarea", "see @gree");
    await page.waitForFunction(() => document.querySelector(".completions li")?.textContent.includes("greeting.rs"));
    await check(page, "9-completion");
    await page.keyboard.press("Escape");
    for (const [line, text] of [["/code greeting", "greet()"], ["/memory", "AGENTS.md"], ["/agents", "No subtasks"]]) {
      await prompt(page, line);
      await page.waitForFunction((text) => document.querySelector("dialog")?.textContent.includes(text), text);
      await check(page, `9-${line.slice(1).split(" ")[0]}`);
      await page.keyboard.press("Escape");
    }
    await page.fill(".composer textarea", "");
    await page.emulateMedia({ colorScheme: "dark" });
    await check(page, "10-dark");
    await check(second, "11-phone");
    // Before the first prompt there is nothing to rewind to: its text moves to a new session, which is shown beside the first one.
    await page.click("[data-view=rewind]");
    await page.locator("dialog .file").last().getByRole("button", { name: "Conversation", exact: true }).click();
    await page.waitForFunction((session) => !location.hash.includes(session) && document.querySelector(".composer textarea")?.value === "change the greeting", session);
    await page.waitForSelector(".session.current");
    await page.click(".beside");
    await page.waitForFunction(() => document.querySelectorAll(".pane").length === 2);
    await check(page, "12-beside");
    step("rewound to the start");
  },

  /** Script in every displayed string. */
  async injection() {
    const page = await pair();
    const session = await newSession(page);
    await prompt(page, process.env.HEW_PROMPT);
    await page.waitForSelector(".question");
    await page.screenshot({ path: join(shots, "injection-question.png") });
    await page.click("[data-answer=once]");
    await page.waitForSelector(".pane[data-state=idle]");
    await page.fill(".composer textarea", `/rename ${process.env.HEW_PROMPT}`);
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => document.querySelector(".title").textContent.includes("<img"));
    await page.click("[data-view=changes]");
    await page.waitForSelector("dialog .hunk, dialog .file");
    await page.screenshot({ path: join(shots, "injection-review.png") });
    await page.keyboard.press("Escape");
    await page.reload();
    await page.waitForSelector(".reply");
    report.injected = await page.evaluate(() => ({
      ran: window.injected ?? null, images: document.querySelectorAll("#app img").length, frames: document.querySelectorAll("iframe, object, embed").length,
      scripts: document.querySelectorAll("#app script").length, handlers: [...document.querySelectorAll("#app *")].filter((node) => [...node.attributes].some((attribute) => attribute.name.startsWith("on"))).length,
      links: [...document.querySelectorAll("#app a")].map((node) => node.getAttribute("href")),
    }));
    report.session = session;
  },

  /** The page survives a killed server: the test restarts it. */
  async reconnect() {
    const page = await pair();
    await newSession(page);
    await prompt(page, "first");
    await page.waitForFunction(() => document.body.textContent.includes("Answer one"));
    console.log("ready");
    while (!existsSync(process.env.HEW_SIGNAL)) await new Promise((resolve) => setTimeout(resolve, 50));
    await page.waitForSelector(".pane[data-connection=connected]");
    await prompt(page, "second");
    await page.waitForFunction(() => document.body.textContent.includes("Answer two"));
    report.replies = await page.evaluate(() => [...document.querySelectorAll(".reply .markdown")].map((node) => node.textContent));
    report.prompts = await page.evaluate(() => document.querySelectorAll(".prompt").length);
    // A session that cannot be loaded at first.
    let isFirst = true;
    await page.route(/sessions\/[0-9a-f-]{36}$/, (route) => {
      if (isFirst) route.abort(); else route.continue();
      isFirst = false;
    });
    await page.reload();
    await page.waitForFunction(() => document.body.textContent.includes("Answer two"));
  },

  /** A session that a link shares for reading. */
  async shared() {
    const page = await context.newPage();
    await page.goto(process.env.HEW_LINK);
    await page.waitForSelector(".reply");
    await check(page, "13-shared");
    report.width = await page.evaluate(() => document.querySelector(".pane").clientWidth);
    report.controls = await page.evaluate(() => document.querySelectorAll(".composer, .sidebar, .entry-menu, .menu-button").length);
  },

  /** A running tool call when the server is killed: the test restarts it. */
  async interrupted() {
    const page = await pair();
    await newSession(page);
    await prompt(page, "wait");
    await page.waitForSelector(".card[data-tool=terminal][data-state=running]");
    console.log("ready");
    await page.waitForSelector(".banner button");
    report.cards = [await page.evaluate(() => document.querySelectorAll(".card").length)];
    await page.click(".banner button");
    await page.waitForFunction(() => document.body.textContent.includes("After the restart"));
    await page.waitForSelector(".pane[data-state=idle]");
    const shown = () => page.evaluate(() => [...document.querySelectorAll(".items > *")].map((node) => node.textContent));
    report.shown = await shown();
    await page.reload();
    await page.waitForFunction(() => document.body.textContent.includes("After the restart"));
    report.reloaded = await shown();
    // A prompt that waits when the turn is stopped is not lost.
    await prompt(page, "wait again");
    await page.waitForSelector(".card[data-tool=terminal][data-state=running]");
    await page.fill(".composer textarea", "for later");
    await page.click("[data-action=queue]");
    await page.waitForSelector(".queued");
    await page.click("[data-action=stop]");
    await page.waitForSelector(".pane[data-state=idle]");
    report.returned = await page.inputValue(".composer textarea");
    report.notices = await page.evaluate(() => [...document.querySelectorAll(".tail .notice")].map((node) => node.textContent));
  },
};

try {
  await scenarios[process.argv[2]]();
} catch (error) {
  report.failed = String(error);
  for (const [index, page] of context.pages().entries()) {
    await page.screenshot({ path: join(shots, `failed-${process.argv[2]}-${index}.png`) }).catch(() => {});
    report.text ??= await page.evaluate(() => document.body.innerText.slice(-2000)).catch(() => "");
  }
}
await browser.close();
console.log(JSON.stringify(report));
process.exit(0);
