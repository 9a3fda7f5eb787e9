import { existsSync } from "node:fs";
import { join } from "node:path";
import { UserError } from "../../lib/index.ts";
import type { SessionId } from "../../protocol/index.ts";
import {
  createScheduler,
  openSchedules,
  type Schedule,
  type Scheduler,
  type SessionActivity,
  type StartedSession,
} from "../../schedules/index.ts";
import type { ServerContext } from "../server-context.ts";
import type { ServerOptions } from "../server-options.ts";

/** Starts scheduled sessions in the served directories on this machine. */
export function startSchedules(
  { home, clock, report }: Pick<ServerOptions, "home" | "clock" | "report">,
  { projects, host, catalog }: Pick<ServerContext, "projects" | "host" | "catalog">,
): Scheduler {
  const projectOf = (cwd: string) => projects.local.find(({ root }) => root === cwd);

  async function start({ id, cwd, session: { prompt, ...choices } }: Schedule): Promise<StartedSession> {
    const project = projectOf(cwd);
    if (!existsSync(cwd))
      throw new UserError(`The directory ${cwd} does not exist`, {
        code: "schedule",
        fix: `Create it again, or remove the schedule: retinue schedule remove ${id}`,
      });
    if (project === undefined) throw new Error(`${cwd} is no longer served.`);
    const served = await host.create(project, { ...choices, unattended: true });
    const ended = host.hold(served, ({ session }) => session.prompt(prompt).result);
    return { sessionId: served.session.id, ended };
  }

  function activity(sessionId: SessionId): SessionActivity | undefined {
    if (!host.has(sessionId) || host.get(sessionId)?.session.state === "idle") return undefined;
    return { requests: catalog.approvals(sessionId).map(({ question }) => question.requestId) };
  }

  const scheduler = createScheduler({
    store: openSchedules(join(home, "schedules.json")),
    clock,
    serves: (cwd) => projectOf(cwd) !== undefined,
    start,
    activity,
    report,
  });
  void scheduler.check();
  return scheduler;
}
