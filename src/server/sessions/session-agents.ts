import { type ReadSession, readSession } from "../../app/index.ts";
import { type AgentId, type AgentInfo, type EventOf, MAIN_AGENT, type SessionUpdate } from "../../protocol/index.ts";

type Created = Pick<EventOf<"agent.created">, "agentType" | "name" | "description" | "parent" | "metadata">;

/** Tracks the type, name and path of each of a session's agents, from the first lines of their transcripts. */
export class SessionAgents {
  private readonly files: ReadSession;
  private readonly created = new Map<AgentId, Created>();
  private readonly paths = new Map<AgentId, readonly AgentId[]>();

  /** `path`: path of the main agent's transcript. */
  constructor(path: string) {
    this.files = readSession(path);
  }

  /** Records a new agent from an update. An agent's updates must be passed before its path is requested. */
  observe({ agentId, event }: SessionUpdate): void {
    if (event.type === "agent.created") this.created.set(agentId, event);
  }

  /** Returns an agent's type and path; undefined if the agent has not been loaded or observed. */
  known(agentId: AgentId): { readonly agentType: string; readonly path: readonly AgentId[] } | undefined {
    const agentType = agentId === MAIN_AGENT ? MAIN_AGENT : this.created.get(agentId)?.agentType;
    const path = this.pathOf(agentId);
    return agentType === undefined || path === undefined ? undefined : { agentType, path };
  }

  /** Reads the missing lines about an agent and the agents above it. */
  async load(agentId: AgentId): Promise<void> {
    if (agentId === MAIN_AGENT) return;
    const created = this.created.get(agentId) ?? (await this.files.readCreated(agentId));
    this.created.set(agentId, created ?? { agentType: "unknown", description: "", parent: lostParent });
    if (created !== undefined) await this.load(created.parent.agentId);
  }

  /** Lists all subagents, oldest first. */
  async list(): Promise<readonly AgentInfo[]> {
    const ids = await this.files.agents();
    await Promise.all(ids.map((agentId) => this.load(agentId)));
    return ids.flatMap((agentId): readonly AgentInfo[] => {
      const created = this.created.get(agentId);
      const known = this.known(agentId);
      if (created === undefined || known === undefined) return [];
      const { name, description, metadata } = created;
      return [{ agentId, ...known, name, description, metadata }];
    });
  }

  private pathOf(agentId: AgentId): readonly AgentId[] | undefined {
    if (agentId === MAIN_AGENT) return [];
    const known = this.paths.get(agentId);
    if (known !== undefined) return known;
    const above = this.created.get(agentId)?.parent.agentId;
    const path = above === undefined ? undefined : this.pathOf(above);
    if (path === undefined) return undefined;
    this.paths.set(agentId, [...path, agentId]);
    return [...path, agentId];
  }
}

/** Parent of an agent whose first line can't be read. */
const lostParent = { agentId: MAIN_AGENT, callId: "" };
