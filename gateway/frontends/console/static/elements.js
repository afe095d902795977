// What every page of the console is made of: elements, one by one, from the same lists that the server has (`nodes.py`).
// No text is ever read as HTML.

const TAGS = new Set(("a abbr article aside b button caption code col colgroup dd del details div dl dt em fieldset " +
  "figcaption figure footer form h1 h2 h3 header hr input ins kbd label legend li main mark nav ol option output p pre " +
  "progress section select small span strong sub summary sup table tbody td textarea tfoot th thead time tr ul").split(" "));
const DRAWING = new Set("svg g rect line path circle text title desc".split(" "));
const ATTRIBUTES = new Set(("aria-busy aria-controls aria-current aria-describedby aria-expanded aria-hidden aria-label " +
  "aria-labelledby aria-live autocomplete checked class colspan datetime disabled for height href id max maxlength name open " +
  "placeholder required role rows scope spellcheck tabindex title type value width " +
  "d fill viewBox x x1 x2 y y1 y2 cx cy r rx text-anchor preserveAspectRatio focusable").split(" "));

export function built(node, drawing = false) {
  if (typeof node === "string") return document.createTextNode(node);
  const [tag, attributes, children] = node;
  const draws = drawing || tag === "svg";
  if (!(draws ? DRAWING : TAGS).has(tag)) throw new Error(`no element of pages: ${tag}`);
  const made = draws ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (!ATTRIBUTES.has(name) && !name.startsWith("data-")) throw new Error(`no attribute of pages: ${name}`);
    if (name === "href" && !/^(\/(?!\/)|#)/.test(value)) throw new Error("pages lead nowhere else");
    made.setAttribute(name, value);
  }
  made.append(...children.map((each) => built(each, draws)));
  return made;
}

export function element(tag, attributes, ...children) {
  return built([tag, attributes, children]);
}

export function clocks(within) {
  for (const each of within.querySelectorAll("time[data-form]")) {
    const at = new Date(each.dateTime);
    if (Number.isNaN(at.getTime())) continue;
    const isLong = each.dataset.form === "long";
    each.textContent = isLong ? at.toLocaleString() : at.toLocaleTimeString();
    each.title = each.dateTime;
  }
}
