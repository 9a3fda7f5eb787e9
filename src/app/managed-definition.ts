import type { AgentDefinition, PermissionMode, SettingsOrigin } from "../protocol/index.ts";

export interface ManagedDefinition {
  readonly definition: AgentDefinition;
  /** One sentence for each field that has no effect. */
  readonly ignored: readonly string[];
}

/**
 * A definition without what the machine's settings decide: what it does not say, the settings say. Where a definition is
 * stricter (fewer turns, a mode with less freedom) it stays so. Definitions of the same hand are left as they are.
 */
export function managedDefinition(definition: AgentDefinition, origins: readonly SettingsOrigin[]): ManagedDefinition {
  const managed = definition.source === "policy" ? [] : origins.filter(({ scope }) => scope === "managed");
  const ignored = Object.entries(fields).flatMap(([field, { path, isStricter }]) => {
    const value = definition[field as keyof typeof fields];
    const origin = managed.find((each) => each.path === path);
    if (value === undefined || origin === undefined || isStricter(value, origin.value)) return [];
    return [{ field, message: `${field} has no effect: ${origin.file} sets ${path} for this machine.` }];
  });
  if (ignored.length === 0) return { definition, ignored: [] };
  const names = new Set(ignored.map(({ field }) => field));
  const kept = Object.fromEntries(Object.entries(definition).filter(([name]) => !names.has(name)));
  return { definition: kept as unknown as AgentDefinition, ignored: ignored.map(({ message }) => message) };
}

interface Field {
  readonly path: string;
  readonly isStricter: (own: unknown, managed: unknown) => boolean;
}

const never = (): boolean => false;

const fields: Readonly<Record<"model" | "effort" | "maxTurns" | "permissionMode", Field>> = {
  model: { path: "model", isStricter: never },
  effort: { path: "effort", isStricter: never },
  maxTurns: { path: "maxTurns", isStricter: (own, managed) => Number(own) <= Number(managed) },
  permissionMode: {
    path: "permissions.defaultMode",
    isStricter: (own, managed) => freedom[own as PermissionMode] <= freedom[managed as PermissionMode],
  },
};

const freedom: Record<PermissionMode, number> = {
  plan: 0,
  dontAsk: 1,
  default: 2,
  acceptEdits: 3,
  bypassPermissions: 4,
};
