import type { ExamineOptions, Finding } from "./examine.ts";

export type { Finding };

/** Looks at everything a session stands on. Loaded when asked for: a session itself needs none of it. */
export async function examine(options: ExamineOptions): Promise<readonly Finding[]> {
  const { examineSurroundings } = await import("./examine.ts");
  return examineSurroundings(options);
}
