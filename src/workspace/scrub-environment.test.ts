import { describe, expect, it } from "vitest";
import { scrubEnvironment } from "./scrub-environment.ts";

describe("scrubEnvironment", () => {
  it("drops secrets by name, in any case", () => {
    const names = [
      "ANTHROPIC_API_KEY",
      "ANTHROPIC_AUTH_TOKEN",
      "OPENAI_API_KEY",
      "AWS_SECRET_ACCESS_KEY",
      "AWS_SESSION_TOKEN",
      "github_token",
      "DB_PASSWORD",
      "MYSQL_PASSWD",
      "GOOGLE_APPLICATION_CREDENTIALS",
      "SMTP_PASS",
      "AZURE_DEVOPS_EXT_PAT",
    ];
    const scrubbed = scrubEnvironment(Object.fromEntries(names.map((name) => [name, "s3cret"])));
    expect(Object.values(scrubbed)).not.toContain("s3cret");
  });

  it("keeps what programs need", () => {
    const needed = {
      PATH: "/bin",
      HOME: "/h",
      LANG: "C.UTF-8",
      TERM: "dumb",
      SSH_AUTH_SOCK: "/s",
      EDITOR: "vi",
      PWD: "/",
    };
    expect(scrubEnvironment({ ...needed, GONE: undefined })).toEqual({
      ...needed,
      GIT_PAGER: "cat",
      PAGER: "cat",
      GIT_OPTIONAL_LOCKS: "0",
      GIT_TERMINAL_PROMPT: "0",
      NO_COLOR: "1",
    });
  });

  it("drops what would run code in every shell, and overrides pagers", () => {
    const scrubbed = scrubEnvironment({ BASH_ENV: "/x", ENV: "/x", "BASH_FUNC_git%%": "() { :; }", PAGER: "less" });
    expect(Object.keys(scrubbed).sort()).toEqual([
      "GIT_OPTIONAL_LOCKS",
      "GIT_PAGER",
      "GIT_TERMINAL_PROMPT",
      "NO_COLOR",
      "PAGER",
    ]);
    expect(scrubbed["PAGER"]).toBe("cat");
  });
});
