import {
  type AgentFileRefusal,
  type CatalogOptions,
  changeAgentFile,
  checkAgentText,
  checkNewAgent,
  createAgentFile,
  listAgents,
  readAgentText,
  reportAgent,
  UserError,
} from "../../app/index.ts";
import { stripControls } from "../../lib/index.ts";
import type { AgentFileCheck, AgentReport, Diagnostic, WrittenAgent } from "../../protocol/index.ts";
import { clientText } from "../client-text.ts";
import { problem } from "../http/problem.ts";
import { type Route, route } from "../http/route.ts";
import type { ServerContext } from "../server-context.ts";
import { loadServedSettings } from "../sessions/open-served.ts";
import type { Project } from "../sessions/projects.ts";
import {
  agentCatalog,
  agentFileCheck,
  agentReport,
  changedAgentFile,
  checkedAgent,
  definitionParameters,
  newAgentFile,
  workerQuery,
  writtenAgent,
} from "./schemas.ts";

/**
 * Routes that list, explain, check and write a directory's agents. Writing needs the `approve` scope, because a
 * definition can give an agent tools, and agents' commands may know a token without that scope.
 */
export function agentRoutes({ home, environment, projects }: ServerContext): readonly Route[] {
  const placeOf = async (project: Project): Promise<CatalogOptions> => {
    const worker = projects.workerOf(project);
    const settings = worker && (await loadServedSettings({ project, worker }, { home, environment }));
    // The settings decide which agents are available. Whether the directory is trusted depends on the worker.
    return { cwd: project.root, worker, settings, home, environment, trust: false };
  };
  /** Returns a directory in which files can be written. */
  const writable = (worker: string | undefined): Promise<CatalogOptions> => {
    const project = projects.choose(worker);
    if (!project.isRemote) return placeOf(project);
    throw problem(
      "refused",
      `The directory is on the worker ${project.name}, where the server does not write agent files. Run "retinue agents new" there.`,
    );
  };
  return [
    route({
      method: "GET",
      path: "/agent",
      scope: "read",
      summary: "Lists the agents that can be started in a worker's directory, with problems in their files.",
      query: workerQuery,
      response: { status: 200, schema: agentCatalog },
      handle: async ({ query: { worker } }) => listAgents(await placeOf(projects.choose(worker))),
    }),
    route({
      method: "POST",
      path: "/agent",
      scope: "approve",
      summary: "Writes the file of a new agent to the directory. Never replaces a file.",
      body: newAgentFile,
      response: { status: 201, schema: writtenAgent },
      handle: async ({ body: { worker, draft } }) => written(await createAgentFile(draft, await writable(worker))),
    }),
    route({
      method: "POST",
      path: "/agent/check",
      scope: "read",
      summary: "Checks an agent file that has not been written yet, as `retinue agents lint` does. Changes nothing.",
      body: checkedAgent,
      response: { status: 200, schema: agentFileCheck },
      handle: async ({ body: { worker, draft, agent = "", text = "" } }) => {
        const place = await placeOf(projects.choose(worker));
        return cleanCheck(await (draft ? checkNewAgent(draft, place) : checkAgentText(agent, text, place)));
      },
    }),
    route({
      method: "GET",
      path: "/agent/{agent}",
      scope: "read",
      summary: "Explains an agent: its fields, the tools that it gets, its tokens, and problems in its definition.",
      parameters: definitionParameters,
      query: workerQuery,
      response: { status: 200, schema: agentReport },
      handle: async ({ parameters: { agent }, query: { worker }, access }) => {
        const project = projects.choose(worker);
        const place = await placeOf(project);
        const report = await reportAgent(agent, place).catch(unknownAgent);
        const mayChange = access.scopes.has("approve") && !project.isRemote && report.source === "project";
        const content = mayChange ? await readAgentText(report.file, place) : undefined;
        return { ...cleanReport(report), ...content };
      },
    }),
    route({
      method: "POST",
      path: "/agent/{agent}/file",
      scope: "approve",
      summary: "Replaces one of the directory's agent files, if its content still has the given hash.",
      parameters: definitionParameters,
      body: changedAgentFile,
      response: { status: 200, schema: writtenAgent },
      handle: async ({ parameters: { agent: name }, body: { worker, text, hash } }) =>
        written(await changeAgentFile({ name, text, hash }, await writable(worker))),
    }),
  ];
}

function written(result: ({ readonly ok: true } & WrittenAgent) | AgentFileRefusal): WrittenAgent {
  if (!result.ok) throw problem(result.code, clientText(result.message));
  const { ok: _, ...agent } = result;
  return agent;
}

function unknownAgent(error: unknown): never {
  if (!(error instanceof UserError) || error.code !== "agent") throw error;
  throw problem("unknown_agent", clientText(`${error.message}. ${error.fix ?? ""}`));
}

function cleanCheck({ report, diagnostics, ...check }: AgentFileCheck): AgentFileCheck {
  return { ...check, diagnostics: diagnostics.map(cleanDiagnostic), report: report && cleanReport(report) };
}

/** Rewrites mentions of library options for clients. */
function cleanReport(report: AgentReport): AgentReport {
  const clean = (text: string): string => stripControls(clientText(text));
  return { ...report, notices: report.notices.map(clean), diagnostics: report.diagnostics.map(cleanDiagnostic) };
}

function cleanDiagnostic(diagnostic: Diagnostic): Diagnostic {
  const { message, fix } = diagnostic;
  return {
    ...diagnostic,
    message: stripControls(clientText(message)),
    fix: fix === undefined ? undefined : stripControls(clientText(fix)),
  };
}
