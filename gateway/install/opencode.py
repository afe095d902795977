"""opencode: it has no command hooks, so a plugin of its own asks the gateway, and throws unless it says yes."""

from __future__ import annotations

import json
import os

from gateway.install.base import MANAGED, PROJECT, SECONDS, SERVER, USER, system
from gateway.install.pieces import JSON, TEXT, Entry, Member, Target

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateway.install.base import Line, Site

NAME = "opencode"
TITLE = "opencode"
PROGRAMS = ("opencode",)
LEVELS = (USER, PROJECT, MANAGED)
LEAST_VERSION = "1.18.33"
_PACKAGE = "@opencode-ai/plugin"
_LINE = "const LINE = "


def folder(site: Site) -> str:
    if site.level == MANAGED:
        return system("/etc/opencode", "/Library/Application Support/opencode")
    if site.level == PROJECT:
        return os.path.join(site.project, ".opencode")
    own = site.environment.get("OPENCODE_CONFIG_DIR", "")
    if own:
        return os.path.join(site.home, own)
    return os.path.join(site.moved("XDG_CONFIG_HOME", ".config"), "opencode")


def config(site: Site) -> str:
    """Its configuration file at a level."""
    return os.path.join(site.project if site.level == PROJECT else folder(site), "opencode.json")


def plugin(site: Site) -> str:
    """The plugin's file, in the folder from which opencode loads by itself, but for the one of the whole machine."""
    return os.path.join(folder(site), "plugin", "gateway.js")


def hooks(site: Site, line: Line) -> tuple[Target, ...]:
    made = Target(plugin(site), TEXT, (), content(line("")))
    if site.level != MANAGED:
        return (made,)
    return (made, Target(config(site), JSON, (Entry(("plugin",), f"file://{made.path}"),)))


def server(site: Site, line: Sequence[str]) -> Target:
    entry = Member(("mcp",), SERVER, {"type": "local", "command": list(line), "enabled": True})
    return Target(config(site), JSON, (entry,))


def remarks(site: Site) -> tuple[str, ...]:
    found = [
        f"opencode fetches {_PACKAGE} when it first starts with a plugin; without a network it waits for it",
        "`opencode --pure` starts without plugins",
    ]
    if site.level == PROJECT:
        found.append("the file holds paths of this machine: keep it out of version control")
    return tuple(found)


def content(line: Sequence[str]) -> str:
    """The plugin for a command line."""
    return _SOURCE.replace("@LINE@", json.dumps(list(line))).replace("@SECONDS@", str(SECONDS))


def line_of(text: str) -> tuple[str, ...]:
    """The command line that a plugin of ours starts, () if it is none."""
    for each in text.splitlines():
        if each.startswith(_LINE):
            try:
                found = json.loads(each.removeprefix(_LINE))
            except ValueError:
                return ()
            return tuple(map(str, found)) if isinstance(found, list) else ()
    return ()


_SOURCE = """\
// Written by `gateway init opencode`; `gateway init opencode --undo` takes it away.
// It asks the gateway before each tool call, and throws unless the answer is a clear yes: a gateway that is missing,
// late, killed or says anything unexpected stops the call.
import { spawn } from "node:child_process"
import { fileURLToPath } from "node:url"

const LINE = @LINE@
const SECONDS = @SECONDS@
const MOST = 16 * 1024 * 1024

function ask(event) {
  return new Promise((resolve, reject) => {
    let child
    try {
      child = spawn(LINE[0], LINE.slice(1), { stdio: ["pipe", "pipe", "pipe"] })
    } catch (error) {
      reject(new Error(`gateway cannot be started: ${error.message}`))
      return
    }
    const out = []
    let size = 0
    const late = setTimeout(() => {
      child.kill("SIGKILL")
      reject(new Error("gateway did not answer in time"))
    }, SECONDS * 1000)
    child.on("error", (error) => {
      clearTimeout(late)
      reject(new Error(`gateway cannot be started: ${error.message}`))
    })
    child.stdout.on("data", (data) => {
      size += data.length
      if (size > MOST) child.kill("SIGKILL")
      else out.push(data)
    })
    child.stderr.on("data", () => {})
    child.stdin.on("error", () => {})
    child.on("close", (status, signal) => {
      clearTimeout(late)
      resolve({ status, signal, text: Buffer.concat(out).toString("utf8") })
    })
    child.stdin.end(JSON.stringify(event))
  })
}

function decided(done) {
  let answer
  try {
    answer = JSON.parse(done.text)
  } catch {
    throw new Error(`gateway refused this call: no answer (${done.signal ?? done.status})`)
  }
  if (answer === null || typeof answer !== "object") throw new Error("gateway refused this call: no answer")
  if (done.status === 0 && answer.decision === "allow") return answer
  throw new Error(typeof answer.reason === "string" && answer.reason ? answer.reason : "gateway refused this call")
}

// The files that a message brings along: it has been read by now, but no model has seen it.
function files(parts) {
  const found = new Set()
  for (const part of parts ?? []) {
    if (part?.type === "file") {
      if (String(part.url).startsWith("file:")) found.add(fileURLToPath(part.url))
      if (typeof part.source?.path === "string") found.add(part.source.path)
    }
    const told = part?.synthetic ? /^Called the Read tool with the following input: (.*)$/m.exec(part.text) : null
    if (told) found.add(String(JSON.parse(told[1]).filePath))
  }
  return [...found]
}

let servers = []

export const Gateway = async ({ client, directory, worktree }) => ({
  // What a slash command starts, it starts before any hook. So the text of one that may not is taken out as we begin.
  config: async (config) => {
    servers = Object.keys(config?.mcp ?? {})
    for (const [name, command] of Object.entries(config?.command ?? {})) {
      const template = String(command?.template)
      if (!template.includes("!`")) continue
      try {
        decided(await ask({ event: "config.command", command: name, template, directory, worktree }))
      } catch (error) {
        command.template = `Say exactly this, and do nothing: ${error.message}`.replace(/[`$@!]/g, " ")
      }
    }
  },
  "chat.message": async (input, output) => {
    try {
      const told = files(output.parts)
      if (told.length === 0) return
      decided(await ask({ event: "chat.message", sessionID: input.sessionID, files: told, directory, worktree }))
    } catch (error) {
      // Its person is told nothing else.
      client?.tui?.showToast({ body: { message: error.message, variant: "error" } })?.catch?.(() => {})
      throw error
    }
  },
  "tool.execute.before": async (input, output) => {
    const answer = decided(
      await ask({
        event: "tool.execute.before",
        tool: input.tool,
        sessionID: input.sessionID,
        callID: input.callID,
        args: output.args,
        servers,
        directory,
        worktree,
      }),
    )
    if (answer.args === undefined) return
    if (answer.args === null || typeof answer.args !== "object") throw new Error("gateway refused this call: no answer")
    for (const name of Object.keys(output.args)) delete output.args[name]
    Object.assign(output.args, answer.args)
  },
  "tool.execute.after": async (input, output) => {
    try {
      await ask({
        event: "tool.execute.after",
        tool: input.tool,
        sessionID: input.sessionID,
        callID: input.callID,
        args: input.args,
        title: output?.title,
        output: output?.output,
        metadata: output?.metadata,
        servers,
        directory,
        worktree,
      })
    } catch {
      // It has run; what is missing is the record of its outcome.
    }
  },
})
"""
