import { createInterface } from "node:readline/promises";
import { PassThrough } from "node:stream";
import { expect, it } from "vitest";
import { UserError } from "../lib/index.ts";
import { createFormat } from "./formats/create-format.ts";
import { createAgentViews } from "./progress/agent-views.ts";
import { reportError } from "./report-error.ts";

async function report(error: unknown): Promise<{ readonly code: number; readonly said: string }> {
  let said = "";
  const write = async (text: string): Promise<void> => {
    said += text;
  };
  const output = { isTerminal: false, write };
  const format = await createFormat({
    outputFormat: "text",
    partialMessages: false,
    subagentText: false,
    forTerminal: false,
    agents: createAgentViews(),
  });
  return { code: await reportError(error, { format, output, errors: output }), said };
}

it("shows errors that users can act on, and reports any other error as a bug", async () => {
  const known = new UserError("No key", { code: "auth", fix: "Set it.", exitCode: 2 });
  expect(await report(known)).toEqual({ code: 2, said: "retinue: No key. Set it.\n" });
  expect(await report(new Error("x is not a function"))).toMatchObject({
    code: 1,
    said: expect.stringContaining("bug"),
  });
});

it.each(["ENOSPC", "EFBIG", "EROFS", "EACCES", "EMFILE"])("does not call %s a bug", async (code) => {
  const error = Object.assign(new Error(`${code}: open`), { code, syscall: "open", path: "/state/server.lock" });
  const { code: exitCode, said } = await report(error);
  expect(exitCode).toBe(1);
  expect(said).toMatch(new RegExp(`: .*\\(${code}\\)\\.\n$`));
  expect(said).not.toContain("bug");
});

it.each([
  ["Check the `cwd` option.", "Check --cwd."],
  ["Raise the `maxTurns` option.", "Raise --max-turns."],
  ["Pass the `model: openai/gpt` option.", "Pass --model openai/gpt."],
  ["Or with the `trusted` option.", "Or with --trust."],
  ["To raise it, set budget.usd in your settings.", "To raise it, set budget.usd in your settings or use --max-cost."],
])("names the command-line options: %s", async (fix, shown) => {
  const error = new UserError("No", { code: "x", fix, exitCode: 2 });
  expect((await report(error)).said).toBe(`retinue: No. ${shown}\n`);
});

it.each([
  ["Ctrl+C", "\u0003"],
  ["Ctrl+D", "\u0004"],
])("recognizes %s instead of an answer to a question", async (_, key) => {
  const input = new PassThrough();
  const terminal = createInterface({ input, output: new PassThrough(), terminal: true });
  const asked = terminal.question("Name?");
  input.write(key);
  const error: unknown = await asked.catch((each: unknown) => each);
  terminal.close();
  expect(await report(error)).toEqual({ code: 130, said: "\nretinue: Interrupted.\n" });
});
