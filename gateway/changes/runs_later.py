"""What a person, an editor, a pipeline or another agent will start or obey later: shown first wherever changes are
shown. Pure."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from functools import cache

# In which programs look up what to do, in the folder where they start or one above it.
MANIFESTS = (
    "package.json", "Makefile", "makefile", "GNUmakefile", "pyproject.toml", "setup.py", "setup.cfg", "tox.ini",
    "noxfile.py", "tasks.py", "Cargo.toml", "build.rs", "justfile", "Justfile", ".justfile", "Taskfile.yml",
    "Taskfile.yaml", "Rakefile", "Gemfile", "composer.json", "build.gradle", "build.gradle.kts", "settings.gradle",
    "settings.gradle.kts", "gradlew", "pom.xml", "mvnw", "deno.json", "deno.jsonc", "turbo.json", "nx.json",
    "CMakeLists.txt", "meson.build", "configure", "mix.exs", "build.sbt", "MODULE.bazel", "WORKSPACE", "BUILD",
    "BUILD.bazel", "Dockerfile", "Containerfile", "compose.yaml", "compose.yml", "docker-compose.yml",
    "docker-compose.yaml", "Procfile", "Vagrantfile", "Jenkinsfile", ".pre-commit-config.yaml", "conftest.py",
    "manage.py", "dodo.py", "SConstruct", "Earthfile", "devbox.json", "mise.toml", ".envrc",
    "Pipfile", "Brewfile", "flake.nix", "shell.nix", "default.nix", "ansible.cfg", "Tiltfile", "skaffold.yaml",
    "Fastfile", "Podfile", "Package.swift", "Guardfile", "Capfile", "config.ru", "Setup.hs", "stack.yaml",
    "rebar.config", "project.clj", "deps.edn", "bb.edn", "build.zig", "wscript", "BUCK", "xmake.lua", "premake5.lua",
    "lerna.json", "pnpm-workspace.yaml", "rust-toolchain", "rust-toolchain.toml", "global.json", "serverless.yml",
    "cdk.json", "netlify.toml", "wrangler.toml", "fly.toml", "lefthook.yml",
)  # fmt: skip
PIPELINE, INSTRUCTIONS = "a pipeline runs it", "agents obey it"
BUILD, CHECKS, PROGRAM = "builds and tests run it", "linters and test runners obey it", "a program of the environment"
EXECUTABLE, GIT = "a program that was there", "git obeys it"
# By the end of the path: patterns of names, one for each part.
_ENDS: tuple[tuple[str, tuple[str, ...]], ...] = (
    (PIPELINE, (".github/workflows/*", ".github/actions/*/*", ".gitlab-ci.yml", ".circleci/*", "azure-pipelines.yml",
                ".travis.yml", "bitbucket-pipelines.yml", ".drone.yml", "Jenkinsfile", ".buildkite/*", "appveyor.yml",
                ".appveyor.yml", ".woodpecker.yml", ".woodpecker/*", "cloudbuild.yaml", "buildspec.yml", "action.yml",
                "action.yaml", ".azure-pipelines/*", ".gitea/workflows/*", ".forgejo/workflows/*")),
    (INSTRUCTIONS, ("AGENTS.md", "CLAUDE.md", "CLAUDE.local.md", "GEMINI.md", ".cursorrules", ".cursor/rules/*",
                    ".windsurfrules", ".github/copilot-instructions.md", ".claude/*", ".claude/*/*", ".mcp.json")),
    (GIT, (".gitattributes", ".gitmodules", ".git/config", ".git/hooks/*", ".git/info/attributes",
           ".git/rebase-merge/git-rebase-todo", ".husky/*")),
    (BUILD, (*MANIFESTS, "*.gradle", "*.gradle.kts", "*.cmake", "*.mk", "*.csproj", "*.props", "*.targets", "setup.cfg",
             "*.fsproj", "*.vbproj", "*.vcxproj", "*.sln", "*.gemspec", "*.podspec", "*.cabal", "*.pro", "*.nix",
             "gulpfile.*", "Gruntfile.*", "nuget.config", ".config/dotnet-tools.json", ".config/nextest.toml",
             ".cargo/config.toml", ".npmrc", ".yarnrc.yml", ".pnpmfile.cjs")),
    (CHECKS, ("eslint.config.*", ".eslintrc*", ".prettierrc*", "prettier.config.*", "jest.config.*", "vitest.config.*",
              "vite.config.*", "webpack.config.*", "rollup.config.*", "babel.config.*", ".babelrc*", "tsconfig*.json",
              "karma.conf.*", "playwright.config.*", "cypress.config.*", ".mocharc*", "pytest.ini", "mypy.ini",
              ".pylintrc", ".flake8", "ruff.toml", ".rubocop.yml", ".rspec", "phpunit.xml*", ".golangci.y*ml",
              "next.config.*", "nuxt.config.*", "svelte.config.*", "astro.config.*", "postcss.config.*",
              "tailwind.config.*", "metro.config.*", "esbuild.config.*", "commitlint.config.*", ".commitlintrc*",
              ".lintstagedrc*", "lint-staged.config.*", ".releaserc*", "release.config.*", ".goreleaser.y*ml",
              "knexfile.*", "drizzle.config.*", "codegen.*", ".stylelintrc*", "stylelint.config.*", ".nycrc*",
              "clippy.toml", ".vscode/*", ".idea/*")),
    (PROGRAM, (".venv/bin/*", "venv/bin/*", "*.pth", "sitecustomize.py", "usercustomize.py", "node_modules/.bin/*",
               "vendor/bin/*")),
)  # fmt: skip
_BY_NAME: dict[str, str] = {}
_PATTERNS: list[tuple[str, tuple[str, ...]]] = []
for _why, _ends in _ENDS:
    for _end in _ends:
        if "/" in _end or "*" in _end:
            _PATTERNS.append((_why, tuple(_end.split("/"))))
        else:
            _BY_NAME.setdefault(_end, _why)


@cache
def _any() -> re.Pattern[str]:
    """What is found in each path that a pattern is about: thousands are asked about that none is."""
    ends = ["/".join(["[^/]*".join(map(re.escape, part.split("*"))) for part in ends]) for _why, ends in _PATTERNS]
    return re.compile(rf"(?:^|/)(?:{'|'.join(ends)})\Z")


def runs_later(path: str, mode_before: int = 0) -> str:
    """Why what lies at a path may be started or obeyed later, "" for what nobody knows to be. `mode_before`: the
    permissions of the file that was there."""
    parts = path.split("/")
    found = _BY_NAME.get(parts[-1], "")
    if found:
        return found
    if _any().search(path):
        for why, ends in _PATTERNS:
            last = parts[-len(ends) :]
            if len(last) == len(ends) and all(map(fnmatchcase, last, ends)):
                return why
    return EXECUTABLE if mode_before & 0o111 else ""
