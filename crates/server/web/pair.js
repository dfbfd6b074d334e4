// Pairs this device with the code of a link.

const form = document.getElementById("form");
const code = document.getElementById("code");
const name = document.getElementById("name");
const status = document.getElementById("status");

function deviceName() {
  const agent = navigator.userAgent;
  const system = ["iPhone", "iPad", "Android", "Windows", "Mac OS", "Linux"].find((part) => agent.includes(part));
  const browser = ["Firefox", "Edg", "Chrome", "Safari"].find((part) => agent.includes(part));
  return [browser === "Edg" ? "Edge" : browser, system].filter(Boolean).join(" on ") || "browser";
}

async function pair(event) {
  event?.preventDefault();
  status.textContent = "Pairing…";
  const response = await fetch("/api/v1/pair", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ code: code.value.trim(), name: name.value.trim() }),
  }).catch(() => null);
  if (response?.ok) {
    const result = await response.json();
    location.replace(result.session ? `/#${result.session}` : "/");
    return;
  }
  const body = await response?.json().catch(() => null);
  status.textContent = body?.error ? `${body.error.message}. ${body.error.hint ?? ""}` : "The server does not answer.";
}

name.value = deviceName();
form.addEventListener("submit", pair);
const given = new URLSearchParams(location.search).get("code");
if (location.pathname === "/" && !location.search) {
  // A link of another site does not send the cookie; a link of this page does.
  fetch("/api/v1/me").then((response) => { if (response.ok) location.replace(`/?paired${location.hash}`); }, () => {});
}
if (given) {
  code.value = given;
  history.replaceState(null, "", "/pair");
  pair();
}
