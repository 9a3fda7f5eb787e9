import { boundText } from "../lib/index.ts";
import type { Effect, HookAnswer, HookEvent, JsonObject } from "../protocol/index.ts";
import type { CommandRun } from "./run-command.ts";

/** What a model or a person is given of a hook's words. */
const LONGEST_TEXT = 10_000;

/** The exit code that says no. */
const BLOCKED = 2;

/** What a command's end means, by the event it was run for. `name` is what messages call the hook. */
export function readAnswer(event: HookEvent, run: CommandRun, name: string): HookAnswer {
  if (!run.ended) return failed(event, `${capital(name)} could not be run to its end: ${run.failure}`);
  if (run.code === 0) return readOutput(event, run.stdout);
  const words = bounded(run.stderr);
  if (run.code !== BLOCKED) {
    const said = words === "" ? "" : ` It said: ${words}`;
    return failed(event, `${capital(name)} ended with exit code ${run.code}.${said}`);
  }
  if (event === "PreToolUse" || event === "Stop")
    return { decision: "deny", reason: words || `${capital(name)} said no.` };
  return failed(event, words || `${capital(name)} ended with exit code ${BLOCKED}.`);
}

/** A hook that did not work: before a call it is a no, behind a call the model is told, else the person. */
export function failed(event: HookEvent, message: string): HookAnswer {
  if (event === "PreToolUse")
    return { decision: "deny", reason: `${message} So the call was not made.`, notice: message };
  if (event === "PostToolUse") return { context: message };
  return { notice: message };
}

function readOutput(event: HookEvent, stdout: string): HookAnswer {
  const text = stdout.trim();
  const value = text.startsWith("{") ? parsed(text) : undefined;
  if (value !== undefined) return readObject(event, value);
  return text !== "" && takesText.has(event) ? { context: bounded(text) } : {};
}

/** Where words that are no JSON are meant for the model. */
const takesText: ReadonlySet<HookEvent> = new Set(["SessionStart", "UserPromptSubmit", "SubagentStart"]);

function readObject(event: HookEvent, value: JsonObject): HookAnswer {
  const specific = objectOf(value["hookSpecificOutput"]);
  const nested = objectOf(specific["decision"]);
  const words = [value["decision"], value["permissionDecision"], specific["permissionDecision"], nested["behavior"]];
  const decisions = words.flatMap(effectOf);
  // Only a Stop hook lets an agent end by this.
  if (value["continue"] === false && event !== "Stop") decisions.push("deny");
  const decision = strictest(decisions);
  const reason = textOf(
    specific["permissionDecisionReason"] ?? nested["message"] ?? value["reason"] ?? value["stopReason"],
  );
  const input = specific["updatedInput"] ?? nested["updatedInput"] ?? value["updatedInput"];
  const context = textOf(specific["additionalContext"] ?? value["additionalContext"]);
  // Behind a call there is nothing left to refuse: the reason is what the model should know.
  const told = event === "PostToolUse" && decision === "deny" ? [context, reason].filter(Boolean).join("\n") : context;
  const notice = textOf(value["systemMessage"]);
  return {
    ...(decision === undefined ? {} : { decision }),
    ...(reason === undefined ? {} : { reason }),
    ...(isObject(input) ? { input } : {}),
    ...(told ? { context: told } : {}),
    ...(notice === undefined ? {} : { notice }),
  };
}

/** A word nobody knows is a no: it was meant to decide something. */
function effectOf(word: unknown): Effect[] {
  if (word === undefined || word === null || isObject(word) || word === "defer" || word === "") return [];
  if (word === "allow" || word === "approve") return ["allow"];
  return [word === "ask" ? "ask" : "deny"];
}

/** No beats a question, and a question beats yes. */
export function strictest(decisions: readonly Effect[]): Effect | undefined {
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
