import { describe, expect, it } from "vitest";
import { openSession } from "../../src/app/index.ts";
import { helpFor } from "../../src/cli/help/help.ts";
import { checkPages, hasPrograms, pages } from "./pages.ts";

checkPages(pages.filter((page) => !hasPrograms(page)));

describe("the pages", () => {
  it("have few examples that can't be run, each with a reason", () => {
    const skipped = pages.flatMap(({ name, blocks }) =>
      blocks.flatMap(({ directive }) => (directive.skip === undefined ? [] : [`${name}: ${directive.skip}`])),
    );
    expect(skipped).toEqual([
      "README.md: it changes the machine",
      "docs/approvals.md: it needs a terminal",
      "docs/architecture.md: npm run check compares it with layers.cjs",
      "docs/hooks.md: it is what a hook prints",
      "docs/models.md: it needs Ollama with that model on its own port",
      "docs/terminal.md: it needs a terminal",
      "docs/terminal.md: it shows a terminal",
      "docs/workers.md: it needs a server",
    ]);
  });

  it("are all linked from the README", () => {
    for (const { name } of pages.slice(1)) expect(textOf("README.md")).toContain(`(${name})`);
  });

  it.each(["retinue", "sessions", "ps", "attach", "doctor"] as const)(
    "document every option in the help for %s",
    (name) => {
      const options = [...helpFor(name).matchAll(/^ +(?:-\w, )?(--[a-z-]+)/gm)].map(([, option = ""]) => option);
      expect(options.length).toBeGreaterThan(1);
      for (const option of options)
        expect(textOf("docs/command-line.md") + textOf("docs/sessions.md")).toContain(option);
    },
  );

  it("describe every tool", async () => {
    const session = await openSession({ provider: "offline", home: false, environment: {} });
    await session.close();
    for (const tool of [...session.tools, "WebSearch"]) expect(textOf("docs/tools.md")).toContain(`\n## ${tool}\n`);
  });
});

function textOf(page: string): string {
  return pages.find(({ name }) => name === page)?.text ?? "";
}
