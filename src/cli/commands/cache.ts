import { cacheCommands, latestSessionId, type SessionSummary, stateDirectory, UserError } from "../../app/index.ts";
import { matchPrefix } from "../../lib/index.ts";
import type { Command } from "../command.ts";
import { exitCodes } from "../exit-codes.ts";
import { sessionByPrefix } from "../find-session.ts";
import { createOutput } from "../output.ts";
import { realDirectory } from "../real-directory.ts";
import { renderExplained, renderReport } from "./cache-render.ts";

type CacheCommand = Extract<Command, { kind: `cache.${string}` }>;

/** `retinue cache report|explain`. */
export async function cache(command: CacheCommand): Promise<number> {
  const output = createOutput(process.stdout, () => undefined);
  const { path } = sessionOf(command);
  await output.write(command.kind === "cache.report" ? await report(command, path) : await explain(command, path));
  return exitCodes.succeeded;
}

async function report({ json }: Extract<Command, { kind: "cache.report" }>, path: string): Promise<string> {
  const { reportCache } = await cacheCommands();
  const found = await reportCache(path);
  return json ? `${JSON.stringify(found, null, 2)}\n` : renderReport(found);
}

async function explain({ json, agent }: Extract<Command, { kind: "cache.explain" }>, path: string): Promise<string> {
  const { explainCache } = await cacheCommands();
  const all = await explainCache(path);
  const agentId = agent === undefined ? undefined : agentIdOf(agent, [...new Set(all.map((one) => one.agentId))]);
  const chosen = agentId === undefined ? all : all.filter((one) => one.agentId === agentId);
  return json ? `${JSON.stringify(chosen, null, 2)}\n` : renderExplained(chosen);
}

/** Without an id the latest of the directory. */
function sessionOf({ id, cwd }: CacheCommand): SessionSummary {
  const home = stateDirectory(process.env);
  if (id !== undefined) return sessionByPrefix({ home, prefix: id });
  const directory = realDirectory(cwd ?? ".");
  const latest = latestSessionId({ home, cwd: directory });
  if (latest !== undefined) return sessionByPrefix({ home, prefix: latest });
  const cure = '"retinue sessions list --all" shows those of other directories.';
  throw new UserError(`There is no session of ${directory}`, { code: "session", cure, exitCode: 2 });
}

function agentIdOf(prefix: string, agentIds: readonly string[]): string {
  const match = matchPrefix(agentIds, prefix);
  if (match.kind === "one") return match.id;
  const cure = `There are ${agentIds.slice(0, 8).join(", ")}${agentIds.length > 8 ? ", …" : ""}.`;
  const problem = match.kind === "many" ? "More than one agent begins" : "No agent with requests begins";
  throw new UserError(`${problem} with "${prefix}"`, { code: "session", cure, exitCode: 2 });
}
