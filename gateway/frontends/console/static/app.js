// The console's page: fetches pages as trees of elements and builds them (`elements.js`).

import {built, clocks, element} from "./elements.js";

const KEY = "gateway-console";
const MOST_ROWS = 500;
const SETTLE = 550; // milliseconds that a question must have been seen
const $ = (id) => document.getElementById(id);

let token = sessionStorage.getItem(KEY) || "";
let shownAt = 0;
let turn = 0;

function say(text) {
  const state = $("state");
  if (state.textContent !== text) state.textContent = text;
}

function notice(title, ...said) {
  const main = $("main");
  main.replaceChildren(element("div", {class: "empty"}, ["h1", {}, [title]], ...said.map((each) => ["p", {}, [each]])));
  main.removeAttribute("aria-busy");
}

// -------------------------------------------------------------------------------------------------------------- talking

function asked(path, options = {}) {
  return fetch(path, {
    ...options,
    cache: "no-store",
    headers: {Authorization: `Bearer ${token}`, ...options.headers},
  });
}

async function sent(path, body) {
  const answer = await asked(path, {
    method: "POST",
    headers: {"Content-Type": "application/json"},
    body: JSON.stringify(body),
  });
  const isJson = (answer.headers.get("content-type") || "").includes("json");
  return {ok: answer.ok, status: answer.status, told: isJson ? await answer.json() : {text: (await answer.text()).trim()}};
}

function locked() {
  token = "";
  sessionStorage.removeItem(KEY);
  say("");
  notice("This page has no key.", "Press Enter in the terminal where `gateway console` runs, or start it: the page that it " +
    "opens has one. A new tab of the browser has none of its own.");
}

// ---------------------------------------------------------------------------------------------------------------- pages

async function show(address, {push = false, keep = false} = {}) {
  const mine = ++turn;
  const main = $("main");
  main.setAttribute("aria-busy", "true");
  rowsToCome = []; endsToCome = []; missed = 0; // what comes from here on may not stand on the page that is asked for
  let answer;
  try {
    answer = await asked(address, {headers: {Accept: "application/json"}});
  } catch {
    if (mine === turn) notice("The console has ended.", "Start `gateway console` again.");
    return;
  }
  if (mine !== turn) return;
  if (answer.status === 401) { locked(); return; }
  if (!(answer.headers.get("content-type") || "").includes("json")) {
    notice("This cannot be shown.", (await answer.text()).trim());
    return;
  }
  const told = await answer.json();
  if (mine !== turn) return;
  if (push) history.pushState(null, "", address);
  const held = keep ? kept(main) : null;
  main.replaceChildren(...told.main.map((each) => built(each)));
  main.removeAttribute("aria-busy");
  document.title = `${told.title} · gateway`;
  for (const each of document.querySelectorAll(".menu a")) {
    if (each.getAttribute("href") === told.current) each.setAttribute("aria-current", "page");
    else each.removeAttribute("aria-current");
  }
  const here = document.querySelector(".menu [aria-current]");
  if (here) here.closest(".menu").scrollLeft = here.offsetLeft - here.closest(".menu").offsetLeft - 16;
  shownAt = performance.now();
  waiting(told.waiting);
  clocks(main);
  bind(main);
  if (held) held();
  else if (push) { main.focus({preventScroll: true}); scrollTo(0, 0); }
}

// What a person has typed, chosen or unfolded stays when the questions are shown anew.
function kept(main) {
  const notes = new Map([...main.querySelectorAll("input[id], textarea[id]")].map((each) => [each.id, each.value]));
  const open = new Set([...main.querySelectorAll("[data-question]")]
    .filter((each) => each.querySelector("details[open]")).map((each) => each.dataset.question));
  const card = document.activeElement && document.activeElement.closest("[data-question]");
  const focus = card && {
    question: card.dataset.question, id: document.activeElement.id, answer: document.activeElement.dataset.answer,
  };
  const seen = new Map([...main.querySelectorAll("[data-question]")].map((each) => [each.dataset.question, each.seenAt]));
  const at = scrollY;
  return () => {
    for (const [id, value] of notes) if ($(id)) $(id).value = value;
    for (const each of main.querySelectorAll("[data-question]")) {
      if (open.has(each.dataset.question)) each.querySelector("details").open = true;
      if (seen.has(each.dataset.question)) each.seenAt = seen.get(each.dataset.question);
    }
    if (focus) {
      const again = main.querySelector(`[data-question="${CSS.escape(focus.question)}"]`);
      const target = again && (focus.answer ? again.querySelector(`[data-answer="${CSS.escape(focus.answer)}"]`) : focus.id && $(focus.id));
      if (target) target.focus({preventScroll: true});
    }
    scrollTo(0, at);
  };
}

function waiting(count) {
  const shown = $("waiting");
  const text = count ? String(count) : "";
  if (shown.textContent !== text) shown.textContent = text;
  shown.classList.toggle("some", count > 0);
  if (count) shown.setAttribute("aria-label", `${count} waiting`);
  else shown.removeAttribute("aria-label");
}

function bind(main) {
  for (const form of main.querySelectorAll("form[data-go]")) form.addEventListener("submit", filter);
  for (const form of main.querySelectorAll("form[data-try]")) bindTry(form);
  const list = main.querySelector("#calls");
  for (const name of list ? ["mouseleave", "focusout"] : []) list.addEventListener(name, left);
  for (const card of main.querySelectorAll("[data-question]")) bindQuestion(card);
  for (const card of main.querySelectorAll("[data-undo]")) bindUndo(card);
  for (const box of main.querySelectorAll("[data-change]")) bindChange(box);
  for (const box of main.querySelectorAll("[data-reject]")) bindReject(box);
  const reading = main.querySelector("[data-work]");
  if (reading) follow(reading.dataset.work, reading, () => show(location.pathname + location.search, {keep: true}));
}

function filter(event) {
  event.preventDefault();
  const query = new URLSearchParams();
  for (const [name, value] of new FormData(event.target)) if (String(value).trim()) query.set(name, String(value).trim());
  const decision = new URLSearchParams(location.search).get("decision");
  if (decision) query.set("decision", decision);
  show(`${event.target.dataset.go}${query.size ? `?${query}` : ""}`, {push: true});
}

// -------------------------------------------------------------------------------------------------------------- answers

function bindQuestion(card) {
  card.seenAt = performance.now();
  const status = card.querySelector('.answers [role="status"]');
  for (const button of card.querySelectorAll("[data-answer]")) {
    button.addEventListener("click", async (event) => {
      // A page that nobody looks at answers nothing, nor does a click that was meant for what stood there before.
      if (!event.isTrusted || document.visibilityState !== "visible") return;
      if (performance.now() - card.seenAt < SETTLE) {
        status.textContent = "This question has just appeared: look at it, then choose.";
        return;
      }
      const buttons = [...card.querySelectorAll("button")];
      for (const each of buttons) each.disabled = true;
      const {question, digest} = card.dataset;
      const note = card.querySelector("input").value;
      try {
        const {ok, told, status: code} = await sent("/api/answer", {id: question, digest, answer: button.dataset.answer, note});
        status.textContent = told.text;
        if (code === 401) { locked(); return; }
        say(ok ? `${button.textContent}: answered` : told.text);
        if (!ok && code !== 404 && code !== 409) for (const each of buttons) each.disabled = false;
      } catch {
        status.textContent = "The console has ended: nothing was answered here.";
      }
    });
  }
}

function bindUndo(card) {
  const button = card.querySelector("button");
  const status = card.querySelector('[role="status"]');
  let sure = false;
  button.addEventListener("click", async (event) => {
    if (!event.isTrusted || document.visibilityState !== "visible" || performance.now() - shownAt < SETTLE) return;
    if (!sure) {
      sure = true;
      button.textContent = "Really take it back";
      status.textContent = "Files are made as they were before the call.";
      return;
    }
    button.disabled = true;
    const {told} = await sent("/api/undo", {number: Number(card.dataset.undo), plan: card.dataset.plan});
    status.textContent = told.text;
  });
}

function bindTry(form) {
  const result = $("tried");
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const given = new FormData(form);
    result.setAttribute("aria-busy", "true");
    const {told} = await sent("/api/try", {
      call: String(given.get("call")), confined: !given.has("unconfined"), policy: String(given.get("policy")),
    });
    result.replaceChildren(...(told.main || [["p", {}, [told.text || ""]]]).map((each) => built(each)));
    result.removeAttribute("aria-busy");
  });
  form.querySelector('[name="call"]').addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.shiftKey) { event.preventDefault(); form.requestSubmit(); }
  });
  let timer = 0, number = 0;
  form.querySelector('[name="policy"]').addEventListener("input", (event) => {
    clearTimeout(timer);
    timer = setTimeout(async () => {
      const mine = ++number;
      const {told} = await sent("/api/lint", {policy: event.target.value});
      if (mine !== number) return;
      const made = event.target.value.trim() ? told.main || [] : [];
      $("lint").replaceChildren(...made.map((each) => built(each)));
    }, 300);
  });
}

// --------------------------------------------------------------------------------------------------------- what changes

// Says how far a piece of work is until it has ended, as long as its place is on the page.
async function follow(work, place, then) {
  while (place.isConnected) {
    const answer = await asked(`/api/work/${encodeURIComponent(work)}`).catch(() => null);
    if (!answer || !answer.ok) { place.replaceChildren(element("p", {class: "hint"}, "Nobody works on this any more.")); return; }
    const told = await answer.json();
    if (told.ended) { then(told); return; }
    const bar = place.querySelector("progress"), said = place.querySelector(".progress p");
    const share = told.of ? Math.floor(100 * told.done / told.of) : 0;
    if (bar) bar.value = share;
    if (said) said.textContent = said.textContent.replace(/\d+ %$/, `${share} %`);
    await new Promise((resolve) => setTimeout(resolve, 300));
  }
}

function bindChange(box) {
  const place = box.querySelector(".changed");
  const draft = box.querySelector("[data-draft]");
  if (draft) draft.addEventListener("input", () => place.replaceChildren());
  box.querySelector("[data-look]").addEventListener("click", async () => {
    const text = draft ? draft.value : box.dataset.text;
    place.replaceChildren();
    const {told} = await sent("/api/preview", {kind: box.dataset.change, text});
    place.replaceChildren(...(told.main || [["p", {class: "hint"}, [told.text || ""]]]).map((each) => built(each)));
    if (!told.work) return;
    follow(told.work, place, (found) => {
      place.replaceChildren(...(found.main || []).map((each) => built(each)));
      for (const inner of place.querySelectorAll("[data-change]")) bindChange(inner);
      const saving = place.querySelector("[data-save]");
      if (saving) bindSave(saving);
    });
  });
}

// A button that is meant only when it is pressed a second time: never by a script, nor by who has not seen it.
function bindTwice(box, does) {
  const button = box.querySelector("button"), status = box.querySelector('[role="status"]');
  const since = performance.now();
  let sure = false;
  button.addEventListener("click", async (event) => {
    if (!event.isTrusted || document.visibilityState !== "visible" || performance.now() - since < SETTLE) return;
    if (!sure) {
      sure = true;
      button.textContent = button.dataset.sure;
      status.textContent = "It holds from the next call on.";
      return;
    }
    button.disabled = true;
    const {told} = await does();
    status.textContent = told.text;
  });
}

const bindSave = (box) => bindTwice(box, () => sent("/api/save", {work: box.dataset.save}));
const bindReject = (box) => bindTwice(box, () => sent("/api/reject", {id: box.dataset.reject}));

// ----------------------------------------------------------------------------------------------------------------- live

let rowsToCome = [];
let endsToCome = [];
let missed = 0;
let drawing = 0;

function records(told) {
  const list = $("calls");
  const isComing = $("main").hasAttribute("aria-busy");
  if (!list && !isComing) return;
  if (list && !isComing && list.dataset.live !== "yes") {
    missed += told.rows.length + told.missed;
    $("news").textContent = missed ? `${missed} new calls since this was shown` : "";
    return;
  }
  rowsToCome = [...told.rows, ...rowsToCome].slice(0, MOST_ROWS);
  endsToCome.push(...told.ends);
  missed += told.missed;
  // However many come, the page is drawn ten times a second at most.
  if (!drawing) drawing = setTimeout(draw, 100);
}

// Nothing moves under a pointer, nor away from whoever stands on a row.
function isHeld(list) {
  return list.matches(":hover") || list.contains(document.activeElement);
}

function draw() {
  drawing = 0;
  const list = $("calls");
  if ($("main").hasAttribute("aria-busy")) { left(); return; }
  if (!list || list.dataset.live !== "yes") { rowsToCome = []; endsToCome = []; return; }
  const ends = endsToCome;
  endsToCome = [];
  end(list, ends);
  if (isHeld(list)) {
    $("news").textContent = rowsToCome.length ? `${rowsToCome.length} new: they stand here when you leave the list` : "";
    for (const each of ends) if (rowsToCome.some(([id]) => id === each[0])) endsToCome.push(each);
    return;
  }
  const rows = rowsToCome.filter(([id]) => !list.querySelector(`[data-call="${CSS.escape(String(id))}"]`));
  rowsToCome = [];
  const nothing = $("nothing");
  if (nothing && rows.length) nothing.remove();
  const made = rows.map(([, row]) => built(row));
  for (const each of made) { clocks(each); each.classList.add("new"); }
  list.prepend(...made);
  while (list.childElementCount > MOST_ROWS) list.lastElementChild.remove();
  end(list, ends);
  $("news").textContent = missed ? `${missed} more calls came too fast to be shown: reload the page for them` : "";
}

function end(list, ends) {
  for (const [id, text] of ends) {
    const row = list.querySelector(`[data-call="${CSS.escape(String(id))}"] .end`);
    if (row) row.textContent = text;
  }
}

function left() {
  if (!drawing) drawing = setTimeout(draw, 100);
}

function happened(name, told) {
  if (name === "waiting") {
    waiting(told);
    if (["/", "/pending"].includes(location.pathname)) {
      const count = document.querySelectorAll("[data-question]").length;
      if (told !== count || told > 0) show(location.pathname, {keep: true});
    } else if (told) say(told === 1 ? "1 question waits" : `${told} questions wait`);
    else say("");
  } else if (name === "records") records(told);
  else if (name === "resync") show(location.pathname + location.search, {keep: true});
}

async function listen() {
  for (let pause = 500; token; pause = Math.min(pause * 2, 10_000)) {
    try {
      const answer = await asked("/api/events");
      if (answer.status === 401) { locked(); return; }
      if (!answer.ok) throw new Error((await answer.text()).trim());
      say("");
      document.documentElement.dataset.live = "yes";
      pause = 500;
      const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
      for (let rest = ""; ;) {
        const {value, done} = await reader.read();
        if (done) break;
        const parts = (rest + value).split("\n\n");
        rest = parts.pop();
        for (const part of parts) {
          const found = /^event: (\w+)\ndata: (.*)$/s.exec(part);
          if (found) happened(found[1], JSON.parse(found[2]));
        }
      }
      throw new Error("");
    } catch (error) {
      document.documentElement.dataset.live = "no";
      const known = error instanceof TypeError ? "" : error.message;
      say(known || "The console does not answer: it may have ended.");
      await new Promise((resolve) => setTimeout(resolve, pause));
    }
  }
}

// ------------------------------------------------------------------------------------------------------------- keyboard

const TO = {p: "/pending", l: "/live", c: "/changes", i: "/interruptions", r: "/proposals", o: "/policy", v: "/coverage", a: "/agents"};
let leader = 0;

function typed(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.closest("input, textarea, select")) return;
  if (event.key === "j" || event.key === "k") {
    const stops = [...document.querySelectorAll(".calls a, [data-question] summary, td > a")];
    const at = stops.indexOf(document.activeElement);
    const next = stops[at + (event.key === "j" ? 1 : -1)] || (event.key === "j" ? stops[0] : null);
    if (next) { event.preventDefault(); next.focus(); }
  } else if (event.key === "g") leader = performance.now();
  else if (performance.now() - leader < 1500 && TO[event.key]) {
    leader = 0;
    event.preventDefault();
    show(TO[event.key], {push: true});
  }
}

// ---------------------------------------------------------------------------------------------------------------- start

async function start() {
  const given = location.hash.slice(1);
  if (given.length > 20) {
    history.replaceState(null, "", location.pathname + location.search);
    const before = token;
    token = given;
    const {ok, told} = await sent("/api/session", {}).catch(() => ({ok: false, told: {text: "The console has ended."}}));
    if (ok) { token = told.token; sessionStorage.setItem(KEY, token); }
    else if (before) token = before;
    else { token = ""; notice("This link opens nothing.", told.text); return; }
  }
  if (!token) { locked(); return; }
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[href]");
    if (!link || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    const to = link.getAttribute("href");
    if (to.startsWith("#")) return;
    event.preventDefault();
    show(to, {push: true});
  });
  document.addEventListener("keydown", typed);
  addEventListener("popstate", () => show(location.pathname + location.search));
  setInterval(() => {
    for (const each of document.querySelectorAll("[data-left]")) {
      const left = Math.max(Math.round(Number(each.dataset.left) - (performance.now() - shownAt) / 1000), 0);
      each.textContent = `${left} s left`;
    }
  }, 1000);
  if (location.pathname === "/") history.replaceState(null, "", "/pending");
  await show(location.pathname + location.search);
  listen();
}

start();
