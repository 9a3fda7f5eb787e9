import { relative } from "node:path";
import { type AgentDefinition, type Approval, type Diagnostic, UNAPPROVED } from "../protocol/index.ts";
import { hashApproval } from "../settings/index.ts";

/** A project directory that contains an agent file, and what the user approved in that directory. */
export interface ApprovedDirectory {
  readonly path: string;
  /**
   * Returns the approved hashes for a part of a file. Without this function, the current content counts as approved.
   */
  readonly approvedHashes?: ((kind: string, name: string) => readonly string[]) | undefined;
  /** True if the directory is the workspace, which `retinue trust add` trusts without naming it. */
  readonly isWorkspace: boolean;
}

export interface ApprovedDefinition {
  /** The definition without hooks and MCP servers that are not approved. */
  readonly definition: AgentDefinition;
  /** Approvals that trusting the directory now would record. */
  readonly approvals: readonly Approval[];
  /** Warnings about hooks and MCP servers that are off. */
  readonly diagnostics: readonly Diagnostic[];
}

/**
 * Removes, from a project's agent file, hooks and MCP servers that are not identical to what the user approved. They
 * run programs, and the file may have been added or changed since the user trusted the directory. A server that the
 * definition only refers to by name is approved where it is configured.
 */
export function approvedDefinition(definition: AgentDefinition, directory: ApprovedDirectory): ApprovedDefinition {
  const { hooks, mcpServers, file } = definition;
  const ownServers = mcpServers?.filter(({ config }) => config !== undefined) ?? [];
  if (file === undefined || ((hooks?.length ?? 0) === 0 && ownServers.length === 0)) {
    return { definition, approvals: [], diagnostics: [] };
  }
  const name = relative(directory.path, file);
  const approvals = [
    ...(hooks?.length ? [{ kind: "hooks", name, hash: hashApproval(hooks.map(withoutPlace)) }] : []),
    ...(ownServers.length > 0 ? [{ kind: "mcpServers", name, hash: hashApproval(ownServers.map(withoutPlace)) }] : []),
  ];
  const { approvedHashes } = directory;
  const withheld = approvals.filter(({ kind, hash }) => approvedHashes && !approvedHashes(kind, name).includes(hash));
  if (withheld.length === 0) return { definition, approvals, diagnostics: [] };
  const isOff = (kind: string): boolean => withheld.some((each) => each.kind === kind);
  const limited: AgentDefinition = {
    ...definition,
    hooks: isOff("hooks") ? undefined : hooks,
    mcpServers: isOff("mcpServers") ? mcpServers?.filter(({ config }) => config === undefined) : mcpServers,
  };
  const isNew = withheld.every(({ kind }) => approvedHashes?.(kind, name).length === 0);
  const parts = [
    ...(isOff("hooks") ? ["hooks"] : []),
    ...(isOff("mcpServers") ? [`MCP servers (${ownServers.map((each) => each.name).join(", ")})`] : []),
  ];
  const why = isNew ? "you have not approved them yet" : "they have changed since you trusted the directory";
  const diagnostic: Diagnostic = {
    severity: "warning",
    file,
    line: 1,
    code: UNAPPROVED,
    message: `The ${parts.join(" and ")} of the agent "${definition.name}" are off: ${why}.`,
    fix: `Review the file, then run "retinue trust add${directory.isWorkspace ? "" : ` ${directory.path}`}".`,
  };
  return { definition: limited, approvals, diagnostics: [diagnostic] };
}

/** An approval stays valid if the lines of a file move. */
function withoutPlace<Part extends { readonly where?: string | undefined }>({ where: _, ...part }: Part) {
  return part;
}
