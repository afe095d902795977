// Gemini CLI's own policy engine: asked by a list of { text, calls } on the standard input, answered by their decisions.
import { readdirSync, readFileSync, writeFileSync, mkdtempSync } from "node:fs";
import { join } from "node:path";
import { tmpdir } from "node:os";

const asked = JSON.parse(readFileSync(0, "utf8"));
const folder = process.argv[2];
const chunk = readdirSync(folder).filter((name) => name.endsWith(".js")).find((name) => {
  const text = readFileSync(join(folder, name), "utf8");
  return text.includes("var PolicyEngine = class") && text.includes("loadPoliciesFromToml,");
});
const { PolicyEngine, loadPoliciesFromToml } = await import(join(folder, chunk));
console.debug = console.log = () => {};
const place = mkdtempSync(join(tmpdir(), "rules-"));
const found = [];
for (const [number, { text, calls }] of asked.entries()) {
  const file = join(place, `${number}.toml`);
  writeFileSync(file, text);
  const { rules, errors } = await loadPoliciesFromToml([file], () => 4);
  const engine = new PolicyEngine({ rules });
  const decisions = [];
  for (const { tool, args, server } of calls) {
    decisions.push((await engine.check({ name: tool, args }, server)).decision);
  }
  found.push({ decisions, errors: errors.filter((each) => each.severity !== "warning").map((each) => each.message) });
}
process.stdout.write(JSON.stringify(found), () => process.exit(0));
