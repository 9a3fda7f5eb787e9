import type { HelpTopic } from "../command.ts";
import { agents, approvals, cache, retinue, sessions, worktrees } from "./command-pages.ts";
import { config, doctor, permissions, plugins, trust } from "./help-of-setup.ts";

export function helpFor(topic: HelpTopic): string {
  return pages[topic];
}

const pages: Record<HelpTopic, string> = {
  retinue,
  sessions,
  agents,
  plugins,
  trust,
  config,
  worktrees,
  permissions,
  approvals,
  doctor,
  cache,
};
