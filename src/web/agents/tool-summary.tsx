import type { ReactNode } from "react";
import { plural } from "../../lib/portable.ts";
import type { AgentReport } from "../../protocol/index.ts";

/** Shows which tools an agent asks for, which of them it gets, and why it does not get the others. */
export function ToolSummary({ report }: { readonly report: AgentReport }): ReactNode {
  const { tools, disallowedTools = [], toolReport, diagnostics } = report;
  const { hasWildcard, resolvedTools, withheld = [], invalidTools } = toolReport;
  const hintFor = (tool: string): string | undefined =>
    diagnostics.find((each) => each.tool === tool.replace(/\(.*$/s, "").trim())?.fix;
  const refused = [
    ...withheld,
    ...invalidTools
      .filter((each) => !withheld.some(({ tool }) => each === tool || each.startsWith(`${tool}(`)))
      .map((tool) => ({ tool, why: "it is not available, or its specifier is not supported" })),
    // The report is made without MCP servers, so it can't say anything about their tools.
  ].filter(({ tool }) => !tool.startsWith(MCP));
  const fromServers = hasWildcard ? [] : invalidTools.filter((each) => each.startsWith(MCP));
  return (
    <dl className="tool-summary">
      <div>
        <dt>Requested</dt>
        <dd>
          {hasWildcard ? "All tools" : tools?.length === 0 ? "No tools" : <Tools names={tools ?? []} />}
          {disallowedTools.length > 0 && (
            <span className="except">
              except <Tools names={disallowedTools} />
            </span>
          )}
        </dd>
      </div>
      <div>
        <dt>Granted</dt>
        <dd>
          {resolvedTools.length === 0 ? "None" : <Tools names={resolvedTools} />}
          <span className="dim count-words">{plural(resolvedTools.length, "tool")}</span>
        </dd>
      </div>
      {(hasWildcard || fromServers.length > 0) && (
        <div>
          <dt>MCP</dt>
          <dd>
            <Tools names={fromServers} />{" "}
            <span className="dim">MCP tools are known only in a session, so they are not checked here.</span>
          </dd>
        </div>
      )}
      {refused.length > 0 && (
        <div>
          <dt>Withheld</dt>
          <dd>
            <ul>
              {refused.map(({ tool, why }) => (
                <li key={tool}>
                  <code>{tool}</code> <span className="dim">{why}.</span> {hintFor(tool)}
                </li>
              ))}
            </ul>
          </dd>
        </div>
      )}
    </dl>
  );
}

/** Prefix of the names of MCP tools. */
const MCP = "mcp__";

function Tools({ names }: { readonly names: readonly string[] }): ReactNode {
  return (
    <span className="tools">
      {names.map((name) => (
        <code key={name} className="tool">
          {name}
        </code>
      ))}
    </span>
  );
}
