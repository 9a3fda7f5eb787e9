import { execFile } from "node:child_process";
import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";
import { describeError, nearest } from "../lib/index.ts";
import { listModels, type ProviderChoice, resolveProvider } from "../model/index.ts";
import type { Settings } from "../protocol/index.ts";
import { findRipgrep, type Search, searchEngineFor } from "../tools/index.ts";
import { checkHome } from "../transcript/index.ts";
import { loadProjectSettings } from "./project-settings.ts";
import { VERSION } from "./version.ts";

/** One thing that was looked at. Never holds a key. */
export interface Finding {
  readonly name: string;
  readonly status: "ok" | "warn" | "fail";
  readonly found: string;
  readonly cure?: string;
}

export interface ExamineOptions {
  readonly home: string;
  /** The real path of the workspace. */
  readonly cwd: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly settingsFile?: string;
  readonly provider?: string;
  readonly model?: string;
}

/** Asks the provider one short question if there is one. */
export async function examineSurroundings(options: ExamineOptions): Promise<readonly Finding[]> {
  const { home, environment } = options;
  const { finding: settingsFinding, settings } = examineSettings(options);
  const choice = chooseProvider(options, settings);
  const programs = Promise.all([
    examineProgram("git", { environment, without: "History and diffs are not available.", install: "Install git." }),
    examineProgram("bash", { environment, without: "sh runs commands instead.", install: "Install bash." }),
  ]);
  const [reached, [git, bash]] = await Promise.all([examineReach(choice), programs]);
  return [
    { name: "retinue", status: "ok", found: VERSION },
    examineNode(process.versions.node),
    settingsFinding,
    examineProvider(choice),
    ...reached,
    examineRipgrep(environment),
    examineSearch(settings, { environment, choice }),
    git,
    bash,
    examineSandbox(environment),
    examineHome(home),
  ];
}

function examineNode(version: string): Finding {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  const isEnough = major > 20 || (major === 20 && minor >= 19);
  if (isEnough) return { name: "node", status: "ok", found: version };
  return { name: "node", status: "fail", found: version, cure: "Install Node.js 20.19 or newer." };
}

function examineSettings({ home, cwd, environment, settingsFile }: ExamineOptions): {
  finding: Finding;
  settings: Settings;
} {
  const name = "settings";
  try {
    const file = settingsFile === undefined ? {} : { file: settingsFile };
    const loaded = loadProjectSettings({ home, cwd, environment, trust: false, ...file });
    const [notice] = loaded.notices;
    const files = loaded.files.join(", ");
    const found = files === "" ? `none at ${join(home, "settings.json")}; the defaults apply` : files;
    if (notice === undefined) return { finding: { name, status: "ok", found }, settings: loaded.settings };
    return { finding: { name, status: "warn", found: notice }, settings: loaded.settings };
  } catch (error) {
    return { finding: { name, status: "fail", found: describeError(error) }, settings: {} };
  }
}

function chooseProvider({ environment, provider, model }: ExamineOptions, settings: Settings): ProviderChoice {
  const flags = { ...(provider === undefined ? {} : { provider }), ...(model === undefined ? {} : { model }) };
  return resolveProvider({ settings, environment, flags });
}

function examineProvider(choice: ProviderChoice): Finding {
  const name = "provider";
  if (choice.kind === "problem") return { name, status: "fail", found: choice.message };
  if (choice.kind === "offline") {
    const cure = "Set ANTHROPIC_API_KEY or OPENAI_API_KEY, or use a local server: --provider ollama --model NAME.";
    return { name, status: "warn", found: "the embedded offline model, which is not a language model", cure };
  }
  const { provider, model, reason } = choice;
  const key = provider.keyVariable === undefined ? "no key" : `key from ${provider.keyVariable}`;
  return { name, status: "ok", found: `${provider.name}, model ${model} (${reason}; ${key})` };
}

async function examineReach(choice: ProviderChoice): Promise<Finding[]> {
  if (choice.kind !== "wire") return [];
  const name = "connection";
  const { provider, model } = choice;
  const { host } = new URL(provider.baseUrl);
  const list = await listModels(provider);
  if (!list.ok) return [{ name, status: "fail", found: list.message }];
  if (list.models.includes(model)) return [{ name, status: "ok", found: `${host} answers and offers ${model}` }];
  const near = nearest(model, list.models, 3);
  const cure = near.length > 0 ? `Did you mean ${near.join(" or ")}?` : "Name another with --model.";
  return [{ name, status: "warn", found: `${host} answers, but does not list the model ${model}`, cure }];
}

function examineRipgrep(environment: ExamineOptions["environment"]): Finding {
  const name = "ripgrep";
  const program = findRipgrep(environment);
  if (program !== undefined) return { name, status: "ok", found: program };
  const named = environment["RETINUE_RIPGREP"];
  const cure = named ? "Correct RETINUE_RIPGREP or unset it." : "Install ripgrep for faster searches.";
  return { name, status: "warn", found: "not found; a slower search of our own takes its place", cure };
}

function examineSearch(
  settings: Settings,
  { environment, choice }: { environment: ExamineOptions["environment"]; choice: ProviderChoice },
): Finding {
  const name = "search";
  const ownSearch = choice.kind === "wire" && choice.provider.name === "anthropic";
  const search = searchEngineFor(settings.search, environment, ownSearch ? { anthropic: unused } : {});
  if ("engine" in search) return { name, status: "ok", found: settings.search?.engine ?? "the provider's own" };
  return { name, status: settings.search === undefined ? "ok" : "warn", found: search.absent };
}

/** Stands for the provider's search where only its presence counts. */
const unused: Search = async () => ({ ok: false, message: "" });

interface ProgramCheck {
  readonly environment: ExamineOptions["environment"];
  readonly without: string;
  readonly install: string;
}

async function examineProgram(name: string, { environment, without, install }: ProgramCheck): Promise<Finding> {
  const program = onPath(name, environment);
  if (program === undefined) return { name, status: "warn", found: `not found. ${without}`, cure: install };
  const version = await firstLine(program);
  if (version !== undefined) return { name, status: "ok", found: `${version} (${program})` };
  return { name, status: "warn", found: `${program} does not run. ${without}`, cure: install };
}

function firstLine(program: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    execFile(program, ["--version"], { timeout: 5_000 }, (error, output) => {
      resolve(error ? undefined : output.split("\n")[0]?.trim());
    });
  });
}

function examineSandbox(environment: ExamineOptions["environment"]): Finding {
  const program = onPath("bwrap", environment);
  const found = program === undefined ? "bubblewrap not found" : `bubblewrap at ${program}`;
  return { name: "sandbox", status: "ok", found: `${found}; this version does not use it yet` };
}

function examineHome(home: string): Finding {
  const check = checkHome(home);
  if (!check.ok) return { name: "state", status: "fail", found: check.message };
  return { name: "state", status: "ok", found: `${home} is writable` };
}

function onPath(name: string, environment: ExamineOptions["environment"]): string | undefined {
  const directories = (environment["PATH"] ?? "").split(delimiter).filter((directory) => directory !== "");
  return directories.map((directory) => usable(join(directory, name))).find((path) => path !== undefined);
}

function usable(path: string): string | undefined {
  try {
    accessSync(path, constants.X_OK);
    return path;
  } catch {
    return undefined;
  }
}
