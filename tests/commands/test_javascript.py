"""node's one-line programs: what computes, prints and names its files is understood, everything else is not."""

from __future__ import annotations

import pytest

from gateway.commands.special.javascript.code import scan
from gateway.commands.special.javascript.tokens import JavaScriptError


@pytest.mark.parametrize(
    "program",
    [
        "1+1",
        "process.version",
        "process.versions.v8",
        "[1,2,3].map(x => x*2).reduce((a,b)=>a+b, 0)",
        "console.log(`${process.platform} ${process.arch}`)",
        "new Date().toISOString()",
        'const d=JSON.parse(require("fs").readFileSync(0)); for (const k of Object.keys(d)) console.log(k, d[k])',
        '"abc".split("").reverse().join("")',
        'Buffer.from("abc").toString("base64")',
        'require("crypto").createHash("sha256").update("x").digest("hex")',
        "function f(n){ return n<2?n:f(n-1)+f(n-2) } console.log(f(10))",
        'const c={}; for (const w of "a b a".split(" ")) c[w]=(c[w]||0)+1; console.log(c)',
        '/a+/.test("aaa")',
        'require("os").cpus().length',
        "Object.entries({a:1}).forEach(([k,v]) => console.log(k,v))",
        "process.argv.slice(1)",
        "Math.max(...[1,2,3])",
    ],
)
def test_a_program_that_computes_and_prints_does_nothing_else(program: str) -> None:
    assert scan(program) == []


@pytest.mark.parametrize(
    ("program", "deeds"),
    [
        ('require("./package.json").version', [("data", "./package.json")]),
        ('Object.keys(require("./package.json").dependencies).length', [("data", "./package.json")]),
        ('console.log(JSON.parse(require("fs").readFileSync("x","utf8")).a)', [("read", "x")]),
        ('JSON.stringify(require("./tsconfig.json").compilerOptions, null, 2)', [("data", "./tsconfig.json")]),
        ('const p=require("./package.json"); console.log(p.name, p.version)', [("data", "./package.json")]),
        (
            'const fs=require("fs"); console.log(fs.readdirSync(".").filter(f => f.endsWith(".ts")).length)',
            [("list", ".")],
        ),
        (
            'const {readFileSync} = require("fs"); console.log(readFileSync("a.txt","utf8").split("\\n").length)',
            [("read", "a.txt")],
        ),
        ("process.env.HOME", [("environment", "HOME")]),
        ('require("fs").writeFileSync("a", "b")', [("write", "a")]),
        ('require("fs").renameSync("a", "b")', [("delete/", "a"), ("write/", "b")]),
        (
            'require("fs").readFileSync("x", {length: "w"})',
            [("read", "x"), ("doubt", "may open a file for more than reading")],
        ),
        ('require("fs").rmSync("a" + "b")', [("delete/", "\0")]),
        ('require("child_process").execSync("ls")', [("shell", "ls")]),
        ('const x = /a/ / require("child_process").execSync("ls").length / process.pid', [("shell", "ls")]),
        ("process.env", [("environment", "*")]),
        ('typeof undefined / require("child_process").execSync("ls").length / 2', [("shell", "ls")]),
    ],
)
def test_a_program_that_does_more_says_so(program: str, deeds: list[tuple[str, str]]) -> None:
    assert scan(program) == deeds


@pytest.mark.parametrize(
    "program",
    [
        'require("child_process").exec("x")',
        'eval("1")',
        'new Function("x")()',
        '[].constructor.constructor("x")()',
        '[]["constructor"]',
        '[]["con"+"structor"]["con"+"structor"]("x")()',
        'const k="con"+"structor"; const F=[][k]; F("x")',
        'import("fs")',
        'process.binding("fs")',
        'process.mainModule.require("x")',
        "global.process",
        "globalThis",
        "this.constructor",
        'require("./x")',
        'require("x")',
        'require("fs").promises',
        'const r=require; r("x")',
        'const f=require("fs"); const g=f; g.writeFileSync("x")',
        'fetch("http://x")',
        'setTimeout("x")',
        "process.kill(1)",
        "process.stdout.constructor",
        'require("vm").runInThisContext("x")',
        'module.require("x")',
        'JSON.parse.constructor("x")()',
        'const {constructor:c}=[]; c("x")',
        '`${[]["constructor"]}`',
        "1..constructor",
        "const a={}; for (const k of [1]) console.log(a[k][k])",
        "x`y`",
        "async()=>{}",
        "class A{}",
        'Reflect.get([],"x")',
        "Object.getPrototypeOf([])",
        "console.log.call.call(x)",
        '["x"].map(require)',
        "[1].map(eval)",
        "const p=process; p.exit()",
        "const process=1",
        'require("fs").readFileSync("x",{flag:"w"})',
        '({})["\\x63onstructor"]',
        '[]["constr\\u0075ctor"]',
        "with(a){}",
        'process.env.PATH="x"',
        '"a".replace(/a/, d[k])',
        "d[k]()",
        "(d[k])()",
        "Array.prototype.map=1",
        'if (1) /"/; eval("x") //"',
        'let f = x => 1; f = [][k]; f("x")',
        'a => a("x")',
        '[1].map(f => f("x"))',
        'require("fs").openSync("x","w")',
        "Error.prepareStackTrace = (e,f) => f",
        "Symbol.iterator",
        "({get x(){return 1}})",
        '({toString: x => 1})+""',
        "process.dlopen(1)",
        "[].x?.('y')",
        'require("http").get("http://x")',
    ],
)
def test_a_program_that_may_do_anything_is_not_understood(program: str) -> None:
    with pytest.raises((JavaScriptError, IndexError)):
        scan(program)


@pytest.mark.parametrize("program", ["@f 1", "1 # 2", "a \\ b"])
def test_signs_of_decorators_private_names_and_escapes_are_not_understood(program: str) -> None:
    with pytest.raises(JavaScriptError):
        scan(program)
