import { permissionCommands } from "../../../app/index.ts";
import { stripControls } from "../../../lib/index.ts";
import type { Command } from "../../command.ts";
import { exitCodes } from "../../exit-codes.ts";
import type { Output } from "../../output.ts";

type ExplainCommand = Extract<Command, { kind: "agents.explain" }>;
type Permissions = Awaited<ReturnType<typeof permissionCommands>>;
type Place = Parameters<Permissions["explainCall"]>[0]["place"];
type Explained = Awaited<ReturnType<Permissions["explainCall"]>>;

/** `retinue agents explain NAME 'Tool(args)'`: what would be decided, and by which rule. */
export async function explainAgent(
  command: ExplainCommand,
  { place, output }: { readonly place: Place; readonly output: Output },
): Promise<number> {
  const { explainCall } = await permissionCommands();
  const { agent, call, json, mode, background } = command;
  const explained = await explainCall({ agent, call, place, background, ...(mode === undefined ? {} : { mode }) });
  await output.write(json ? `${JSON.stringify(explained, null, 2)}\n` : render(explained, call));
  return exitCodes.succeeded;
}

function render({ agent, source, mode, decision, unattended, notices }: Explained, call: string): string {
  const { effect, rule, scope, file, reason } = decision;
  const lines = [
    `${effect}: ${call} by ${agent}${source === null ? "" : ` (${source})`}, in mode ${mode}`,
    `rule: ${rule}`,
    `from: ${scope}${file === undefined ? "" : `, ${file}`}`,
    `why: ${reason}`,
    ...(effect === "ask" ? [`where nobody can answer: ${unattended.effect}`] : []),
    ...notices.map((notice) => `note: ${notice}`),
  ];
  return lines.map((line) => `${stripControls(line)}\n`).join("");
}
