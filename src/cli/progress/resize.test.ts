import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { expect, it, onTestFinished, vi } from "vitest";
import { bundleProgram } from "../../testing/bundle-program.test-support.ts";
import { needs } from "../../testing/needs.test-support.ts";

const showLines = join(import.meta.dirname, "show-lines.test-support.ts");

it("live lines leave nothing behind in a resized terminal", needs("tmux"), async () => {
  const tmux = (...words: readonly string[]): string =>
    execFileSync("tmux", ["-L", `retinue-${process.pid}`, "-f", "/dev/null", ...words], { encoding: "utf8" });
  tmux("new-session", "-d", "-x", "100", "-y", "20", process.execPath, bundleProgram(showLines));
  onTestFinished(() => void tmux("kill-server"));
  const rows = (): readonly string[] =>
    tmux("capture-pane", "-p", "-S", "-100")
      .split("\n")
      .filter((row) => row !== "");
  const printed = Array.from({ length: 30 }, (_, at) => `printed ${at}`);
  const expectLines = (count: number, width: number): Promise<void> =>
    vi.waitFor(() => {
      const lines = Array.from({ length: count }, (_, at) => `line ${at} of ${count} at ${width} `.padEnd(width, "x"));
      expect(rows()).toEqual([...printed, ...lines]);
    }, 10_000);
  await expectLines(6, 99);
  for (const [width, height] of [
    [60, 20],
    [100, 20],
    [100, 5],
    [100, 20],
    [30, 12],
    [120, 24],
  ] as const) {
    tmux("resize-window", "-x", String(width), "-y", String(height));
    await expectLines(Math.min(6, height - 1), width - 1);
  }
});
