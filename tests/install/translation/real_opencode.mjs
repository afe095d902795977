// opencode's own matcher, taken out of its program: asked by a list of { rules, calls } on the standard input.
import { readFileSync } from "node:fs";

const program = readFileSync(process.argv[2], "latin1");
const mark = 'new RegExp("^"+';
let matches;
for (let at = program.indexOf(mark); at >= 0 && !matches; at = program.indexOf(mark, at + 1)) {
  const text = program.slice(program.lastIndexOf("function ", at), program.indexOf("}", at + mark.length) + 1);
  if (text.length < 500 && text.includes('replaceAll("\\\\","/")')) matches = new Function(`return (${text})`)();
}
if (!matches) throw new Error("the matcher is not where it was");
const asked = JSON.parse(readFileSync(0, "utf8"));
const answers = asked.map(({ rules, calls }) =>
  calls.map(({ permission, pattern }) => {
    const rule = rules.findLast((each) => matches(permission, each.permission) && matches(pattern, each.pattern));
    return rule ? rule.action : "";
  }),
);
process.stdout.write(JSON.stringify(answers));
