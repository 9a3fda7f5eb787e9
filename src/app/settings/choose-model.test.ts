import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import type { AgentDefinition, Settings } from "../../protocol/index.ts";
import { systemClock } from "../system-clock.ts";
import { type ChosenModel, chooseModel } from "./choose-model.ts";

const key = { ANTHROPIC_API_KEY: "sk-test" };

interface Wish {
  readonly model?: string;
  /** File that defines the agent. */
  readonly file?: string;
  readonly flag?: string;
  readonly settings?: Settings;
  readonly environment?: Readonly<Record<string, string>>;
}

function choose({ model, file, flag, settings = {}, environment = key }: Wish): ChosenModel {
  const agent: AgentDefinition = {
    name: "finder",
    description: "Finds.",
    source: "user",
    ...(model === undefined ? {} : { model }),
    ...(file === undefined ? {} : { file }),
  };
  const flags = flag === undefined ? {} : { model: flag };
  return chooseModel({ settings, environment, flags, clock: systemClock, agent });
}

it("a problem with the provider in the settings is reported with the file and line", () => {
  const settings: Settings = { provider: "opnai" };
  const origin = { path: "provider", value: "opnai", scope: "user", file: "/home/settings.json", line: 3 } as const;
  const environment = {};
  expect(() => chooseModel({ settings, origins: [origin], environment, flags: {}, clock: systemClock })).toThrow(
    '/home/settings.json:3: There is no provider "opnai" (from settings.provider). Did you mean "openai"?',
  );
});

describe("an agent's model", () => {
  it("comes from the agent's definition, by tier or alias, and the reason is recorded", () => {
    for (const model of ["small", "haiku"]) {
      const chosen = choose({ model, settings: { model: "large" } });
      expect(chosen.model.describe().model).toContain("haiku");
      expect(chosen).toMatchObject({ requested: model, reason: expect.stringContaining("model from agent finder") });
    }
  });

  it("comes from a flag if there is one, otherwise from the definition", () => {
    const chosen = choose({ model: "small", flag: "large" });
    expect(chosen.model.describe().model).toContain("opus");
    expect(chosen.reason).toContain("the `model` option");
  });

  it("is the session's model if the definition says inherit or names no model", () => {
    for (const wish of [{ model: "inherit" }, {}]) {
      const chosen = choose({ ...wish, settings: { model: "large" } });
      expect(chosen.model.describe().model).toContain("opus");
    }
  });

  it("is the session's model, with a notice, if no provider offers the requested one", () => {
    const chosen = choose({ model: "gpt-9", environment: {} });
    expect(chosen.reason).toBe("offline");
    expect(chosen.notice).toContain(
      'Agent "finder" can\'t use its model: No provider is configured for the model "gpt-9". Set OPENAI_API_KEY, or choose another provider with the `provider` option. It uses the offline model instead.',
    );
  });

  it("is named in the notice, with the file and line of the model that it replaces", () => {
    const directory = mkdtempSync(join(tmpdir(), "retinue-model-"));
    onTestFinished(() => rmSync(directory, { recursive: true }));
    const file = join(directory, "finder.md");
    writeFileSync(file, "---\nname: finder\ndescription: Finds.\nmodel: openai/gpt-9\n---\nmodel: none\n");
    const { notice, model } = choose({ model: "openai/gpt-9", file });
    expect(notice).toBe(
      `${file}:4: Agent "finder" can't use its model: The provider "openai" requires a key. Set OPENAI_API_KEY in the environment. It uses ${model.describe().model} instead.`,
    );
  });

  it("is the offline model if the definition names a tier and no provider is configured", () => {
    const chosen = choose({ model: "small", environment: {} });
    expect(chosen.reason).toBe("offline");
    expect(chosen.notice).not.toContain("finder");
  });
});
