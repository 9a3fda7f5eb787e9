import type { Registry } from "./registry.ts";

/** What agents are called by: words to a name must not reach somebody else, so it is one agent's as long as that works. */
export class Names {
  private readonly registry: Registry;
  /** Of agents that are about to begin. */
  private readonly claimed = new Set<string>();

  constructor(registry: Registry) {
    this.registry = registry;
  }

  /** Why nobody else can be called that now. */
  whyTaken(name: string): string | undefined {
    const other = this.registry.working().find(({ record }) => record.name === name)?.record;
    if (other === undefined && !this.claimed.has(name)) return undefined;
    const who = other
      ? `agent ${other.agentId} (${other.agentType}: ${other.description})`
      : "an agent that begins now";
    return `The name "${name}" belongs to ${who}. Choose another name, or leave it out.`;
  }

  /** From here to the end of `begin` it is taken. */
  async claim<T>(name: string | undefined, begin: () => Promise<T>): Promise<T> {
    if (name === undefined) return begin();
    this.claimed.add(name);
    return begin().finally(() => this.claimed.delete(name));
  }
}
