import { findAgentId, lastRunEnd, type NewCommand, unmatchedAgent } from "../../app/index.ts";
import { plural, stripControls } from "../../lib/index.ts";
import { MAIN_AGENT, type Receipt } from "../../protocol/index.ts";
import { exitCodes } from "../exit-codes.ts";
import { parseSessionAgent } from "../find-session.ts";
import { printHelp } from "../help/print-help.ts";
import { chooseHost } from "../host/choose-host.ts";
import { type HostSession, type SessionHost, serverOption } from "../host/session-host.ts";
import { createOutput, messageLines } from "../output.ts";
import { type PrintOptions, parsePrintOptions, printOptionKinds } from "../print/print-options.ts";
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
import { resumeCommand } from "../resume-command.ts";
import { leaveOnSignal } from "../stop-signals.ts";

export type SteeringVerb = "message" | "stop" | "resume" | "background" | "foreground";

/** Runs `retinue message|stop|resume|background|foreground SESSION[/AGENT]`. */
export async function steer(verb: SteeringVerb, argv: readonly string[]): Promise<number> {
  const options = readOptions(argv, { kinds: { ...kindsOf(verb), help: helpOption }, help: `retinue ${verb} --help` });
  if (options.has("help")) return printHelp(verb);
  const [target, ...words] = options.positionals;
  if (target === undefined)
    throw usageError(
      `"${verb}" needs a session`,
      `Usage: retinue ${verb} ${usage[verb]}. "retinue ps" lists sessions.`,
    );
  const { id, agent = MAIN_AGENT } = parseSessionAgent(target, undefined);
  const server = options.value("server");
  const host = await chooseHost(server);
  const session = await host.find(id);
  const text = words.join(" ").trim();
  const steered: Steered = { host, session, verb, agent, text };
  const command = verb === "resume" ? resumption(agent, text) : commandFor(verb, { ...steered, target, options });
  if (verb === "resume" && server !== undefined) refuseRunOptions(options);
  // If the session is not running, it is opened here, or by the server. Text for a subagent is sent to its inbox.
  const opening = verb === "resume" && server === undefined ? openingOptions(session, options) : undefined;
  if (opening && !session.inUse && agent === MAIN_AGENT) return printRun({ ...opening, prompt: text });
  const impossible = server === undefined ? await whyImpossible(steered) : undefined;
  const withdrawn = options.has("withdraw") ? await withdrawAll(steered) : undefined;
  const outcome = impossible ?? (await send(steered, command));
  if (opening && outcome === "not running") return printRun(opening);
  const json = options.has("json") || options.value("output-format") === "json";
  const result = outcome === "not running" ? await notRunning(steered) : outcome;
  const queue = verb === "stop" && result.status === "done" ? await queueText(steered, withdrawn) : "";
  return report({ ...result, message: `${result.message}${queue}` }, { session, json });
}

interface Steered {
  readonly host: SessionHost;
  readonly session: HostSession;
  readonly verb: SteeringVerb;
  readonly agent: string;
  readonly text: string;
}

/** Withdraws the prompts that no agent has received. Returns their number. */
async function withdrawAll({ host, session }: Steered): Promise<number> {
  const ids = await host.waitingPrompts(session);
  const { controller, release } = leaveOnSignal();
  const sent = ids.map((promptId) => host.steer(session, { type: "withdraw", promptId }, controller.signal));
  const results = await Promise.all(sent).finally(release);
  return results.filter(({ isRunning, receipt }) => (receipt ? receipt.status === "done" : !isRunning)).length;
}

/** Says how to send or withdraw the prompts that no agent had received when the session was stopped. */
async function queueText({ host, session }: Steered, withdrawn: number | undefined): Promise<string> {
  const { waitingPrompts: left = 0 } = (await host.find(session.id).catch(() => undefined)) ?? {};
  const said = withdrawn === undefined ? "" : ` ${plural(withdrawn, "prompt")} withdrawn.`;
  if (left === 0) return said;
  const them = left === 1 ? "it" : "them";
  const resume = await resumeCommand({ host, session });
  const withdraw = `retinue stop ${session.id} --withdraw${host.option}`;
  return `${said} "${resume}" sends ${them}, "${withdraw}" withdraws ${them}.`;
}

/** Returns the options for continuing a session without a prompt. `--json` is short for `--output-format json`. */
function openingOptions({ id }: HostSession, options: ReadOptions): PrintOptions {
  if (options.has("json") && options.has("output-format"))
    throw usageError("--json and --output-format both set the format", "Use one of them.");
  const print = parsePrintOptions({ ...options, positionals: [] });
  return { ...print, outputFormat: options.has("json") ? "json" : print.outputFormat, resume: id };
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
  if (verb === "stop") return { withdraw: {}, json: {}, server: serverOption };
  if (verb !== "resume") return { json: {}, server: serverOption };
  const { resume: _resume, continue: _continue, ...kinds } = printOptionKinds;
  return { ...kinds, json: {}, server: serverOption };
}

/** Throws a `UserError` for an option that applies only to sessions opened by this process. */
function refuseRunOptions(options: ReadOptions): void {
  const { resume: _resume, continue: _continue, "output-format": _format, ...kinds } = printOptionKinds;
  const [given] = Object.keys(kinds).filter((name) => options.has(name));
  if (given !== undefined)
    throw usageError(`--${given} can't be used with --server`, "The server opens the session with its own options.");
}

/** Explains why an agent whose session is not running can't be steered; undefined if it can. */
async function whyImpossible({ host, session, verb, agent, text }: Steered): Promise<Outcome | undefined> {
  if (session.inUse || agent === MAIN_AGENT) return undefined;
  const agents = await host.agents(session);
  const agentId = findAgentId(agent, agents);
  if (agentId === undefined) {
    const { message, fix } = unmatchedAgent(agent, agents);
    return { ...refusal(`${message}. ${fix}`), code: exitCodes.usage };
  }
  if (verb !== "resume" || text !== "") return undefined;
  if (lastRunEnd(agentPathOf(session.path ?? "", agentId))?.outcome !== "succeeded") return undefined;
  const more = await resumeCommand({ host, session, agentId, needsPrompt: true });
  return refusal(`Agent ${agentId} has finished its work. To give it more work, send it a message: ${more}`);
}

function resumption(agent: string, text: string): NewCommand {
  return text === "" ? { type: "resume", agent } : promptFor(agent, text, "now");
}

function promptFor(to: string, text: string, when: "now" | "next"): NewCommand {
  return { type: "prompt", to, content: [{ type: "text", text }], when };
}

interface Given extends Steered {
  readonly target: string;
  readonly options: ReadOptions;
}

function commandFor(verb: Exclude<SteeringVerb, "resume">, { agent, text, target, options }: Given): NewCommand {
  if (verb === "message") {
    if (text === "")
      throw usageError('"message" needs text', `For example: retinue message ${target} "Look in src first".`);
    if (options.has("next") && agent !== MAIN_AGENT)
      throw usageError(
        "--next is only for the main agent",
        "Leave it out: a running subagent reads the message before its next step, and a subagent that has ended is resumed with it.",
      );
    return promptFor(agent, text, options.has("next") ? "next" : "now");
  }
  refusePositionals(
    { ...options, positionals: options.positionals.slice(1) },
    verb,
    `Usage: retinue ${verb} ${usage[verb]}.`,
  );
  if (verb === "stop") {
    if (options.has("withdraw") && agent !== MAIN_AGENT)
      throw usageError(
        "--withdraw is only for sessions",
        "Subagents have no queue. Leave out --withdraw, or leave out the agent.",
      );
    return { type: "stop", what: target.includes("/") ? agent : "tree" };
  }
  if (agent === MAIN_AGENT && target.includes("/"))
    throw usageError(`Only subagents can be moved to the ${verb}`, `Usage: retinue ${verb} ${usage[verb]}.`);
  if (agent === MAIN_AGENT)
    throw usageError(`"${verb}" needs an agent`, `Usage: retinue ${verb} ${usage[verb]}. "retinue ps" lists agents.`);
  return { type: verb, agent };
}

interface Outcome {
  readonly isRunning: boolean;
  readonly commandId?: string | undefined;
  /** `recorded`: the session has not carried out the command yet. `sent`: the server has not confirmed it. */
  readonly status: Receipt["status"] | "recorded" | "sent";
  readonly message: string;
  readonly code: number;
}

/** Sends a command and waits for its receipt, unless the user presses Ctrl+C. */
async function send({ host, session, verb }: Steered, command: NewCommand): Promise<Outcome | "not running"> {
  const { controller, code: interrupted, release } = leaveOnSignal();
  const { isRunning, receipt } = await host.steer(session, command, controller.signal).finally(release);
  if (receipt === undefined) return isRunning ? unanswered(host, verb, interrupted()) : "not running";
  const { code: why, ...result } = receipt;
  const refusedCode = why === "unknown_agent" ? exitCodes.usage : exitCodes.failed;
  return { isRunning, ...result, code: receipt.status === "done" ? exitCodes.succeeded : refusedCode };
}

/** Describes the outcome of a command that a running session has not answered. */
function unanswered({ option }: SessionHost, verb: SteeringVerb, interrupted: number | undefined): Outcome {
  const who = option === "" ? "session" : "server";
  const why =
    interrupted === undefined ? `The ${who} has not answered yet.` : `Interrupted before the ${who} answered.`;
  if (who === "server") {
    const sent = `The ${verb === "message" ? "message" : "command"} was sent, but is not confirmed. It is lost if the server ends before recording it.`;
    return { isRunning: true, status: "sent", message: `${why} ${sent}`, code: interrupted ?? exitCodes.incomplete };
  }
  const recorded =
    verb === "message"
      ? "The message is recorded. The session will read it as soon as it responds, or when it is resumed."
      : verb === "resume"
        ? "The command is recorded. The session will carry it out as soon as it responds, or when it is resumed."
        : "The command is recorded. The session will carry it out as soon as it responds, unless it ends first.";
  // A recorded message counts as a success, because it can't be lost. Other commands don't, because a script may rely
  // on their effect, which has not happened yet.
  const code = interrupted ?? (verb === "message" ? exitCodes.succeeded : exitCodes.incomplete);
  return { isRunning: true, status: "recorded", message: `${why} ${recorded}`, code };
}

async function notRunning({ host, session, verb, agent }: Steered): Promise<Outcome> {
  const { waitingPrompts } = session;
  const isRunning = false;
  const code = exitCodes.succeeded;
  if (verb === "message") {
    const resume = await resumeCommand({ host, session });
    const message = `The session is not running. The message will be delivered when it is resumed: ${resume}`;
    return { isRunning, status: "recorded", message, code };
  }
  if (verb === "stop") {
    const prompts = waitingPrompts === 0 ? "" : ` ${plural(waitingPrompts, "prompt")} in the queue.`;
    const message = `The session is not running, so there is nothing to stop.${prompts}`;
    return { isRunning, status: "done", message, code };
  }
  const agentId = findAgentId(agent, await host.agents(session)) ?? agent;
  const needsPrompt = lastRunEnd(agentPathOf(session.path ?? "", agentId))?.outcome === "succeeded";
  const resume = await resumeCommand({ host, session, agentId, needsPrompt });
  return refusal(`The session is not running. Resume the agent first: ${resume}`);
}

function refusal(message: string): Outcome {
  return { isRunning: false, status: "refused", message, code: exitCodes.failed };
}

/** Prints the result of a command. Returns the exit code. */
async function report(
  { code, ...outcome }: Outcome,
  { session, json }: { readonly session: HostSession; readonly json: boolean },
): Promise<number> {
  if (json) {
    const object = { sessionId: session.id, ...outcome };
    await createOutput(process.stdout).write(`${JSON.stringify(object, null, 2)}\n`);
  } else if (code === exitCodes.succeeded)
    await createOutput(process.stdout).write(`${stripControls(outcome.message)}\n`);
  else await createOutput(process.stderr).write(messageLines([outcome.message]));
  return code;
}
