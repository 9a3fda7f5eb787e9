import { join } from "node:path";
import { build, type Metafile } from "esbuild";
import { describe, expect, it } from "vitest";

const LIMIT = 53_500;

/** Bundles a program for browsers. Fails if any module that it imports needs Node. */
async function bundled(program: string): Promise<{ readonly text: string; readonly inputs: Metafile["inputs"] }> {
  const { outputFiles, metafile } = await build({
    stdin: { contents: program, resolveDir: import.meta.dirname, loader: "ts" },
    absWorkingDir: join(import.meta.dirname, "../.."),
    bundle: true,
    write: false,
    metafile: true,
    minify: true,
    platform: "browser",
    format: "esm",
    logLevel: "silent",
  });
  return { text: outputFiles[0]?.text ?? "", inputs: metafile.inputs };
}

describe("the client in a browser", () => {
  it("is small and does not need Node", async () => {
    const whole = await bundled('export * from "./index.ts";');
    expect(whole.text).not.toMatch(/\b(from|import|require)\s*\(?["']node:/);
    expect(Object.keys(whole.inputs).filter((path) => path.startsWith("src/lib/"))).not.toContain("src/lib/index.ts");
    expect(whole.text.length).toBeLessThan(LIMIT);
  });

  it("contains only the modules that a program uses", async () => {
    const whole = await bundled('export * from "./index.ts";');
    const part = await bundled('export { createClient, foldSession, newSessionView } from "./index.ts";');
    expect(part.text).not.toContain("can be resumed");
    expect(part.text.length).toBeLessThan(0.8 * whole.text.length);
  });
});
