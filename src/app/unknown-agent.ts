import { UserError } from "../lib/index.ts";
import type { AgentCatalog } from "./agent-catalog.ts";

/** Names the nearest ones, and why the one that was meant may not be among them. */
export function unknownAgent(name: string, { catalog, diagnostics, trusted }: AgentCatalog): UserError {
  const broken = diagnostics.find(({ file, severity }) => severity === "error" && file.endsWith(`/${name}.md`));
  const untrusted = trusted ? "" : " The project's own were not read, since this directory is not trusted (--trust).";
  const nearest = `Nearest: ${catalog.nearest(name, 10).join(", ")}.${untrusted}`;
  const cure = broken ? `${broken.file}:${broken.line}: ${broken.message} ${broken.fix ?? ""}`.trim() : nearest;
  return new UserError(`There is no agent "${name}"`, { code: "agent", cure, exitCode: 2 });
}
