import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createTestTexts } from "../shared/test-texts.test-support.ts";
import { callTool, textOfOutput, toolContext } from "../shared/tool-place.test-support.ts";
import { createTextReadTool } from "./read-text.ts";

const address = "retinue://result/r1";

async function read(text: string, range: { offset?: number; limit?: number } = {}, chunkBytes?: number) {
  const results = createTestTexts(chunkBytes === undefined ? {} : { chunkBytes });
  results.texts.set(address, text);
  return textOfOutput(await callTool(createTextReadTool(results), { file_path: address, ...range }));
}

describe("Read, given an address,", () => {
  it("shows the requested lines, and how to continue", async () => {
    const text = "one\ntwo\r\nthree\n";
    expect(await read(text)).toBe("one\ntwo\nthree\n");
    expect(await read(text, { offset: 2, limit: 1 })).toBe("two\n[Lines 2-2 of 3. Continue with offset=3.]");
    expect(await read(text, { offset: 3 })).toBe("three\n[Lines 3-3 of 3.]");
    expect(await read(text, { offset: 4 })).toBe(
      `${address} has 3 lines; offset 4 is past its end. Use a smaller offset.`,
    );
    expect(await read("")).toBe("[The text is empty.]");
  });

  it("wraps long lines, so that nothing is lost", async () => {
    expect(await read("x".repeat(5_000), { offset: 3 })).toBe(`${"x".repeat(1_000)}\n[Lines 3-3 of 3.]`);
    expect(await read(`${"x".repeat(2_000)}\ny\n`)).toBe(`${"x".repeat(2_000)}\ny\n`);
    expect(await read(`${"x".repeat(2_000)}\ny\n`, {}, 1_000)).toBe(`${"x".repeat(2_000)}\ny\n`);
  });

  it("loses no character, no matter how the text is split into lines and chunks", async () => {
    const line = fc.string({ unit: fc.constantFrom("a", "é", "€", "🙂"), minLength: 0, maxLength: 3_000 });
    const chunks = fc.integer({ min: 1, max: 3_000 });
    await fc.assert(
      fc.asyncProperty(fc.array(line, { minLength: 1, maxLength: 3 }), chunks, async (lines, chunkBytes) => {
        const text = `${lines.join("\n")}\n`;
        const pages: string[] = [];
        for (let offset = 1, more = true; more; ) {
          const page = await read(text, { offset, limit: 2 }, chunkBytes);
          const [, shown = "", next] =
            /^(.*?\n)(?:\[Lines \d+-\d+ of \d+\.(?: Continue with offset=(\d+)\.)?\])?$/s.exec(page) ?? [];
          pages.push(shown);
          more = next !== undefined;
          offset = Number(next);
        }
        expect(pages.join("").replaceAll("\n", "")).toBe(text.replaceAll("\n", ""));
      }),
      { numRuns: 50 },
    );
  });

  it("reads a page of huge text in limited memory", async () => {
    async function* endless() {
      const chunk = Buffer.from(`${"y".repeat(99)}\n`.repeat(10_000));
      for (let count = 0; count < 1_000; count++) yield chunk;
    }
    const tool = createTextReadTool({ read: async () => endless() });
    const output = textOfOutput(await callTool(tool, { file_path: address, offset: 5_000, limit: 2 }));
    expect(output).toBe(`${`${"y".repeat(99)}\n`.repeat(2)}[Lines 5000-5001; more follow. Continue with offset=5002.]`);
  });

  it("stops when the call is cancelled", async () => {
    const { run } = createTextReadTool({
      read: async () =>
        (async function* () {
          for (;;) yield Buffer.from("y\n");
        })(),
    });
    const controller = new AbortController();
    controller.abort();
    const output = await run({ file_path: address }, toolContext({ signal: controller.signal }));
    expect(output).toMatchObject({ isError: true, content: "The call was cancelled." });
  });

  it.each([
    ["retinue://result/nope", "There is no saved result retinue://result/nope in this session."],
    ["retinue://output/a1", "There is no subagent a1 in this session"],
    ["retinue://output/../../x", "is not a valid address"],
    ["retinue://result/%2e%2e", "is not a valid address"],
    ["RETINUE://RESULT/r1", "is not a valid address"],
    [`${address}\0`, 'retinue://result/r1\\u0000" is not a valid address'],
  ])("explains why there is nothing at %j", async (file_path, expected) => {
    const results = createTestTexts();
    results.texts.set(address, "text");
    const output = await callTool(createTextReadTool(results), { file_path });
    expect(output).toMatchObject({ isError: true });
    expect(textOfOutput(output)).toContain(expected);
  });

  it("does not repeat a huge address", async () => {
    const output = await callTool(createTextReadTool(createTestTexts()), { file_path: `${address}${"1".repeat(1e6)}` });
    expect(textOfOutput(output).length).toBeLessThan(300);
  });
});
