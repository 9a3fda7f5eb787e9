import { boundText } from "../lib/index.ts";
import type { HookOutcome, HookRun } from "../ports/index.ts";
import type { Effect, HookAnswer, HookEvent, HookSource, JsonObject, JsonValue } from "../protocol/index.ts";
import { mistakenText, mistakenValue } from "./output-mistakes.ts";

/** Maximum length of text from a hook that is shown to the model or the user. */
const LONGEST_TEXT = 10_000;

/** Maximum length of the text that replaces a result, the same as for results of tools. */
const LONGEST_OUTPUT = 30_000;

/** Exit code that a hook uses to block. */
const BLOCKED = 2;

/** Interprets the exit code and the output of a hook's command for an event. `name` identifies the hook in messages. */
export function readAnswer(event: HookEvent, run: HookRun, name: string): HookAnswer {
  if (!run.ended) return failed(event, `${capital(name)} did not finish: ${run.failure}`);
  if (run.code === 0) return readOutput(event, run.stdout, name);
  const message = bounded(run.stderr);
  if (run.code !== BLOCKED) {
    const output = message === "" ? "" : ` Its output: ${message}`;
    return failed(event, `${capital(name)} exited with code ${run.code}.${output}`);
  }
  if (event === "PreToolUse" || event === "Stop")
    return { decision: "deny", reason: message || `${capital(name)} blocked this without giving a reason.` };
  return failed(event, message || `${capital(name)} exited with code ${BLOCKED}.`);
}

/**
 * Returns the answer for a hook that failed. Before a call, the answer denies the call; after a call, it contains a
 * message for the model; otherwise, it contains a message for the user.
 */
export function failed(event: HookEvent, message: string): HookAnswer {
  if (event === "PreToolUse") return { decision: "deny", reason: `${message} The call was not made.`, notice: message };
  if (event === "PostToolUse") return { context: message };
  return { notice: message };
}

function readOutput(event: HookEvent, stdout: string, name: string): HookAnswer {
  const text = stdout.trim();
  const value = text.startsWith("{") ? parsed(text) : undefined;
  if (value !== undefined) return readObject(event, value, name);
  const mistake = decides.has(event) ? mistakenText(text) : undefined;
  const context = text !== "" && readsPlainText.has(event) ? bounded(text) : undefined;
  if (mistake === undefined) return context === undefined ? {} : { context };
  const notice = `${capital(name)} returned ${mistake}${judgesCalls.has(event) ? COUNTS_AS_DENY : ""}. Print one JSON object and nothing else.`;
  return judgesCalls.has(event) ? { decision: "deny", reason: notice, notice } : { context, notice };
}

const COUNTS_AS_DENY = ", which counts as deny";

/** Events whose hooks decide whether a call is made. */
const judgesCalls: ReadonlySet<HookEvent> = new Set(["PreToolUse", "PermissionRequest"]);

/** Events whose hooks decide something. */
const decides: ReadonlySet<HookEvent> = new Set([...judgesCalls, "PostToolUse", "Stop", "UserPromptSubmit"]);

/** Events for which output that is not JSON becomes context for the model. */
const readsPlainText: ReadonlySet<HookEvent> = new Set(["SessionStart", "UserPromptSubmit", "SubagentStart"]);

function readObject(event: HookEvent, value: JsonObject, name: string): HookAnswer {
  const specific = objectOf(value["hookSpecificOutput"]);
  const nested = objectOf(specific["decision"]);
  const given = [value, specific].flatMap((place) => [place["decision"], place["permissionDecision"]]).filter(isGiven);
  const decisions = given.map((each) => effectOf(each) ?? "deny");
  const unknown = given.find((each) => effectOf(each) === undefined);
  // For a Stop hook, `continue: false` means that the agent may stop.
  if (value["continue"] === false && event !== "Stop") decisions.push("deny");
  const input = [specific["updatedInput"], nested["updatedInput"], value["updatedInput"]].find(isGiven);
  const isLost = input !== undefined && !isObject(input);
  // The hook wanted to change the call, so the call must not run as the model wrote it.
  if (isLost) decisions.push("deny");
  const mistake = mistakenValue(value);
  if (mistake !== undefined && judgesCalls.has(event)) decisions.push("deny");
  const decision = strictest(decisions);
  const problems = [
    ...(unknown === undefined
      ? []
      : [`the unknown decision ${short(unknown)}, which counts as deny. Use allow, deny, ask or defer.`]),
    ...(isLost ? [`${short(input)} as updatedInput, which counts as deny. It must be an object.`] : []),
    ...(mistake === undefined ? [] : [`${mistake}${judgesCalls.has(event) ? COUNTS_AS_DENY : ""}.`]),
  ];
  const problem = joined(problems.map((each) => `${capital(name)} returned ${each}`));
  const reason =
    textOf(specific["permissionDecisionReason"] ?? nested["message"] ?? value["reason"] ?? value["stopReason"]) ??
    problem;
  const context = textOf(specific["additionalContext"] ?? value["additionalContext"]);
  // After a call, there is nothing left to deny, so the reason becomes context for the model.
  const forModel =
    event === "PostToolUse" && decision === "deny" ? [context, reason].filter(Boolean).join("\n") : context;
  return {
    decision,
    reason,
    input: isObject(input) ? input : undefined,
    output: event === "PostToolUse" ? outputIn(specific, value) : undefined,
    context: forModel || undefined,
    notice: joined([textOf(value["systemMessage"]), problem]),
  };
}

function short(value: JsonValue): string {
  return JSON.stringify(value).slice(0, 100);
}

function isGiven(value: JsonValue | undefined): value is JsonValue {
  return value !== undefined && value !== null && value !== "";
}

/**
 * Reads a decision, which can also be the `behavior` of an object. `defer` leaves the decision to someone outside of
 * the program, as an approval does. Returns undefined for an unknown decision.
 */
function effectOf(value: JsonValue): Effect | undefined {
  const word = isObject(value) ? value["behavior"] : value;
  return typeof word === "string" && Object.hasOwn(effects, word) ? effects[word] : undefined;
}

const effects: Readonly<Record<string, Effect>> = {
  allow: "allow",
  approve: "allow",
  ask: "ask",
  defer: "ask",
  deny: "deny",
  block: "deny",
};

/** Returns the text that replaces a call's result. `updatedMCPToolOutput` is the earlier name. */
function outputIn(...places: readonly JsonObject[]): string | undefined {
  const given = places.flatMap((place) => [place["updatedToolOutput"], place["updatedMCPToolOutput"]]);
  const output = given.find((value) => value !== undefined && value !== null);
  if (output === undefined) return undefined;
  // Providers reject empty texts.
  return boundText(outputText(output), { maxCharacters: LONGEST_OUTPUT }).text.trim() || "(no output)";
}

/**
 * Converts a result to text: a text, a list of blocks, an object with such a list as its `content`, or the output of a
 * command. Anything else becomes JSON, because ignoring it would show the model what the hook wanted to replace.
 */
function outputText(value: JsonValue): string {
  if (typeof value === "string") return value;
  if (Array.isArray(value)) return value.map(outputText).join("\n");
  if (!isObject(value)) return JSON.stringify(value);
  const { type, text, content, stdout, stderr } = value;
  if (type === "image") return "[image]";
  if (typeof text === "string") return text;
  if (typeof content === "string" || Array.isArray(content)) return outputText(content);
  if (typeof stdout === "string")
    return [stdout, stderr].filter((part) => typeof part === "string" && part !== "").join("\n");
  return JSON.stringify(value);
}

function strictest(decisions: readonly Effect[]): Effect | undefined {
  return (["deny", "ask", "allow"] as const).find((effect) => decisions.includes(effect));
}

function parsed(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function objectOf(value: unknown): JsonObject {
  return isObject(value) ? value : {};
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" && value.trim() !== "" ? bounded(value) : undefined;
}

function bounded(text: string): string {
  return boundText(text.trim(), { maxCharacters: LONGEST_TEXT }).text;
}

function capital(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export interface SourcedAnswer {
  readonly source: HookSource;
  readonly answer: HookAnswer;
}

/**
 * Combines the answers of several hooks: the strictest decision with the reasons given by the hooks that made it, the
 * last changed input and the last changed output in configuration order, and all contexts and notices.
 */
export function foldAnswers(sourced: readonly SourcedAnswer[]): HookOutcome {
  const answers = sourced.map(({ answer }) => answer);
  const decision = strictest(answers.flatMap((answer) => answer.decision ?? []));
  const deciding = sourced.filter(({ answer }) => decision !== undefined && answer.decision === decision);
  const by = deciding.map(({ source }) => source);
  return {
    ran: sourced.length,
    decision,
    allowedBy: decision === "allow" ? (by.includes("user") ? "user" : (by[0] ?? "project")) : undefined,
    reason: joined(deciding.map(({ answer }) => answer.reason)),
    input: answers.findLast((answer) => answer.input !== undefined)?.input,
    output: answers.findLast((answer) => answer.output !== undefined)?.output,
    context: joined(answers.map((answer) => answer.context)),
    notices: answers.flatMap(({ notice }) => notice ?? []),
  };
}

/**
 * Combines the outcomes of the same hooks for the names that a call's paths have. A denial or a question about one name
 * holds for the call; an approval holds only if it is for every name.
 */
export function foldOutcomes(outcomes: readonly HookOutcome[]): HookOutcome {
  const [first] = outcomes;
  if (first !== undefined && outcomes.length === 1) return first;
  const strict = strictest(outcomes.flatMap(({ decision }) => decision ?? []));
  const isAllowed = outcomes.every(({ decision }) => decision === "allow");
  const decision = strict === "allow" && !isAllowed ? undefined : strict;
  const deciding = outcomes.filter((outcome) => decision !== undefined && outcome.decision === decision);
  const allowedBy = deciding.find((outcome) => outcome.allowedBy !== "user")?.allowedBy ?? deciding[0]?.allowedBy;
  return {
    ran: Math.max(...outcomes.map(({ ran }) => ran)),
    decision,
    allowedBy,
    reason: joined([...new Set(deciding.map(({ reason }) => reason))]),
    input: outcomes.findLast(({ input }) => input !== undefined)?.input,
    output: outcomes.findLast(({ output }) => output !== undefined)?.output,
    context: joined([...new Set(outcomes.map(({ context }) => context))]),
    notices: [...new Set(outcomes.flatMap(({ notices }) => notices))],
  };
}

function joined(texts: readonly (string | undefined)[]): string | undefined {
  const present = texts.filter((text) => text !== undefined && text !== "");
  return present.length === 0 ? undefined : present.join("\n");
}
