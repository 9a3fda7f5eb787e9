import { lastRunOutcome, type NewCommand, type SteerResult } from "../../app/index.ts";
import { MAIN_AGENT } from "../../protocol/index.ts";
import { exitCodes } from "../exit-codes.ts";
import { agentIdOf, parseSessionAgent, sessionError } from "../find-session.ts";
import { printHelp } from "../help/print-help.ts";
import { chooseHost } from "../host/choose-host.ts";
import { type HostSession, serverOption } from "../host/session-host.ts";
import { createOutput } from "../output.ts";
import { parsePrintOptions, printOptionKinds } from "../print/print-options.ts";
import { printRun } from "../print/print-run.ts";
import { agentPathOf } from "../progress/agent-transcripts.ts";
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
  const server = options.value("server");
  const host = await chooseHost(server);
  const session = await host.find(id);
  const reported = { session, verb, option: host.option };
  const text = words.join(" ").trim();
  if (verb === "resume" && server !== undefined) {
    // The server opens a session that is not running.
    refuseRunOptions(options);
    const result = await host.steer(session, resumption(agent, text));
    return report(result, { ...reported, json: options.value("output-format") === "json" });
  }
  // The agent of a running session is found by the session itself.
  const known = session.inUse || agent === MAIN_AGENT ? undefined : agentIdOf(agent, await host.agents(session));
  if (verb === "resume") {
    const printing = { ...options, positionals: [] };
    const isOpened = !session.inUse;
    if (isOpened && agent === MAIN_AGENT)
      return printRun({ ...parsePrintOptions({ ...options, positionals: words }), resume: session.id });
    if (known !== undefined && text === "") refuseFinished(session, known);
    const result = await host.steer(session, resumption(agent, text));
    if (!result.isRunning) return printRun({ ...parsePrintOptions(printing), resume: session.id });
    return report(result, { ...reported, json: options.value("output-format") === "json" });
  }
  const command = commandFor(verb, { agent, text, target, options });
  return report(await host.steer(session, command), { ...reported, json: options.has("json") });
}

const usage: Readonly<Record<SteeringVerb, string>> = {
  message: "SESSION[/AGENT] TEXT",
  stop: "SESSION[/AGENT]",
  resume: "SESSION[/AGENT] [TEXT]",
  background: "SESSION/AGENT",
  foreground: "SESSION/AGENT",
};

function kindsOf(verb: SteeringVerb): OptionKinds {
  if (verb === "message") return { next: {}, json: {}, server: serverOption };
  if (verb !== "resume") return { json: {}, server: serverOption };
  const { resume: _resume, continue: _continue, ...kinds } = printOptionKinds;
  return { ...kinds, server: serverOption };
}

/** Throws a `UserError` if an option is given that only applies to a session that is opened here. */
function refuseRunOptions(options: ReadOptions): void {
  const { resume: _resume, continue: _continue, "output-format": _format, ...kinds } = printOptionKinds;
  const [given] = Object.keys(kinds).filter((name) => options.has(name));
  if (given !== undefined)
    throw usageError(`--${given} can't be used with --server`, "The server opens the session with its own options.");
}

/** Throws a `UserError` if an agent of a session that is not running has nothing left to do. */
function refuseFinished({ id, path = "" }: HostSession, agentId: string): void {
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
  readonly session: HostSession;
  readonly verb: SteeringVerb;
  /** Option that other commands repeat. */
  readonly option: string;
  readonly json: boolean;
}

/** Prints what became of a command. Returns the exit code. */
async function report({ isRunning, receipt }: SteerResult, reported: Reported): Promise<number> {
  const { session, verb, json, option } = reported;
  const { write } = createOutput(process.stdout);
  const isDone = receipt ? receipt.status === "done" : verb === "message" || (verb === "stop" && !isRunning);
  const status = isDone ? "done" : "refused";
  const message = receipt?.message ?? (isRunning ? slow : notRunning(verb, session));
  if (json)
    await write(`${JSON.stringify({ sessionId: session.id, isRunning, status, ...receipt, message }, null, 2)}\n`);
  else if (isDone) await write(`${message}\n`);
  else throw sessionError(message.replace(/\.$/, ""), `"retinue ps${option}" shows the agents.`);
  return isDone ? exitCodes.succeeded : exitCodes.failed;
}

const slow = "The session is busy and has not answered yet. It carries out the command as soon as it can.";

function notRunning(verb: SteeringVerb, { id }: HostSession): string {
  if (verb === "message")
    return `The session is not running. The message is delivered when it is resumed: retinue resume ${id}`;
  if (verb === "stop") return "The session is not running, so there is nothing to stop.";
  return `The session is not running. Resume it first: retinue resume ${id}`;
}
