import { join } from "node:path";
import {
  listSessions,
  refuseAgentCommand,
  showAgent,
  stateDirectory,
  unpricedModel,
  waitingRequests,
} from "../../app/index.ts";
import { createId, stripControls, UserError } from "../../lib/index.ts";
import { type PermissionMode, permissionModes, type SessionId } from "../../protocol/index.ts";
import { nextTimes, openSchedules, parseWhen, type Schedule, type ScheduleStore } from "../../schedules/index.ts";
import { exitCodes } from "../exit-codes.ts";
import { printHelp } from "../help/print-help.ts";
import { type FoundServer, findOwnServer } from "../host/own-server.ts";
import { createOutput, messageLines } from "../output.ts";
import { amount, wholeNumber } from "../print/print-options.ts";
import {
  directoryOption,
  helpOption,
  type OptionKinds,
  type ReadOptions,
  readVerb,
  usageError,
} from "../read-options.ts";
import { chosenDirectory } from "../real-directory.ts";
import { formatAge, renderTable } from "./listing.ts";

const verbs = {
  list: { json: {}, help: helpOption },
  add: {
    print: { value: "PROMPT", short: "p" },
    cwd: directoryOption,
    agent: { value: "NAME" },
    model: { value: "NAME", short: "m" },
    "permission-mode": { value: "MODE", choices: permissionModes },
    "max-turns": { value: "N" },
    "max-cost": { value: "USD" },
    "max-tokens": { value: "N" },
    "time-zone": { value: "NAME" },
    json: {},
    help: helpOption,
  },
  run: { json: {}, help: helpOption },
  pause: { json: {}, help: helpOption },
  resume: { json: {}, help: helpOption },
  remove: { json: {}, help: helpOption },
} satisfies Record<string, OptionKinds>;

/** Runs `retinue schedule list|add|run|pause|resume|remove`. */
export async function schedule(argv: readonly string[]): Promise<number> {
  const read = readVerb("schedule", argv, { verbs });
  if ("kind" in read) return printHelp(read.topic);
  const { verb, options } = read;
  const home = stateDirectory(process.env);
  const store = openSchedules(join(home, "schedules.json"));
  const { write } = createOutput(process.stdout);
  const json = options.has("json");
  if (verb === "list") {
    const all = store.list();
    await createOutput(process.stderr).write(messageLines(store.problems()));
    await write(json ? toJson(all.map(listed)) : renderSchedules(all, home));
    return exitCodes.succeeded;
  }
  refuseAgentCommand("change schedules");
  const changed = verb === "add" ? await add(options, store) : await change(verb as Change, options, store);
  if (json) await write(toJson(listed(changed)));
  else await write(`${describe(verb, changed, await findOwnServer(home, changed.cwd))}\n`);
  return exitCodes.succeeded;
}

async function add(options: ReadOptions, store: ScheduleStore): Promise<Schedule> {
  const [text, ...more] = options.positionals;
  if (text === undefined || more.length > 0)
    throw usageError(
      '"schedule add" needs the times as one argument',
      'For example: retinue schedule add "every day 7:00" -p "…".',
    );
  const prompt = options.value("print");
  if (prompt === undefined) throw usageError("There is no prompt", `Add one: retinue schedule add "${text}" -p "…".`);
  const cwd = chosenDirectory(options.value("cwd"));
  const agent = options.value("agent");
  if (agent !== undefined)
    await showAgent(agent, { cwd, home: stateDirectory(process.env), environment: process.env, trust: false }).catch(
      withoutTrustOption,
    );
  const model = options.value("model");
  const maxCost = amount(options, "max-cost");
  if (maxCost !== undefined && agent === undefined) refuseUnpriced(cwd, model);
  const timeZone = options.value("time-zone") ?? Intl.DateTimeFormat().resolvedOptions().timeZone;
  const added: Schedule = {
    id: newScheduleId(store),
    text,
    when: parseWhen(text, timeZone),
    cwd,
    session: {
      prompt,
      agent,
      model,
      permissionMode: options.value("permission-mode") as PermissionMode | undefined,
      maxTurns: wholeNumber(options, "max-turns"),
      maxCost,
      maxTokens: wholeNumber(options, "max-tokens"),
    },
    createdAt: Date.now(),
  };
  await store.add(added);
  return added;
}

/** Throws a `UserError` if the limit in dollars can't be enforced, because every session would then end immediately. */
function refuseUnpriced(cwd: string, model: string | undefined): void {
  const unpriced = unpricedModel({ cwd, model, home: stateDirectory(process.env), environment: process.env });
  if (unpriced === undefined) return;
  throw usageError(
    `The price of the model ${unpriced} is unknown, so --max-cost can't be enforced`,
    `Use --max-tokens instead, choose another model, or add the price of ${unpriced} to the provider's "prices" in your settings.`,
  );
}

/** Replaces the hint about the `trusted` option, because servers have no such option. */
function withoutTrustOption(error: unknown): never {
  if (!(error instanceof UserError)) throw error;
  const { message, code, fix, exitCode } = error;
  const text = (given: string): string =>
    given.replace("To trust it for one run, use the `trusted` option", "To trust it, run `retinue trust add`");
  throw new UserError(text(message), { code, exitCode, fix: fix && text(fix) });
}

/** Returns a short id that no other schedule has. */
function newScheduleId(store: ScheduleStore): string {
  const taken = new Set(store.list().map(({ id }) => id));
  for (;;) {
    const id = `s${createId().slice(-5).toLowerCase()}`;
    if (!taken.has(id)) return id;
  }
}

type Change = "run" | "pause" | "resume" | "remove";

async function change(verb: Change, { positionals }: ReadOptions, store: ScheduleStore): Promise<Schedule> {
  const [reference, ...more] = positionals;
  if (reference === undefined || more.length > 0)
    throw usageError(`"schedule ${verb}" needs one id`, '"retinue schedule list" shows the ids.');
  const found = store.find(reference);
  if (verb === "remove") await store.remove(found.id);
  else await store.change(found.id, changes[verb]);
  return { ...found, ...changes[verb](found) };
}

const changes: Readonly<Record<Change, (schedule: Schedule) => Schedule>> = {
  run: (schedule) => ({ ...schedule, requestedAt: Date.now() }),
  pause: (schedule) => ({ ...schedule, paused: true }),
  resume: (schedule) => ({ ...schedule, paused: false }),
  remove: (schedule) => schedule,
};

function describe(verb: string, changed: Schedule, server: FoundServer | undefined): string {
  const { id, text, cwd } = changed;
  const name = `${id} (${stripControls(text)})`;
  if (verb === "remove") return `Removed schedule ${name}.`;
  if (verb === "pause") return `Paused schedule ${name}. To continue: retinue schedule resume ${id}`;
  if (verb === "run" && server?.serves)
    return `The server at ${server.url} will start schedule ${name} within 15 seconds.`;
  if (verb === "run") return `Schedule ${name} is waiting for a server. ${servedBy(changed, server)}`;
  const next = nextTime(changed);
  const when = next === undefined ? "" : ` It is next due on ${formatTime(next, changed)}.`;
  const budget = changed.session.maxCost ?? changed.session.maxTokens;
  const limit = budget === undefined ? " It has no spending limit; --max-cost sets one." : "";
  const said = `${verb === "add" ? "Added" : "Resumed"} schedule ${name} for ${stripControls(cwd)}.${when}${limit}`;
  return `${said}\n${servedBy(changed, server)}`;
}

/** Says which server starts a schedule's sessions, or how to start a server. */
function servedBy({ cwd }: Schedule, server: FoundServer | undefined): string {
  if (server?.serves) return `The server at ${server.url} runs it.`;
  const directory = stripControls(cwd);
  if (server === undefined) return `It runs while a server serves its directory: retinue serve --project ${directory}`;
  return `The server at ${server.url} does not serve its directory. Start it again with --project ${directory}.`;
}

/** A schedule as `--json` prints it. */
function listed(schedule: Schedule) {
  const next = nextTime(schedule);
  return { ...schedule, next: next === undefined ? undefined : new Date(next).toISOString() };
}

function nextTime({ when, paused }: Schedule): number | undefined {
  return paused ? undefined : nextTimes(when, Date.now(), 1)[0];
}

function renderSchedules(all: readonly Schedule[], home: string): string {
  if (all.length === 0) return 'There are no schedules. Add one: retinue schedule add "every day 7:00" -p "…"\n';
  const rows = all.map((each) => {
    const next = nextTime(each);
    return [
      each.id,
      each.text,
      next === undefined ? "paused" : formatTime(next, each),
      lastOf(each, home),
      each.cwd,
      each.session.prompt,
    ];
  });
  return renderTable([["ID", "TIMES", "NEXT", "LAST", "DIRECTORY", "PROMPT"], ...rows], process.stdout.columns ?? 0);
}

function lastOf(schedule: Schedule, home: string): string {
  const { last } = schedule;
  if (last === undefined) return "never";
  const { at, sessionId, outcome, problem, skippedAt } = last;
  const now = Date.now();
  const how = outcome ?? (sessionId === undefined ? undefined : stateOf(schedule, sessionId, home));
  const why = problem?.replace(/\.$/, "");
  const text = [how, why].filter((part) => part !== undefined).join(": ") || "starting";
  const skipped = skippedAt === undefined ? "" : `; skipped ${formatAge(now - skippedAt)} ago`;
  const when = at > now ? "at an unknown time, because the clock was ahead" : `${formatAge(now - at)} ago`;
  return `${text}, ${when}${sessionId === undefined ? "" : ` (${sessionId.slice(-6)})`}${skipped}`;
}

/** Returns a session's state from its files, because a later server may have continued it. */
function stateOf({ cwd }: Schedule, sessionId: SessionId, home: string): string {
  const session = listSessions({ home, cwd }).find(({ id }) => id === sessionId);
  if (session === undefined) return "deleted";
  if (waitingRequests({ home, sessionId }).length > 0) return "waiting for approval";
  if (session.inUse) return session.lastOutcome ?? "running";
  return session.lastReason === "parked" ? "parked" : (session.lastOutcome ?? "cut off");
}

/** Formats a time in the schedule's own time zone. */
function formatTime(time: number, { when: { timeZone } }: Schedule): string {
  const parts = new Intl.DateTimeFormat("sv-SE", { timeZone, dateStyle: "short", timeStyle: "short" });
  return `${parts.format(time)} ${timeZone}`;
}

function toJson(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}
