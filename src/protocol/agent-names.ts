/** Other names that built-in agents answer to. */
export const agentAliases: Readonly<Record<string, string>> = {
  general: "general-purpose",
  explore: "Explore",
  "claude-code-guide": "retinue-guide",
};

/** Who tries to break the work of others. */
export const VERIFIER = "Verification";

/** Whether a rule that names one means the other: aliases count, and case does not. */
export function isSameAgent(left: string, right: string): boolean {
  return folded(left) === folded(right);
}

function folded(name: string): string {
  const meant = Object.hasOwn(agentAliases, name.toLowerCase()) ? agentAliases[name.toLowerCase()] : name;
  return (meant ?? name).toLowerCase();
}
