import type { Shell } from "../bash/shells.ts";

export function noSuchShell(id: string, own: readonly Shell[]): string {
  if (own.length === 0) return `There is no shell ${id}: you have started none in the background.`;
  return `There is no shell ${id}. Yours: ${own.map((shell) => shell.id).join(", ")}.`;
}
