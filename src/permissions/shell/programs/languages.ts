import { type CommandEffect, type Effects, hiddenRun } from "./effects.ts";
import { type ArgumentReading, each, type ProgramSpec, withOptions } from "./model.ts";

/** Options of npm and similar programs that name a program to run, a settings file or a directory. */
const npmRisks =
  "--script-shell=program --shell=program --node-options=settings --prefix|-C=settings --userconfig=settings --globalconfig=settings --git=program --editor=program --viewer=program --browser=program --init-module=program --cache=write";
/** Commands of npm that only look things up. */
const npmLook: ProgramSpec = {
  operands: "data*",
  options: `${npmRisks} -a|--all --json -l|--long -p|--parseable -g|--global --depth=data --omit=data --include=data`,
};
/** Wildcards in rules cover only these options, and only the commands in the table. */
const npmChange: ProgramSpec = {
  does: "change",
  operands: "data*",
  options: `${npmRisks} -D|--save-dev -E|--save-exact -O|--save-optional -P|--save-prod --save --no-save --omit=data --include=data -w|--workspace=data --workspaces --ignore-scripts --no-audit --no-fund --prefer-offline --offline --legacy-peer-deps -f|--force -g|--global --if-present -s|--silent --json --dry-run --loglevel=data --depth=data`,
};
const looking: ProgramSpec = { operands: "data*" };
const goLook: ProgramSpec = {
  operands: "data*",
  options: "-toolexec=program -exec=program -vettool=program -C=directory -o=write -w!change -u!change",
};
const cargoLook: ProgramSpec = {
  operands: "data*",
  options: "--config=settings --manifest-path=read --target-dir=write -Z=settings -C=directory --out-dir=write",
};
const other: ProgramSpec = { does: "change", operands: "data*" };

/** Programs that run without approval only in a sandbox, because the project may determine what they do. */
export const languages: readonly (readonly [string, ProgramSpec])[] = [
  [
    "npm",
    {
      options: `${npmRisks} -s|--silent --loglevel=data --no-color --json -g|--global`,
      commands: new Map([
        ...each("ls list ll la root prefix bin explain why query help get", npmLook),
        ...each(
          "add audit ci cit dedupe fund i install install-test it ln outdated pack ping prune rb rebuild remove restart rm run run-script start stop t test uninstall un up update version view info whoami",
          npmChange,
        ),
        ["config", { commands: new Map(each("get list ls", npmLook)), otherwise: npmChange }],
        ["pkg", { commands: new Map(each("get", npmLook)), otherwise: npmChange }],
      ]),
      otherwise: npmChange,
    },
  ],
  ...each("pnpm yarn", {
    options: `${npmRisks} -s|--silent --json -r|--recursive`,
    commands: new Map(each("ls list ll la why root bin", looking)),
    otherwise: { does: "change", operands: "data*", options: npmRisks },
  }),
  [
    "go",
    {
      options: "-C=directory",
      commands: new Map([
        ...each("version list doc help env", goLook),
        ["mod", { commands: new Map(each("graph why verify", goLook)), otherwise: other }],
      ]),
      otherwise: {
        does: "change",
        operands: "data*",
        options: "-toolexec=program -exec=program -vettool=program -o=write",
      },
    },
  ],
  [
    "cargo",
    {
      options: "--list --config=settings -Z=settings -C=directory",
      commands: new Map(
        each("tree metadata version locate-project pkgid read-manifest help verify-project", cargoLook),
      ),
      otherwise: { ...other, options: "--config=settings -Z=settings" },
    },
  ],
  [
    "rustup",
    {
      commands: new Map([
        ...each("show which", looking),
        ...each("toolchain target component", { commands: new Map([["list", looking]]) }),
      ]),
    },
  ],
  ...each("pip pip3", { commands: new Map(each("list show freeze check help", looking)), otherwise: other }),
  ["gem", { commands: new Map(each("list environment env which help", looking)) }],
  ["bundle", { commands: new Map(each("list show info", looking)) }],
  ["brew", { commands: new Map(each("list ls leaves", looking)) }],
  ["apt", { commands: new Map(each("list show", looking)) }],
  ["apt-cache", { commands: new Map(each("show search policy depends rdepends", looking)) }],
  withOptions(
    "make",
    "-f|--file|--makefile=settings -C|--directory=settings -I|--include-dir=settings -E|--eval=settings -e|--environment-overrides!settings -j|--jobs[=data] -k -n -B -s -i -d -W=data -o=data -l[=data] -O[=data] -q -r -R -S -t -w",
    { does: "change", operands: "data*", check: checkMake },
  ),
];

/** Programs that print their version without reading anything, and whose version the project can't determine. */
export const printsVersion: ReadonlySet<string> = new Set(
  "gcc g++ clang clang++ cc c++ make cmake docker gh rg fd jq curl wget bash tar sed grep awk gawk find sort git vim tree less ssh-keygen".split(
    " ",
  ),
);

/**
 * Other programs that can print their version. They, or the version managers that start them (asdf, mise, pyenv,
 * rustup, corepack), first look in the project for the version to run, which may be a program from the project.
 */
export const sandboxedVersions: ReadonlySet<string> = new Set(
  [
    "node npm npx deno bun yarn pnpm python python2 python3 pip pip3 ruby gem bundle perl php java javac go cargo rustup rustc rustdoc",
    "tsc kotlinc scalac swift swiftc dotnet mvn gradle sbt ghc elixir mix lua luajit R Rscript julia zig nim dart",
    "flutter terraform helm docker podman docker-compose poetry uv conda virtualenv pytest mypy ruff black eslint prettier",
    "jest vitest vite webpack esbuild rollup babel nvm fnm pyenv rbenv asdf volta sqlite3 psql mysql redis-cli ffmpeg convert pandoc",
    "clang-format shellcheck hadolint yamllint brew",
  ].flatMap((line) => line.split(" ")),
);

/** `make NAME=value` can replace the programs that the makefile runs. */
function checkMake({ operands, options }: ArgumentReading): Effects {
  const variables = operands
    .filter(({ word }) => word.text.includes("="))
    .map(({ at }): CommandEffect => ({ kind: "run", reason: "a make variable can name a program to run", at }));
  const read = options
    .filter(({ option, word }) => option === "--makefile" && /^(-|\/dev\/(stdin|fd\/\d+))$/.test(word.text))
    .map(({ at }) => hiddenRun("make runs commands that it reads from its input", at));
  return [...variables, ...read];
}

/** npm's commands. A prefix of a name is an abbreviation, unless the prefix is itself a name. */
const npmCommands = new Set(
  [
    "access adduser approve-scripts audit bugs cache ci completion config dedupe deny-scripts deprecate diff dist-tag docs doctor edit exec",
    "explain explore find-dupes fund help help-search init install install-ci-test install-scripts install-test link ll logout ls org",
    "outdated owner pack ping pkg prefix profile prune publish query rebuild repo restart root run sbom search shrinkwrap stage star stars",
    "start stop team test token trust undeprecate uninstall unpublish unstar update version view whoami",
  ].flatMap((line) => line.split(" ")),
);

/** Aliases of npm's commands, in the form `alias:command`. */
const npmAliases = new Map(
  [
    "author:owner home:docs issues:bugs info:view show:view v:view find:search s:search se:search add:install i:install in:install",
    "ins:install inst:install insta:install instal:install isnt:install isnta:install isntal:install isntall:install unlink:uninstall",
    "remove:uninstall rm:uninstall r:uninstall un:uninstall rb:rebuild list:ls ln:link create:init innit:init it:install-test",
    "cit:install-ci-test clean-install-test:install-ci-test sit:install-ci-test u:update up:update upgrade:update udpate:update c:config",
    "get:config set:config tst:test t:test ddp:dedupe run-script:run rum:run urn:run clean-install:ci install-clean:ci isntall-clean:ci",
    "ic:ci x:exec why:explain la:ll verison:version hlep:help dist-tags:dist-tag ogr:org add-user:adduser login:adduser",
  ]
    .flatMap((line) => line.split(" "))
    .map((pair) => pair.split(":") as [string, string]),
);

/** Returns true if npm treats both words as the same command. */
export function isSameNpmCommand(left: string, right: string): boolean {
  const found = npmCommandsOf(right);
  return npmCommandsOf(left).some((name) => found.includes(name));
}

function npmCommandsOf(word: string): readonly string[] {
  // npm reads `runScript` as `run-script`. Restrictions are compared in lower case, so hyphens are left out.
  const plain = (name: string) => name.replaceAll("-", "");
  const names = [...npmCommands, ...npmAliases.keys()];
  const exact = names.filter((name) => plain(name) === plain(word));
  const meant = exact.length > 0 ? exact : names.filter((name) => plain(name).startsWith(plain(word)));
  return meant.map((name) => npmAliases.get(name) ?? name);
}
