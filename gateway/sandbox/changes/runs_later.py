"""What a person, an editor, a pipeline or another agent will start or obey later: shown first wherever changes are
shown. Pure."""

from __future__ import annotations

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
# By the end of the path: what each part is, with at most one `*` for what is not said.
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
_PATTERNS: list[tuple[str, tuple[tuple[str, str, str], ...]]] = []
_FOLDERS: set[str] = set()  # that some pattern names
for _why, _ends in _ENDS:
    for _end in _ends:
        if "/" in _end or "*" in _end:
            _parts = tuple(part.partition("*") for part in _end.split("/"))
            _PATTERNS.append((_why, _parts))
            _FOLDERS.update(start for start, _star, _rest in _parts[:-1])
        else:
            _BY_NAME.setdefault(_end, _why)
_OF_NAMES = [ends[0] for _why, ends in _PATTERNS if len(ends) == 1]
_STARTS = tuple(start for start, _star, _rest in _OF_NAMES if start)
_RESTS = tuple(rest for start, _star, rest in _OF_NAMES if not start)
_DEEPEST = max(len(ends) for _why, ends in _PATTERNS)


def runs_later(path: str, mode_before: int = 0) -> str:
    """Why what lies at a path may be started or obeyed later, "" for what nobody knows to be. `mode_before`: the
    permissions of the file that was there."""
    parts = path.split("/")
    found = _BY_NAME.get(parts[-1], "") or _by_pattern(parts)
    return found or (EXECUTABLE if mode_before & 0o111 else "")


def _by_pattern(parts: list[str]) -> str:
    name = parts[-1]
    # Most names are like none of them.
    if not (name.startswith(_STARTS) or name.endswith(_RESTS) or not _FOLDERS.isdisjoint(parts[-_DEEPEST:-1])):
        return ""
    for why, ends in _PATTERNS:
        last = parts[-len(ends) :]
        if len(last) == len(ends) and all(map(_is_like, last, ends)):
            return why
    return ""


def _is_like(part: str, pattern: tuple[str, str, str]) -> bool:
    start, star, rest = pattern
    if not star:
        return part == start
    return len(part) >= len(start) + len(rest) and part.startswith(start) and part.endswith(rest)
