import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { packageManifestsIn } from "../find-packages.ts";
import { emptyManifest } from "./manifest.ts";
import { manifestNames, readManifest } from "./read-manifest.ts";
import { parseToml } from "./read-toml.ts";

function pageOf(text: string) {
  const lines = text.split("\n").map((line, index) => ({ number: index + 1, text: line }));
  return { lines, total: lines.length };
}

function readText(path: string, text: string, beside: readonly string[] = []) {
  return readManifest({ path, page: pageOf(text), beside: new Set(beside) });
}

const commandsIn = (...source: Parameters<typeof readText>) => readText(...source).commands.map(({ what }) => what);

describe("package.json", () => {
  const text = JSON.stringify({ scripts: { build: "tsc", test: "vitest" }, devDependencies: { vitest: "1" } });

  it.each([
    [[], ["npm install", "npm run build", "npm test"]],
    [["package-lock.json"], ["npm install", "npm run build", "npm test"]],
    [["pnpm-lock.yaml"], ["pnpm install", "pnpm run build", "pnpm test"]],
    [["yarn.lock"], ["yarn install", "yarn run build", "yarn test"]],
    [["bun.lock"], ["bun install", "bun run build", "bun run test"]],
  ])("uses the package manager of its lock file: %s", (beside, expected) => {
    expect(commandsIn("package.json", text, beside)).toEqual(expected);
  });

  it("uses the package manager that it names, even if there is another one's lock file", () => {
    const named = JSON.stringify({ packageManager: "pnpm@9.1.0+sha", scripts: { start: "node ." } });
    expect(commandsIn("package.json", named, ["yarn.lock"])).toEqual(["pnpm start"]);
  });

  it("leaves out scripts that run automatically", () => {
    const scripts = { prepare: "husky", prebuild: "x", build: "x", pretty: "x", postinstall: "x" };
    expect(commandsIn("package.json", JSON.stringify({ scripts }))).toEqual(["npm run build", "npm run pretty"]);
  });

  it("provides the description and the entry points", () => {
    const json = { name: "a", description: "Does A.", main: "a.js", exports: { ".": "./a.js", "./package.json": "x" } };
    expect(readText("x/package.json", JSON.stringify(json, null, 2))).toMatchObject({
      title: "a",
      description: { where: "x/package.json:3", detail: "Does A." },
      entries: [
        { where: "x/package.json:4", what: "main", detail: "a.js" },
        { what: "exports", detail: ". → ./a.js" },
      ],
    });
  });
});

describe("other manifests", () => {
  it("include pom.xml, without its parent and its dependencies", () => {
    const text = `<project>
  <!-- <description>No.</description> -->
  <parent><artifactId>starter</artifactId></parent>
  <artifactId>orchard</artifactId>
  <description>Sells apples &amp; pears.</description>
  <modules>
    <module>api</module>
    <module> store </module>
  </modules>
  <dependencies><dependency><artifactId>junit</artifactId></dependency></dependencies>
</project>`;
    expect(readText("pom.xml", text, ["mvnw"])).toEqual({
      path: "pom.xml",
      title: "orchard",
      description: { where: "pom.xml:5", what: "description", detail: "Sells apples & pears." },
      entries: [],
      commands: [{ where: "pom.xml", what: "./mvnw verify", detail: "" }],
      members: ["api", "store"],
    });
  });

  it.each([
    [["uv.lock"], ["uv sync", "uv run pytest"]],
    [["poetry.lock"], ["poetry install", "poetry run pytest"]],
    [[], ["pip install -e .", "pytest"]],
  ])("include pyproject.toml with the right commands for %s", (beside, expected) => {
    const text =
      '[tool.poetry]\nname = "kettle"\n\n[tool.poetry.group.dev.dependencies]\n\n[tool.pytest.ini_options]\n';
    expect(commandsIn("pyproject.toml", text, beside)).toEqual(expected);
  });

  it("include composer.json, setup.py, go.work, pnpm-workspace.yaml, a Makefile and a Dockerfile", () => {
    const composer = '{"name":"acme/cup","description":"A cup.","scripts":{"test":["a","b"],"post-install-cmd":"c"}}';
    expect(readText("composer.json", composer)).toMatchObject({
      title: "acme/cup",
      description: { detail: "A cup." },
      commands: [{ what: "composer install" }, { what: "composer test", detail: "a && b" }],
    });
    const setup = 'setup(\n    name="kettle",\n    description=read("x"),\n)\n';
    expect(readText("setup.py", setup)).toMatchObject({ title: "kettle", description: undefined });
    expect(readText("go.work", "go 1.22\n\nuse (\n\t./api\n\t./store\n)\n").members).toEqual(["./api", "./store"]);
    const pnpm = "packages:\n  # all\n  - 'a/*'\n  - b # one\ncatalog:\n  - c\n";
    expect(readText("pnpm-workspace.yaml", pnpm).members).toEqual(["a/*", "b"]);
    const make =
      ".PHONY: all\nGO ?= go\nX := 1\nall: build test\n\nbuild: ## Build it\n\t@go build\n\ntest:\n\t@go test\n";
    expect(readText("Makefile", make).commands).toEqual([
      { where: "Makefile:4", what: "make all", detail: "build test" },
      { where: "Makefile:6", what: "make build", detail: "Build it" },
      { where: "Makefile:9", what: "make test", detail: "go test" },
    ]);
    const docker = 'FROM golang\nENTRYPOINT ["/a"]\n';
    expect(readText("Dockerfile", docker).entries).toMatchObject([{ where: "Dockerfile:2", detail: '["/a"]' }]);
  });

  it("never cause an exception, whatever their name and content", () => {
    fc.assert(
      fc.property(fc.constantFrom(...manifestNames), fc.string({ unit: "grapheme" }), (name, text) => {
        expect(readText(name, text)).toMatchObject({ path: name });
      }),
    );
  });
});

describe("parseToml", () => {
  it("reads strings and arrays, on one line or several", () => {
    const plain = fc.string({ unit: fc.constantFrom("a", " ", "#", "[", "]", ",", "=", "-"), maxLength: 8 });
    const value = fc.oneof(
      plain.map((text) => ({ source: `"${text}" # note`, values: [text] })),
      fc.array(plain).map((items) => ({ source: `[${items.map((item) => `'${item}'`).join(", ")}]`, values: items })),
      fc.array(fc.constantFrom("a", "b/*")).map((items) => ({
        source: `[\n${items.map((item) => `  "${item}", # note\n`).join("")}]`,
        values: items,
      })),
      fc.constantFrom("a b", "c").map((text) => ({ source: `"""\n${text}\n"""`, values: [text] })),
    );
    fc.assert(
      fc.property(fc.array(value, { maxLength: 6 }), (all) => {
        const text = `[one.two]\n${all.map(({ source }, index) => `key${index} = ${source}\n`).join("")}`;
        const read = parseToml(pageOf(text)).filter(({ key }) => key !== "");
        expect(read.map(({ section, key, values }) => ({ section, key, values }))).toEqual(
          all.map(({ values }, index) => ({ section: "one.two", key: `key${index}`, values })),
        );
        const lines = text.split("\n");
        for (const { key, line } of read) expect(lines[line - 1]).toMatch(new RegExp(`^${key} = `));
      }),
    );
  });
});

describe("packageManifestsIn", () => {
  const found = [
    "a/x/package.json",
    "a/x/Cargo.toml",
    "a/old/package.json",
    "b/c/d/package.json",
    "test/e/package.json",
  ];
  const packages = (members: readonly string[]) =>
    packageManifestsIn(found, { path: ".", top: [{ ...emptyManifest("package.json"), members }] });

  it.each([
    [["a/*"], ["a/old/package.json", "a/x/package.json"]],
    [["a/*", "!a/old"], ["a/x/package.json"]],
    [["./b/**/"], ["b/c/d/package.json"]],
    [["{a,test}/{x,e}"], ["a/x/package.json", "test/e/package.json"]],
    [[], ["a/old/package.json", "a/x/package.json", "b/c/d/package.json"]],
  ])("returns the members %s", (members, expected) => {
    expect(packages(members)).toEqual(expected);
  });
});
