import { isDeepStrictEqual } from "node:util";
import { expandBraces } from "../../lib/index.ts";
import type { WorkerPort } from "../../ports/index.ts";
import type { Policy, ProjectSettings, Rule, RuleScope } from "../../protocol/index.ts";
import type { LiveRules } from "../../runs/index.ts";
import type { SessionOptions } from "./session-options.ts";

/**
 * Keeps a session's rules as its settings files have them now. What became stricter applies at once. What became looser
 * applies only if the file is the user's own; for a project's file, only allow rules that the user has approved apply,
 * and restrictions stay until the session ends, because an agent may have changed the file. Rules from other sources stay
 * as they are, and so do all rules if the session was not opened with the rules in the files.
 */
export function createLiveRules(
  { rules = [], settingsFile, onTrouble }: SessionOptions,
  worker: Pick<WorkerPort, "settings">,
): LiveRules {
  const opened = rules.filter(isFromFile);
  const before = new Set(opened);
  const openedKeys = new Set(opened.map(keyOf));
  const openedTexts = textsByFile(opened);
  let now: readonly Rule[] = opened;
  /** Restrictions that have been removed from the project's files. */
  let lost: readonly Rule[] = [];
  let told: ReadonlySet<string> = new Set();
  let applied = new WeakMap<Policy, Policy>();

  const load = (trust: boolean): Promise<ProjectSettings> => worker.settings({ trust, file: settingsFile });
  const read = async (isTrusting: boolean): Promise<readonly Rule[]> => {
    const loaded = await load(isTrusting);
    report([...loaded.problems, ...loaded.notices]);
    if (loaded.problems.length > 0) return now;
    const fromFiles = loaded.rules.filter(isFromFile);
    if (!isTrusting) return fromFiles;
    // The user trusted the project's files for this session as they were when it was opened.
    const texts = textsByFile(fromFiles);
    const approved = new Set((await load(false)).rules.map(keyOf));
    const isUnchanged = ({ file = "" }: Rule): boolean => texts.get(file) === openedTexts.get(file);
    return fromFiles.filter((rule) => rule.effect !== "allow" || isUnchanged(rule) || approved.has(keyOf(rule)));
  };
  const report = (messages: readonly string[]): void => {
    for (const message of messages) if (!told.has(message)) onTrouble?.(message);
    told = new Set(messages);
  };

  /** Determines how the session was opened: with which trust, or with rules that are not in the files. */
  const opening = (async (): Promise<"trusting" | "cautious" | "fixed"> => {
    for (const trust of [false, true]) {
      const { rules: found, notices } = await load(trust);
      told = new Set(notices);
      if (isDeepStrictEqual(found.filter(isFromFile), opened)) return trust ? "trusting" : "cautious";
    }
    return "fixed";
  })().catch(() => "fixed" as const);

  async function refresh(): Promise<void> {
    const how = await opening;
    if (how === "fixed") return;
    // If the worker can't be reached, the rules stay as they are.
    const fresh = await read(how === "trusting").catch(() => now);
    if (isDeepStrictEqual(fresh, now)) return;
    const change = describeChange(now, fresh);
    const keys = new Set(fresh.map(keyOf));
    lost = [...lost, ...now.filter(isOfProject)].filter((rule) => !keys.has(keyOf(rule)));
    now = fresh;
    applied = new WeakMap();
    if (change !== "") onTrouble?.(change);
  }

  let running: Promise<void> | undefined;
  return {
    refresh: () => {
      // Hundreds of agents may ask in one turn of the event loop. They share the answer.
      running ??= refresh().finally(() =>
        setImmediate(() => {
          running = undefined;
        }),
      );
      return running;
    },
    apply: (policy) => {
      if (now === opened) return policy;
      const known = applied.get(policy);
      if (known !== undefined) return known;
      const own = new Set(policy.rules.map(keyOf));
      // A resumed agent may have lost some of the rules that its session was opened with.
      const wasLost = (rule: Rule): boolean => openedKeys.has(keyOf(rule)) && !own.has(keyOf(rule));
      const fresh = now.filter((rule) => rule.effect !== "allow" || !wasLost(rule));
      const others = policy.rules.filter((rule) => !before.has(rule));
      const changed = { ...policy, rules: [...fresh, ...others, ...lost.flatMap(asFinal)] };
      applied.set(policy, changed);
      return changed;
    },
  };
}

const fileScopes: ReadonlySet<RuleScope> = new Set<RuleScope>(["user", "project", "local"]);

function isFromFile({ scope, file }: Rule): boolean {
  return file !== undefined && fileScopes.has(scope);
}

/** Returns the rules of each file as text, which shows whether a rule or the order of rules has changed. */
function textsByFile(rules: readonly Rule[]): ReadonlyMap<string, string> {
  const texts = new Map<string, string>();
  for (const rule of rules) texts.set(rule.file ?? "", `${texts.get(rule.file ?? "") ?? ""}${keyOf(rule)}\n`);
  return texts;
}

/**
 * Converts a restriction to one that no other line in a `permissions.jsonc` file overrides: a line that denies is the
 * last line, and a line that asks becomes a rule in a list, because as the last line, it would override denials.
 */
function asFinal(rule: Rule): readonly Rule[] {
  if (rule.effect === "deny" || rule.form === undefined) return [rule];
  return (expandBraces(rule.text) ?? [rule.text]).map((text) => ({ ...rule, text, form: undefined }));
}

/** Returns true for restrictions in the project's files. */
function isOfProject({ effect, scope }: Rule): boolean {
  return effect !== "allow" && scope !== "user";
}

function keyOf({ text, effect, scope, file, form }: Rule): string {
  return JSON.stringify([text, effect, scope, file, form]);
}

const MOST_NAMED = 5;

/** Returns a message about added and removed rules; an empty string if only their places in the files have changed. */
function describeChange(before: readonly Rule[], now: readonly Rule[]): string {
  const without = (rules: readonly Rule[], others: readonly Rule[]): readonly Rule[] => {
    const known = new Set(others.map(keyOf));
    return rules.filter((rule) => !known.has(keyOf(rule)));
  };
  const named = (found: readonly Rule[]): string => {
    const texts = found.slice(0, MOST_NAMED).map(({ effect, text }) => `${effect} ${text}`);
    const more = found.length > MOST_NAMED ? ` and ${found.length - MOST_NAMED} more` : "";
    return `${texts.join(", ")}${more}`;
  };
  const gone = without(before, now);
  const added = named(without(now, before));
  const removed = named(gone.filter((rule) => !isOfProject(rule)));
  const kept = named(gone.filter(isOfProject));
  const parts = [
    added && `Added: ${added}.`,
    removed && `Removed: ${removed}.`,
    kept && `Removed, but in force until the session ends: ${kept}.`,
  ].filter(Boolean);
  return parts.length === 0 ? "" : `The permission rules in the settings have changed. ${parts.join(" ")}`;
}
