import type { ResolvedAgent } from "../agents/index.ts";
import { UserError } from "../lib/index.ts";

const delegation: ReadonlySet<string> = new Set(["Task", "TaskOutput", "TaskStop", "SendMessage"]);

/** An agent that only gives work to others: they are still measured by all that it might have had itself. */
export function coordinate(agent: ResolvedAgent): ResolvedAgent {
  const { head, policy } = agent;
  const pool = policy.pool.filter((tool) => delegation.has(tool));
  if (!pool.includes("Task")) throw nobodyThere();
  return {
    ...agent,
    head: { ...head, tools: head.tools.filter(({ name }) => pool.includes(name)), system: `${head.system}\n\n${role}` },
    policy: { ...policy, pool },
    lends: policy,
  };
}

const role =
  "You coordinate: you have no tools but those that give work to agents. Divide what is asked into pieces that agents can do without knowing this conversation, start independent ones side by side, check their reports against each other, have gaps closed, and answer yourself.";

function nobodyThere(): UserError {
  const cure = "Leave --coordinator out, or let it use Task (permissions, tools of its agent, subagents.maxDepth).";
  return new UserError("A coordinator has nobody to give work to here", { code: "coordinator", cure, exitCode: 2 });
}
