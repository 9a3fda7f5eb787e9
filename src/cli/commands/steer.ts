import {
  lastRunOutcome,
  type NewCommand,
  type SessionSummary,
  type SteerRequest,
  type SteerResult,
  stateDirectory,
  steerSession,
} from "../../app/index.ts";
import { MAIN_AGENT, type Receipt } from "../../protocol/index.ts";
import { exitCodes } from "../exit-codes.ts";
import { agentIdOf, parseSessionAgent, sessionById, sessionError } from "../find-session.ts";
import { printHelp } from "../help/print-help.ts";
import { createOutput, messageLines } from "../output.ts";
import { parsePrintOptions, printOptionKinds } from "../print/print-options.ts";
import { printRun } from "../print/print-run.ts";
import { agentPathOf, readAgentTranscripts } from "../progress/agent-transcripts.ts";
import {
  helpOption,
  type OptionKinds,
  type ReadOptions,
  readOptions,
  refusePositionals,
  usageError,
} from "../read-options.ts";
import { leaveOnSignal } from "../stop-signals.ts";

export type SteeringVerb = "message" | "stop" | "resume" | "background" | "foreground";

/** Runs `retinue message|stop|resume|background|foreground SESSION[/AGENT]`. */
export async function steer(verb: SteeringVerb, argv: readonly string[]): Promise<number> {
  const options = readOptions(argv, { kinds: { ...kindsOf(verb), help: helpOption }, help: `retinue ${verb} --help` });
  if (options.has("help")) return printHelp(verb);
  const [target, ...words] = options.positionals;
  if (target === undefined)
    throw usageError(`"${verb}" needs a session`, `"retinue ps" shows them: retinue ${verb} ${usage[verb]}.`);
  const { id, agent = MAIN_AGENT } = parseSessionAgent(target, undefined);
  const home = stateDirectory(process.env);
  const session = sessionById({ home, id });
  const request = { home, sessionId: session.id };
  const known =
    session.inUse || agent === MAIN_AGENT ? undefined : agentIdOf(agent, readAgentTranscripts(session.path));
  const text = words.join(" ").trim();
  if (verb === "resume") {
    const printing = { ...options, positionals: [] };
    const isOpened = !session.inUse;
    if (isOpened && agent === MAIN_AGENT)
      return printRun({ ...parsePrintOptions({ ...options, positionals: words }), resume: session.id });
    if (known !== undefined && text === "") refuseFinished(session, known);
    const result = await send({ ...request, command: resumption(agent, text) });
    if (!result.isRunning) return printRun({ ...parsePrintOptions(printing), resume: session.id });
    return report(result, { session, verb, json: options.value("output-format") === "json" });
  }
  const command = commandFor(verb, { agent, text, target, options });
  return report(await send({ ...request, command }), { session, verb, json: options.has("json") });
}

interface Sent extends SteerResult {
  /** Exit code for the signal that ended the wait for the receipt, if one did. */
  readonly interrupted: number | undefined;
}

/** Sends a command and waits for its receipt, unless the user presses Ctrl+C. */
async function send(request: Omit<SteerRequest, "signal">): Promise<Sent> {
  const { controller, code, release } = leaveOnSignal();
  const result = await steerSession({ ...request, signal: controller.signal }).finally(release);
  return { ...result, interrupted: code() };
}

const usage: Readonly<Record<SteeringVerb, string>> = {
  message: "SESSION[/AGENT] TEXT",
  stop: "SESSION[/AGENT]",
  resume: "SESSION[/AGENT] [TEXT]",
  background: "SESSION/AGENT",
  foreground: "SESSION/AGENT",
};

function kindsOf(verb: SteeringVerb): OptionKinds {
  if (verb === "message") return { next: {}, json: {} };
  if (verb !== "resume") return { json: {} };
  const { resume: _resume, continue: _continue, ...kinds } = printOptionKinds;
  return kinds;
}

/** Throws a `UserError` if an agent of a session that is not running has nothing left to do. */
function refuseFinished({ id, path }: SessionSummary, agentId: string): void {
  if (lastRunOutcome(agentPathOf(path, agentId)) !== "succeeded") return;
  const cure = `Send it a message to give it more: retinue resume ${id}/${agentId} "…".`;
  throw sessionError(`Agent ${agentId} has finished its work`, cure);
}

function resumption(agent: string, text: string): NewCommand {
  return text === "" ? { type: "resume", agent } : promptFor(agent, text, "now");
}

function promptFor(to: string, text: string, when: "now" | "next"): NewCommand {
  return { type: "prompt", to, content: [{ type: "text", text }], when };
}

interface Given {
  readonly agent: string;
  readonly text: string;
  readonly target: string;
  readonly options: ReadOptions;
}

function commandFor(verb: Exclude<SteeringVerb, "resume">, { agent, text, target, options }: Given): NewCommand {
  if (verb === "message") {
    if (text === "")
      throw usageError('"message" needs a text', `Write: retinue message ${target} "Look in src first".`);
    if (options.has("next") && agent !== MAIN_AGENT)
      throw usageError(
        "--next is only for the main agent",
        "Leave it out: a running subagent reads the message before its next step, and one that has ended is resumed with it.",
      );
    return promptFor(agent, text, options.has("next") ? "next" : "now");
  }
  refusePositionals(
    { ...options, positionals: options.positionals.slice(1) },
    verb,
    `Write: retinue ${verb} ${usage[verb]}.`,
  );
  if (verb === "stop") return { type: "stop", what: target.includes("/") ? agent : "tree" };
  if (agent === MAIN_AGENT)
    throw usageError(`"${verb}" needs an agent`, `"retinue ps" shows them: retinue ${verb} ${usage[verb]}.`);
  return { type: verb, agent };
}

interface Reported {
  readonly session: SessionSummary;
  readonly verb: SteeringVerb;
  readonly json: boolean;
}

/** Prints what became of a command. Returns the exit code. */
async function report(sent: Sent, { session, verb, json }: Reported): Promise<number> {
  const { isRunning, receipt } = sent;
  const { status, message, code } = receipt
    ? { ...receipt, code: receipt.status === "done" ? exitCodes.succeeded : exitCodes.usage }
    : isRunning
      ? unanswered(verb, sent)
      : notRunning(verb, session);
  if (json) {
    const object = { sessionId: session.id, isRunning, status, ...receipt, message };
    await createOutput(process.stdout).write(`${JSON.stringify(object, null, 2)}\n`);
  } else if (status === "refused") throw sessionError(message.replace(/\.$/, ""), `"retinue ps" shows the agents.`);
  else if (code === exitCodes.succeeded) await createOutput(process.stdout).write(`${message}\n`);
  else await createOutput(process.stderr).write(messageLines([message]));
  return code;
}

interface Outcome {
  /** `recorded`: the session has not carried out the command yet. */
  readonly status: Receipt["status"] | "recorded";
  readonly message: string;
  readonly code: number;
}

/** Describes a command to a session that is running, but has not answered. */
function unanswered(verb: SteeringVerb, { interrupted }: Sent): Outcome {
  const why =
    interrupted === undefined ? "The session has not answered yet." : "Interrupted before the session answered.";
  const recorded =
    verb === "message"
      ? "The message is recorded: the session reads it as soon as it answers, or when it is resumed."
      : verb === "resume"
        ? "The command is recorded: the session carries it out as soon as it answers, or when it is resumed."
        : "The command is recorded: the session carries it out as soon as it answers, but not if it ends before.";
  // A message that is recorded can't be lost, but the others may not have the effect that a script relies on.
  const code = interrupted ?? (verb === "message" ? exitCodes.succeeded : exitCodes.incomplete);
  return { status: "recorded", message: `${why} ${recorded}`, code };
}

function notRunning(verb: SteeringVerb, { id }: SessionSummary): Outcome {
  if (verb === "message") {
    const message = `The session is not running. The message is delivered when it is resumed: retinue resume ${id}`;
    return { status: "recorded", message, code: exitCodes.succeeded };
  }
  if (verb === "stop") {
    const message = "The session is not running, so there is nothing to stop.";
    return { status: "done", message, code: exitCodes.succeeded };
  }
  const message = `The session is not running. Resume it first: retinue resume ${id}`;
  return { status: "refused", message, code: exitCodes.usage };
}
