import {
  type CatalogOptions,
  isTrusted,
  lintAgents,
  listAgents,
  listSkills,
  reportCache,
  type Session,
  showAgent,
  stateDirectory,
  whyNotNew,
  writeNewAgent,
} from "../../app/index.ts";
import { homeDirectory } from "../../lib/index.ts";
import type { HostCommand } from "../../terminal/index.ts";
import { renderAgent } from "../commands/agents/render.ts";
import { renderReport } from "../commands/cache.ts";
import { renderDiagnostics } from "../commands/diagnostics.ts";
import type { PrintOptions } from "../print/print-options.ts";

/** Returns the commands for a session in this process: those that show its state, and one for each skill. */
export function createHostCommands(session: Session, options: PrintOptions): () => readonly HostCommand[] {
  const { cwd } = session;
  const place: CatalogOptions = {
    cwd,
    home: stateDirectory(process.env),
    environment: process.env,
    trust: options.trust,
  };
  let skills: readonly HostCommand[] = [];
  void listSkills(place).then(
    (found) => {
      skills = found.map(skillCommand);
    },
    // The session itself reports problems with its files.
    () => undefined,
  );
  const commands: readonly HostCommand[] = [
    agentsCommand(place),
    {
      name: "cache",
      about: "what the prompt cache has saved",
      run: async (_, { columns }) => {
        if (session.transcriptPath === undefined) return "This session stores nothing on disk, so there is no report.";
        return renderReport(await reportCache(session.transcriptPath), columns);
      },
    },
  ];
  return () => [...commands, ...skills];
}

/** Lists agents, shows one, checks all of them, creates one and opens one in an editor. */
function agentsCommand(place: CatalogOptions): HostCommand {
  return {
    name: "agents",
    about: "list, check, create and edit agents",
    choices: async () => {
      const { agents } = await listAgents(place);
      return agents.map(({ name, description, source }) => ({
        value: name,
        label: name,
        about: description,
        facts: source,
      }));
    },
    run: async (argument, { edit }) => {
      const [verb = "", name = "", ...rest] = argument.split(/\s+/);
      if (verb === "check") {
        const { findings } = await lintAgents([], place);
        return findings.length === 0 ? "No problems found." : renderDiagnostics(findings);
      }
      if (verb === "new") {
        if (name === "" || rest.length === 0)
          return "A new agent needs a name and a description: /agents new reviewer Reviews changes for bugs.";
        const base = place.cwd;
        const problem = whyNotNew(name, base);
        if (problem !== undefined) return problem;
        const path = writeNewAgent({ name, description: rest.join(" ") }, base);
        await edit(path);
        if (place.trust || isTrusted(place)) return `Wrote ${path}. It takes effect with the next prompt.`;
        return `Wrote ${path}. It is not used yet, because this directory is not trusted. Run !retinue trust add to trust all of its files. Then the agent takes effect with the next prompt.`;
      }
      if (verb === "edit") {
        const { file } = await showAgent(name, place);
        if (file === null) return `${name} is built in. Create an agent with the same name to replace it.`;
        await edit(file);
        return `${file.replace(homeDirectory(), "~")} will be read again with the next prompt.`;
      }
      if (verb === "list") return "/agents without a name lists the agents.";
      return renderAgent(await showAgent(verb, place));
    },
  };
}

/** A skill that the user starts. The text after its name replaces `$ARGUMENTS`, or is appended. */
function skillCommand({
  name,
  description,
  body,
}: {
  readonly name: string;
  readonly description: string;
  readonly body: string;
}): HostCommand {
  return {
    name,
    about: description,
    isQuiet: true,
    run: async (argument, { prompt }) => {
      const text = body.includes("$ARGUMENTS") ? body.replaceAll("$ARGUMENTS", argument) : `${body}\n\n${argument}`;
      const about = argument === "" ? "" : ` for ${JSON.stringify(argument)}`;
      // The terminal recognizes this form and shows what the user typed instead.
      prompt(`Follow the skill "${name}"${about}:\n\n${text.trim()}`);
      return "";
    },
  };
}
