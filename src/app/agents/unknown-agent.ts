import { findSkills } from "../../definitions/index.ts";
import { plural, UserError } from "../../lib/index.ts";
import type { AgentDefinition, Diagnostic } from "../../protocol/index.ts";
import type { AgentCatalog } from "./agent-catalog.ts";

/** Names the nearest ones, and why the one that was meant may not be among them. */
export function unknownAgent(name: string, loaded: AgentCatalog): UserError {
  const { catalog, diagnostics, trusted } = loaded;
  const off = loaded.switchedOff.find((each) => each.name.toLowerCase() === name.toLowerCase());
  if (off !== undefined) {
    const message = `The built-in agent "${off.name}" is switched off`;
    return new UserError(message, { code: "agent", cure: off.reason, exitCode: 2 });
  }
  const errors = diagnostics.filter(({ severity }) => severity === "error");
  const broken = errors.find(({ file }) => file.endsWith(`/${name}.md`));
  const files = new Set(errors.map(({ file }) => file)).size;
  // A file that can't be read may be the one that was meant: nobody knows the name it gives.
  const unread = files === 0 ? "" : ` ${plural(files, "file")} did not load: "retinue agents check" says why.`;
  const untrusted = trusted ? "" : " The project's own were not read, since this directory is not trusted (--trust).";
  const nearest = `Nearest: ${catalog.nearest(name, 10).join(", ")}.${unread}${untrusted}`;
  const cure = broken ? `${broken.file}:${broken.line}: ${broken.message} ${broken.fix ?? ""}`.trim() : nearest;
  return new UserError(`There is no agent "${name}"`, { code: "agent", cure, exitCode: 2 });
}

/** Skills that a definition names and nobody wrote. */
export function missingSkills(
  { name, file = name, skills = [] }: AgentDefinition,
  { snapshot }: AgentCatalog,
): readonly Diagnostic[] {
  return findSkills(snapshot.skills, skills, { file }).diagnostics;
}
