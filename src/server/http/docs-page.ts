import type * as z from "zod/v4";
import { jsonSchemaOf } from "./openapi.ts";
import { escaped, Page } from "./pages.ts";
import type { Route } from "./route.ts";

/** Describes the routes and the fields of their requests and responses. */
export function docsPage(routes: readonly Route[]): Page {
  const list = routes.map((route) => `<li><a href="#${anchorOf(route)}"><code>${nameOf(route)}</code></a></li>`);
  return new Page(
    "Retinue API",
    [
      "<h1>Retinue API</h1>",
      '<p>Send the token in an <code>Authorization: Bearer TOKEN</code> header, and bodies as <code>application/json</code>. <a href="/openapi.json">openapi.json</a> contains the same information for programs.</p>',
      `<ul>\n${list.join("\n")}\n</ul>`,
      ...routes.map(describeRoute),
    ].join("\n"),
  );
}

function describeRoute(route: Route): string {
  const { summary, scope, parameters, query, body, response } = route;
  const type = "type" in response ? ` (${response.type})` : "";
  return [
    `<h2 id="${anchorOf(route)}"><code>${nameOf(route)}</code></h2>`,
    `<p>${escaped(summary)} Needs the ${scope} scope. The success status is ${response.status}${type}.</p>`,
    describePart("Address", parameters),
    describePart("Query", query),
    describePart("Body", body),
    "schema" in response ? describePart("Response", response.schema, "output") : "",
  ]
    .filter((part) => part !== "")
    .join("\n");
}

function nameOf({ method, path }: Route): string {
  return escaped(`${method} ${path}`);
}

function anchorOf({ method, path }: Route): string {
  return `${method}${path.replace(/[^a-z]+/g, "-")}`.toLowerCase();
}

function describePart(title: string, schema: z.ZodType | undefined, io: "input" | "output" = "input"): string {
  if (schema === undefined) return "";
  const whole = jsonSchemaOf(schema, io) as JsonSchema;
  const list = whole.items === undefined ? "" : ": a list of objects";
  const tables = (whole.oneOf ?? [whole.items ?? whole]).map((each) => {
    const rows = fieldsOf(each).map(
      ({ name, type, description }) =>
        `<tr><td><code>${escaped(name)}</code></td><td>${escaped(type)}</td><td>${escaped(description)}</td></tr>`,
    );
    return `<table>\n${rows.join("\n")}\n</table>`;
  });
  return `<h3>${title}${list}</h3>\n${tables.join("\n<p>or</p>\n")}`;
}

/** The part of JSON Schema that route schemas use. */
interface JsonSchema {
  readonly type?: string;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly oneOf?: readonly JsonSchema[];
  readonly items?: JsonSchema;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly description?: string;
}

interface Field {
  readonly name: string;
  readonly type: string;
  readonly description: string;
}

/** Lists the fields of an object, each followed by the fields of its own value. */
function fieldsOf({ properties = {}, required = [] }: JsonSchema, path = ""): readonly Field[] {
  return Object.entries(properties).flatMap(([key, value]): readonly Field[] => {
    const name = `${path}${key}`;
    const type = `${typeOf(value)}${required.includes(key) ? "" : ", optional"}`;
    const [inner, suffix] = value.items === undefined ? [value, "."] : [value.items, "[]."];
    const inside = (inner.oneOf ?? [inner]).flatMap((each) => fieldsOf(each, `${name}${suffix}`));
    return [{ name, type, description: value.description ?? "" }, ...inside];
  });
}

function typeOf({ type = "any value", const: constant, enum: values, oneOf, items }: JsonSchema): string {
  if (constant !== undefined) return JSON.stringify(constant);
  if (values !== undefined) return values.map((value) => JSON.stringify(value)).join(" or ");
  if (oneOf !== undefined) return oneOf.map(typeOf).join(" or ");
  return items === undefined ? type : `array (${typeOf(items)})`;
}
