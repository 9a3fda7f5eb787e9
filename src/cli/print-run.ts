import { resolve } from "node:path";
import { loadSettings, openSession, type Run, type Session, stateDirectory } from "../app/index.ts";
import { describeError, stripControls } from "../lib/index.ts";
import type { ModelErrorCode, RunResult, RunUpdate } from "../protocol/index.ts";
import { chooseSession } from "./choose-session.ts";
import type { PrintOptions } from "./command.ts";
import { exitCodeOf } from "./exit-code.ts";
import { createFormat } from "./formats/create-format.ts";
import type { Format } from "./formats/format.ts";
import { createOutput, type Output } from "./output.ts";
import { noPrompt, readPrompt } from "./read-prompt.ts";
import { onStopSignal } from "./signals.ts";

/** `retinue -p`: one prompt, one run, its result. Throws a `UserError` when there can't be a run. */
export async function printRun(options: PrintOptions): Promise<number> {
  let run: Run | undefined;
  const signals = onStopSignal((signal) => {
    if (run === undefined) process.exit(signals.code());
    run.stop(signal === "SIGINT" ? "interrupted" : "stopped");
  });
  const output = createOutput(process.stdout, () => run?.stop("stopped"));
  const errors = createOutput(process.stderr, () => undefined);
  const tell = (notice: string): void => void errors.write(`retinue: ${stripControls(notice)}\n`);
  const format = createFormat({ ...options, forTerminal: output.isTerminal });
  const prompt = await readPrompt(options.prompt, tell);
  const session = await open(options, { prompt, tell });
  for (const notice of session.notices) tell(notice);
  await output.write(format.opened(session));
  run = session.prompt(prompt);
  const ended = await follow(run, { format, output });
  await session.close().catch((error: unknown) => tell(describeError(error)));
  await output.write(format.result(ended.result));
  await errors.write(closingWords(ended.result, session));
  return signals.code() ?? exitCodeOf(ended.result, ended.modelError);
}

async function open(
  options: PrintOptions,
  { prompt, tell }: { prompt: string; tell: (notice: string) => void },
): Promise<Session> {
  const home = stateDirectory(process.env);
  const cwd = resolve(options.cwd ?? ".");
  const old = chooseSession({ ...options, home, cwd });
  if (prompt === "" && (old === undefined || old.lastOutcome === "succeeded")) throw noPrompt();
  const loaded = loadSettings({ home, ...(options.settings === undefined ? {} : { file: options.settings }) });
  for (const notice of loaded.notices) tell(notice);
  const { model, provider, effort, permissionMode, maxTurns, allowedTools, disallowedTools } = options;
  return openSession({
    cwd,
    home,
    settings: loaded.settings,
    ...(loaded.file === undefined ? {} : { settingsFile: loaded.file }),
    ...(model === undefined ? {} : { model }),
    ...(provider === undefined ? {} : { provider }),
    ...(effort === undefined ? {} : { effort }),
    ...(permissionMode === undefined ? {} : { permissionMode }),
    ...(maxTurns === undefined ? {} : { maxTurns }),
    ...(old === undefined ? {} : { resume: old.id }),
    allowedTools,
    disallowedTools,
    onTrouble: tell,
  });
}

interface Ended {
  readonly result: RunResult;
  readonly modelError: ModelErrorCode | undefined;
}

async function follow(run: Run, { format, output }: { format: Format; output: Output }): Promise<Ended> {
  let modelError: ModelErrorCode | undefined;
  for await (const update of run) {
    modelError = errorAfter(update, modelError);
    const text = format.update(update);
    if (text !== "") await output.write(text);
  }
  return { result: await run.result, modelError };
}

function errorAfter(update: RunUpdate, before: ModelErrorCode | undefined): ModelErrorCode | undefined {
  if (update.type === "model.failed") return update.error.code;
  return update.type === "model.ended" ? undefined : before;
}

function closingWords(result: RunResult, session: Session): string {
  if (result.outcome === "succeeded") return "";
  const why = result.message ?? `The run ended: ${result.reason}.`;
  // A model that can't do it says why in its text, which stands on standard output already.
  const told = why.trim() === result.text.trim() ? "" : `retinue: ${stripControls(why)}\n`;
  return `${told}retinue: To go on: retinue -p --resume ${session.id} "…"\n`;
}
