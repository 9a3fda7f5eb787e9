import {
  lastRunEnd,
  type NewCommand,
  type SessionSummary,
  type SteerResult,
  stateDirectory,
  steerSession,
} from "../../app/index.ts";
import { MAIN_AGENT } from "../../protocol/index.ts";
import { exitCodes } from "../exit-codes.ts";
import { agentIdOf, parseSessionAgent, sessionById, sessionError } from "../find-session.ts";
import { printHelp } from "../help/print-help.ts";
import { createOutput } from "../output.ts";
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
    const result = await steerSession({ ...request, command: resumption(agent, text) });
    if (!result.isRunning) return printRun({ ...parsePrintOptions(printing), resume: session.id });
    return report(result, { session, verb, json: options.value("output-format") === "json" });
  }
  const command = commandFor(verb, { agent, text, target, options });
  return report(await steerSession({ ...request, command }), { session, verb, json: options.has("json") });
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
  if (lastRunEnd(agentPathOf(path, agentId))?.outcome !== "succeeded") return;
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
async function report({ isRunning, receipt }: SteerResult, { session, verb, json }: Reported): Promise<number> {
  const { write } = createOutput(process.stdout);
  const isDone = receipt ? receipt.status === "done" : verb === "message" || (verb === "stop" && !isRunning);
  const status = isDone ? "done" : "refused";
  const message = receipt?.message ?? (isRunning ? slow : notRunning(verb, session));
  if (json)
    await write(`${JSON.stringify({ sessionId: session.id, isRunning, status, ...receipt, message }, null, 2)}\n`);
  else if (isDone) await write(`${message}\n`);
  else throw sessionError(message.replace(/\.$/, ""), `"retinue ps" shows the agents.`);
  return isDone ? exitCodes.succeeded : exitCodes.failed;
}

const slow = "The session is busy and has not answered yet. It carries out the command as soon as it can.";

function notRunning(verb: SteeringVerb, { id }: SessionSummary): string {
  if (verb === "message")
    return `The session is not running. The message is delivered when it is resumed: retinue resume ${id}`;
  if (verb === "stop") return "The session is not running, so there is nothing to stop.";
  return `The session is not running. Resume it first: retinue resume ${id}`;
}
