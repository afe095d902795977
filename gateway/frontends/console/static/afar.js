// The page for people elsewhere: who is signed in sees the questions that may be answered from there, and answers them. A
// yes takes the person's passkey, which signs the very question and answer.

import {built, clocks, element} from "./elements.js";

const SETTLE = 550; // milliseconds that a question must have been seen
const EVERY = 2000; // milliseconds between two looks
const $ = (id) => document.getElementById(id);
const hasPasskeys = Boolean(window.PublicKeyCredential && PublicKeyCredential.parseRequestOptionsFromJSON);

let shown = "";
let shownAt = 0;
let isBusy = false;

function say(text) {
  const state = $("state");
  if (state.textContent !== text) state.textContent = text;
}

async function sent(path, body) {
  const answer = await fetch(path, {
    method: "POST", cache: "no-store", headers: {"Content-Type": "application/json"}, body: JSON.stringify(body),
  });
  const isJson = (answer.headers.get("content-type") || "").includes("json");
  return {ok: answer.ok, status: answer.status, told: isJson ? await answer.json() : {text: (await answer.text()).trim()}};
}

function show(nodes, title) {
  const main = $("main");
  const notes = new Map([...main.querySelectorAll("input[id]")].map((each) => [each.id, each.value]));
  const seen = new Map([...main.querySelectorAll("[data-question]")].map((each) => [each.dataset.question, each.seenAt]));
  main.replaceChildren(...nodes);
  main.removeAttribute("aria-busy");
  for (const [id, value] of notes) if ($(id)) $(id).value = value;
  for (const each of main.querySelectorAll("[data-question]")) each.seenAt = seen.get(each.dataset.question) || performance.now();
  document.title = `${title} · gateway`;
  shownAt = performance.now();
  clocks(main);
}

// -------------------------------------------------------------------------------------------------------------- sign in

function signIn() {
  if (shown === "sign in") return;
  shown = "sign in";
  const status = element("p", {role: "status", class: "hint"}, "");
  const parts = [element("h1", {}, "Sign in"), element("p", {}, "Calls of agents wait here for your answer.")];
  if (hasPasskeys) {
    const button = element("button", {type: "button", class: "yes"}, "Sign in with a passkey");
    button.addEventListener("click", () => tried(status, async () => {
      const {ok, told} = await sent("/api/begin", {});
      if (!ok) return told.text;
      const response = await used(told.options);
      return entered(await sent("/api/enter", {ticket: told.ticket, response}));
    }));
    parts.push(element("div", {class: "buttons"}), element("h2", {}, "Or with a code"));
    parts[2].append(button);
  }
  const form = element("form", {class: "code"},
    ["label", {for: "code"}, ["Type `code` where `gateway console` runs, and here what it shows"]],
    ["input", {id: "code", name: "code", autocomplete: "one-time-code", spellcheck: "false", maxlength: "20", required: ""}, []],
    ["div", {class: "buttons"}, [["button", {type: "submit", class: "yes"}, ["Sign in"]]]]);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    tried(status, async () => entered(await sent("/api/enter", {code: $("code").value})));
  });
  const card = element("div", {class: "card sign-in"});
  card.append(...parts, form, status);
  show([card], "Sign in");
}

function entered({ok, told}) {
  if (!ok) return told.text;
  shown = "";
  look();
  return "";
}

async function used(options) {
  const credential = await navigator.credentials.get({publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(options)});
  return credential.toJSON();
}

async function tried(status, does) {
  if (isBusy) return;
  isBusy = true;
  try {
    status.textContent = await does();
  } catch (error) {
    status.textContent = error.name === "NotAllowedError" ? "The passkey was not used." : "The console does not answer.";
  } finally {
    isBusy = false;
  }
}

// ------------------------------------------------------------------------------------------------------------ questions

async function look() {
  let answer;
  try {
    answer = await fetch("/api/questions", {cache: "no-store"});
  } catch {
    say("The console does not answer: it may have ended.");
    return;
  }
  if (!answer.ok) { say("The console cannot show this now."); return; }
  say("");
  const told = await answer.json();
  if (!told.name) { signIn(); return; }
  const version = JSON.stringify([told.version, told.name, told.has_passkey, told.may_add]);
  if (version === shown || isBusy) return;
  shown = version;
  show([...told.main.map((each) => built(each)), account(told)], told.title);
  for (const card of document.querySelectorAll("[data-question]")) bind(card, told);
  const wanted = location.pathname.startsWith("/q/") && $(`q-${location.pathname.slice(3)}`);
  if (wanted) wanted.scrollIntoView();
}

function bind(card, told) {
  const status = card.querySelector('.answers [role="status"]');
  for (const button of card.querySelectorAll("[data-answer]")) button.addEventListener("click", (event) => {
    // A page that nobody looks at answers nothing, nor does a click that was meant for what stood there before.
    if (!event.isTrusted || document.visibilityState !== "visible") return;
    if (performance.now() - card.seenAt < SETTLE) {
      status.textContent = "This question has just appeared: look at it, then choose.";
      return;
    }
    const {question: id, digest} = card.dataset;
    const body = {id, digest, answer: button.dataset.answer, note: card.querySelector("input").value};
    tried(status, async () => {
      if (told.signs && !body.answer.startsWith("no")) {
        const begun = await sent("/api/answer/begin", body);
        if (!begun.ok) return begun.told.text;
        status.textContent = "Your passkey signs this answer …";
        Object.assign(body, {ticket: begun.told.ticket, response: await used(begun.told.options)});
      }
      const {ok, told: said} = await sent("/api/answer", body);
      if (ok) for (const each of card.querySelectorAll("button")) each.disabled = true;
      return said.text;
    });
  });
}

function account(told) {
  const status = element("p", {role: "status", class: "hint"}, "");
  const buttons = element("div", {class: "buttons", role: "group", "aria-label": "this browser"});
  function offer(text, does) {
    const button = element("button", {type: "button"}, text);
    button.addEventListener("click", () => tried(status, does));
    buttons.append(button);
  }
  if (told.may_add && hasPasskeys) offer("Add a passkey", async () => {
    const begun = await sent("/api/passkey/begin", {});
    if (!begun.ok) return begun.told.text;
    const made = await navigator.credentials.create({
      publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(begun.told.options),
    });
    const {told: said} = await sent("/api/passkey", {ticket: begun.told.ticket, response: made.toJSON()});
    return said.text;
  });
  if (told.push && "serviceWorker" in navigator && "PushManager" in window) offer("Tell this browser when something waits", async () => {
    if (await Notification.requestPermission() !== "granted") return "The browser does not let it be told.";
    const policy = trustedTypes.createPolicy("gateway-worker", {createScriptURL: () => document.body.dataset.worker});
    const worker = await navigator.serviceWorker.register(policy.createScriptURL(""), {scope: "/"});
    const asked = await worker.pushManager.subscribe({userVisibleOnly: true, applicationServerKey: told.push});
    const {endpoint, keys} = asked.toJSON();
    return (await sent("/api/push", {endpoint, key: keys.p256dh, secret: keys.auth})).told.text;
  });
  offer("Sign out", async () => { await sent("/api/leave", {}); signIn(); return ""; });
  const footer = element("footer", {class: "account"}, ["p", {class: "hint"}, [`Signed in as ${told.name}.`]]);
  footer.append(buttons, status);
  return footer;
}

// ---------------------------------------------------------------------------------------------------------------- start

setInterval(() => {
  for (const each of document.querySelectorAll("[data-left]")) {
    const left = Math.max(Math.round(Number(each.dataset.left) - (performance.now() - shownAt) / 1000), 0);
    each.textContent = `${left} s left`;
  }
}, 1000);
setInterval(() => { if (document.visibilityState === "visible") look(); }, EVERY);
document.addEventListener("visibilitychange", () => { if (document.visibilityState === "visible") look(); });
look();
