import { expect, it } from "vitest";
import { testsAmong } from "./languages.ts";

it.each([
  ["files named as tests, but not their helpers", ["test/a.test.ts", "test/place.ts"], ["test/a.test.ts"]],
  ["all files of a test directory without such names", ["tests/a.rs", "tests/b.rs"], ["tests/a.rs", "tests/b.rs"]],
  ["both, for different languages", ["src/a.spec.ts", "test/run.py"], ["src/a.spec.ts", "test/run.py"]],
  ["files in a test project", ["App.Tests/Cart.cs", "App/Cart.cs"], ["App.Tests/Cart.cs"]],
  ["PHP and Swift tests", ["t/CartTest.php", "Tests/CartTests.swift"], ["t/CartTest.php", "Tests/CartTests.swift"]],
  ["no data", ["test/data.sql", "test/a.css", "test/fixtures/a.ts", "test/b.json"], []],
])("counts %s", (_, paths, tests) => {
  expect(testsAmong(paths.map((path) => ({ path }))).map(({ path }) => path)).toEqual(tests);
});
