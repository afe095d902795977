"""Keys of programs' settings that start, write, fetch and show nothing by themselves; for the form see
`gateway.commands.steering.keys`. What a program reads under a key that is missing here may be anything, today or in a
later version."""

from __future__ import annotations

ACK = (
    "--ignore-dir --noignore-dir --ignore-directory --noignore-directory --ignore-file --noignore-file --type-add "
    "--type-set --type-del --smart-case -s --ignore-case -i --sort-files --color --nocolor --color-filename "
    "--color-match --color-lineno --group --nogroup --heading --noheading --break --nobreak --column --nocolumn "
    "--recurse --context --before-context --after-context --word-regexp --with-filename -h -n --nofollow"
)

# Besides its own, names that other programs have in the same tables, of which autopep8 knows nothing.
PEP8 = (
    "max-line-length select ignore exclude indent-size aggressive experimental verbose jobs recursive diff "
    "hang-closing pep8-passes max-doc-length exit-code list-fixes ignore-local-config extend-ignore extend-select "
    "extend-exclude per-file-ignores max-complexity filename format show-source statistics count doctests builtins "
    "enable-extensions disable-noqa require-plugins color quiet tee show-pep8 inline-quotes multiline-quotes "
    "docstring-quotes avoid-escape docstring-convention docstring-style import-order-style application-import-names "
    "application-package-names rst-roles rst-directives rst-substitutions ban-relative-imports banned-modules "
    "min-python-version max-cognitive-complexity max-expression-complexity max-imports max-methods "
    "max-local-variables max-module-members max-string-usages nested-classes-whitelist strictness "
    "type-checking-strict type-checking-exempt-modules use-varnames-strict-mode allow-star-arg-any "
    "suppress-none-returning mypy-init-return ignore-names ignore-decorators classmethod-decorators "
    "extend-immutable-calls spellcheck-targets dictionaries whitelist pytest-fixture-no-parentheses "
    "pytest-parametrize-names-type pytest-parametrize-values-type noqa-require-code noqa-include-name"
)
PEP8_TABLES = (("pep8",), ("pycodestyle",), ("flake8",))

# Not `extends`: what it is told to extend is shown, line by line, where it is no JSON.
BIOME = (
    "$schema root extends=// vcs.enabled vcs.clientkind vcs.useignorefile vcs.defaultbranch files.** formatter.** "
    "linter.** organizeimports.** assist.** javascript.** json.** css.** graphql.** html.** grit.** "
    "overrides.include overrides.includes overrides.ignore overrides.formatter.** overrides.linter.** "
    "overrides.organizeimports.** overrides.assist.** overrides.javascript.** overrides.json.** overrides.css.** "
    "overrides.graphql.** overrides.html.** overrides.files.**"
)

BUN = (
    "test.** run.** loglevel smol jsx jsxfactory jsxfragment jsximportsource define.** loader.** telemetry "
    "console.** serve.** env install.exact install.dev install.optional install.peer install.production "
    "install.frozenlockfile install.savetextlockfile install.lockfile.** install.auto install.linker "
    "install.linkworkspacepackages install.minimumreleaseage install.minimumreleaseageexcludes install.registry=npm "
    "install.registry.url=npm"
)

# What only builds obey stands here, as builds run the project's code anyway.
CARGO = (
    "build.jobs build.target build.target-dir build.rustflags build.rustdocflags build.incremental "
    "build.dep-info-basedir build.warnings build.pipelining build.rustc-wrapper=sccache|ccache|cachepot| "
    "build.rustc-workspace-wrapper=sccache|ccache|cachepot| alias.** env.** target.** profile.** term.** cache.** "
    "future-incompat-report.** cargo-new.** doc.** net.retry net.offline net.git-fetch-with-cli http.timeout "
    "http.multiplexing http.check-revoke http.low-speed-limit source.*.directory=inside source.*.replace-with "
    "resolver.**"
)

# The variables of `env`, the compiler and its wrapper count whenever the compiler is asked for its version.
CARGO_WITHOUT_BUILDING = (
    "build.jobs build.incremental build.warnings build.pipelining profile.** term.** cache.** cargo-new.** doc.** "
    "future-incompat-report.** net.retry net.offline http.timeout http.multiplexing http.check-revoke "
    "http.low-speed-limit resolver.**"
)

# Not `output` and `generate-badge`, which name what is written.
INTERROGATE = (
    "badge-format badge-style color docstring-style exclude ext fail-under ignore-init-method ignore-init-module "
    "ignore-magic ignore-module ignore-nested-classes ignore-nested-functions ignore-overloaded-functions "
    "ignore-private ignore-property-decorators ignore-property-setters ignore-regex ignore-semiprivate ignore-setters "
    "omit-covered-files quiet style verbose whitelist-regex"
)

# Not `skip_gitignore`: git is started in every repository that lies on the way, and does what its settings say. What
# formats or sorts instead comes from packages.
ISORT = (
    "skip-gitignore=no sort-order=natural|native|force-to-top py-version force-to-top skip extend-skip skip-glob "
    "extend-skip-glob line-length wrap-length line-ending sections no-sections known-* extra-standard-library "
    "import-heading-* import-footer-* multi-line-output forced-separate indent comment-prefix length-sort "
    "length-sort-straight length-sort-sections length-sort-* add-imports remove-imports append-only reverse-relative "
    "force-single-line single-line-exclusions default-section import-headings.** import-footers.** balanced-wrapping "
    "use-parentheses order-by-type atomic lines-before-imports lines-after-imports lines-between-sections "
    "lines-between-types combine-as-imports combine-star include-trailing-comma from-first verbose quiet force-adds "
    "force-alphabetical-sort-within-sections force-alphabetical-sort force-grid-wrap force-sort-within-sections "
    "lexicographical group-by-package separate-packages ignore-whitespace no-lines-before no-inline-sort "
    "ignore-comments case-sensitive virtual-env=inside conda-env=inside ensure-newline-before-comments profile "
    "honor-noqa src-paths remove-redundant-aliases float-to-top filter-files color-output treat-comments-as-code "
    "treat-all-comments-as-code supported-extensions blocked-extensions constants classes variables dedup-headings "
    "only-sections only-modified combine-straight-imports auto-identify-namespace-packages namespace-packages "
    "follow-links indented-import-headings honor-case-in-force-sorted-sections known-other.** "
    "sort-relative-in-force-sorted-sections overwrite-in-place reverse-sort star-first format-error format-success "
    "sort-reexports split-on-trailing-comma not-skip check diff show-diff"
)
# Settings of editors, which stand in the same sections.
EDITORCONFIG = (
    f"{ISORT} root indent-style indent-size tab-width end-of-line charset trim-trailing-whitespace "
    "insert-final-newline max-line-length quote-type spelling-language ij-* ktlint-* dotnet-* csharp-* resharper-*"
)
EDITOR_TABLES = (("*",), ("*.py",), ("**.py",), ("*.{py}",), ("*.{py,pyi}",))

# They become options of a command line, in which a value may stand for an option.
CODESPELL = (
    "skip=word ignore-words-list=word uri-ignore-words-list=word ignore-regex=word ignore-multiline-regex=word "
    "regex=word uri-regex=word quiet-level=word builtin=word context=word after-context=word before-context=word "
    "ignore-words=each-inside exclude-file=each-inside check-filenames=switch check-hidden=switch count=switch "
    "hard-encoding-detection=switch disable-colors=switch enable-colors=switch summary=switch ignore-sic=switch "
    "stdin-single-line=switch interactive=0"
)

COMPOSE_FILES = (
    "compose.yaml", "compose.yml", "docker-compose.yml", "docker-compose.yaml", "compose.override.yaml",
    "compose.override.yml", "docker-compose.override.yml", "docker-compose.override.yaml",
)  # fmt: skip
# Not `include` and not `extends.file`: they may take others in from anywhere. What a container does is nothing that the
# reading of these files does.
_SERVICE = (
    "annotations attach blkio-config build cap-add cap-drop cgroup cgroup-parent command configs container-name "
    "cpu-count cpu-percent cpu-period cpu-quota cpu-rt-period cpu-rt-runtime cpu-shares cpus cpuset credential-spec "
    "depends-on deploy develop device-cgroup-rules devices dns dns-opt dns-search domainname driver-opts entrypoint "
    "environment expose external-links extra-hosts gpus group-add healthcheck hostname image init ipc isolation "
    "labels links logging mac-address mem-limit mem-reservation mem-swappiness memswap-limit models network-mode "
    "networks oom-kill-disable oom-score-adj pid pids-limit platform ports post-start pre-stop privileged profiles "
    "pull-policy read-only restart runtime scale secrets security-opt shm-size stdin-open stop-grace-period "
    "stop-signal storage-opt sysctls tmpfs tty ulimits use-api-socket user userns-mode uts volumes volumes-from "
    "working-dir"
)
COMPOSE = (
    "version name networks.** volumes.** configs.** secrets.** models.** x-*.** services.*.x-*.** "
    "services.*.extends services.*.extends.service services.*.env-file=inside services.*.env-file.path=inside "
    "services.*.env-file.required services.*.env-file.format services.*.label-file=inside "
    + " ".join([f"services.*.{each}.**" for each in _SERVICE.split()])
)
# Of the variables by which Compose, and what it starts, does something else.
COMPOSE_VARIABLES = (
    "compose-project-name compose-profiles compose-convert-windows-paths compose-ignore-orphans "
    "compose-remove-orphans compose-parallel-limit compose-ansi compose-status-stdout compose-menu compose-progress "
    "compose-http-timeout compose-docker-cli-build docker-buildkit docker-default-platform docker-image* docker-tag "
    "docker-registry docker-repo* docker-user*"
)

DENO = (
    "$schema name version license exports.** imports.** scopes.** importmap=inside compileroptions.** lint.** "
    "fmt.include=inside fmt.files.include=inside fmt.** tasks.** nodemodulesdir vendor lock.** exclude "
    "workspace=inside workspace.members=inside publish.** bench.** test.** compile.** unstable allowscripts.** "
    "permissions.** minimumdependencyage.** catalog.** catalogs.**"
)

DJLINT_RULES = "rule.name rule.message rule.patterns rule.flags rule.exclude rule.default"

DOTNET = (
    "$schema sdk.version sdk.rollforward sdk.allowprerelease sdk.errormessage sdk.workloadversion msbuild-sdks.** "
    "tools.** test.** scripts.** projects native-tools.**"
)

JVM = (
    "-xmx* -xms* -xss* -xmn* -xx:maxmetaspacesize -xx:metaspacesize -xx:reservedcodecachesize -xx:tieredstopatlevel "
    "-xx:+useg1gc -xx:+useparallelgc -xx:+useserialgc -xx:+usezgc -xx:+tieredcompilation "
    "-xx:+usestringdeduplication -dfile.encoding -duser.timezone -duser.language -duser.country -djava.awt.headless "
    "-djava.net.preferipv4stack --add-opens --add-exports --enable-native-access"
)

NPM = (
    "registry=npm access all allow-same-version audit audit-level bin-links color commit-hooks cpu depth "
    "description dev engine-strict fetch-retries fetch-retry-factor fetch-retry-maxtimeout fetch-retry-mintimeout "
    "fetch-timeout foreground-scripts format-package-lock fund git-tag-version if-present ignore-scripts include "
    "include-workspace-root init-author-email init-author-name init-author-url init-license init-private init-type "
    "init-version install-links install-strategy json legacy-bundling legacy-peer-deps libc link lockfile-version "
    "loglevel long maxsockets message min-release-age offline omit only optional os package-lock package-lock-only "
    "parseable prefer-dedupe prefer-offline prefer-online preid production progress provenance save save-bundle "
    "save-dev save-exact save-optional save-peer save-prefix save-prod scope searchlimit shrinkwrap sign-git-commit "
    "sign-git-tag strict-peer-deps strict-ssl=true tag tag-version-prefix unicode update-notifier workspaces "
    "workspaces-update yes "
    # Of other programs that read the same file, of which npm knows nothing.
    "auto-install-peers dedupe-peer-dependents enable-pre-post-scripts hoist hoist-pattern "
    "ignore-workspace-root-check link-workspace-packages lockfile manage-package-manager-versions "
    "modules-cache-max-age node-linker node-version package-import-method package-manager-strict "
    "package-manager-strict-version prefer-frozen-lockfile prefer-workspace-packages public-hoist-pattern "
    "recursive-install resolution-mode resolve-peers-from-workspace-root save-workspace-protocol shamefully-hoist "
    "shared-workspace-lockfile side-effects-cache strict-peer-dependencies symlink use-node-version "
    "verify-store-integrity frozen-lockfile confirm-modules-purge update-notifier inject-workspace-packages"
)

POLICY = (
    "version settings.** tools.** allow.** ask.** deny.** rules.** hooks.** tests.** extends extends.preset "
    "extends.level extends.without"
)

# Not `output-file`.
RADON = (
    "average cc-max cc-min codeclimate exclude functions ignore include-ipynb ipynb-cells json md mi-max mi-min multi "
    "no-assert order show-closures show-complexity show-mi sort summary total-average xml"
)

RUFF = (
    "output-format output-prefer-rule-codes fix=never fix-only=never unsafe-fixes show-fixes required-version "
    "preview exclude extend-exclude extend-include force-exclude include respect-gitignore extension.** builtins "
    "namespace-packages target-version per-file-target-version.** src line-length indent-width lint.** format.** "
    "analyze.** cache-dir=cache extend=above select extend-select ignore extend-ignore fixable extend-fixable "
    "unfixable extend-unfixable per-file-ignores.** extend-per-file-ignores.** dummy-variable-rgx external "
    "allowed-confusables ignore-init-module-imports logger-objects task-tags typing-modules explicit-preview-rules "
    "extend-safe-fixes extend-unsafe-fixes tab-size flake8-*.** isort.** mccabe.** pep8-naming.** pycodestyle.** "
    "pydocstyle.** pyflakes.** pylint.** pyupgrade.** pydoclint.** copyright.** refurb.** ruff.**"
)

# What `include` names is written, wherever it lies; a scheme is fetched.
TAPLO = (
    "include=inside exclude formatting.** schema.enabled rule.name rule.include=inside rule.exclude rule.keys "
    "rule.formatting.** rule.schema.enabled"
)

UV = (
    "cache-dir=cache index.** index-url extra-index-url index-strategy find-links no-index default-groups "
    "dev-dependencies sources.** workspace.** package managed required-version environments required-environments "
    "constraint-dependencies override-dependencies exclude-dependencies build-constraint-dependencies "
    "build-backend.** conflicts.** dependency-groups.** dependency-metadata.** extra-build-dependencies.** "
    "extra-build-variables.** exclude-newer exclude-newer-package.** link-mode compile-bytecode keyring-provider "
    "native-tls no-binary no-binary-package no-build no-build-package no-build-isolation no-build-isolation-package "
    "no-sources offline no-cache prerelease resolution fork-strategy preview preview-features python-preference "
    "python-downloads concurrent-builds concurrent-downloads concurrent-installs config-settings.** "
    "config-settings-package.** pip.** publish-url trusted-publishing check-url upgrade upgrade-package reinstall "
    "reinstall-package torch-backend add-bounds cache-keys.** audit.**"
)

# Not `transform`: a style sheet writes files.
VALE = (
    "stylespath=inside minalertlevel packages vocab ignoredscopes skippedscopes ignoredclasses wordtemplate lang "
    "formats.* *.basedonstyles *.tokenignores *.blockignores *.commentdelimiters *.ignorepatterns *.lang *.vocab "
    "*.*.*"
)

VULTURE = "paths=inside exclude ignore-decorators ignore-names make-whitelist min-confidence sort-by-size verbose"

# A line of a file that it extends is shown where it is no YAML.
YAMLLINT = (
    "extends=default|relaxed|empty rules.*.ignore-from-file=inside rules.** ignore-from-file=inside ignore "
    "yaml-files locale"
)
