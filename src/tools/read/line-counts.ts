/** How many lines files have: a long file is read in parts, and by many agents. */
export interface LineCounts {
  of(path: string, version: string): number | undefined;
  remember(path: string, version: string, total: number): void;
}

const MOST_FILES = 1_000;

export function createLineCounts(): LineCounts {
  const counts = new Map<string, { readonly version: string; readonly total: number }>();
  return {
    of: (path, version) => {
      const known = counts.get(path);
      return known?.version === version ? known.total : undefined;
    },
    remember: (path, version, total) => {
      if (counts.size >= MOST_FILES) counts.clear();
      counts.set(path, { version, total });
    },
  };
}
