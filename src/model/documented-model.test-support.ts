import { readFileSync } from "node:fs";
import { join } from "node:path";
import { transformSync } from "esbuild";
import type { Model } from "../ports/index.ts";

/** Returns the model that docs/library.md shows as an example. It sends its requests to this server. */
export async function documentedModel(serverUrl: string): Promise<Model> {
  const page = readFileSync(join(import.meta.dirname, "../../docs/library.md"), "utf8");
  const block =
    /```ts\nimport \{ type Model, openSession, type StopReason \} from "retinue";\n(.*?)\nconst session/s.exec(page);
  if (block?.[1] === undefined) throw new Error("docs/library.md does not show the model");
  const text = `${block[1].replace(/^const url = .*$/m, `const url = ${JSON.stringify(`${serverUrl}/v1/chat/completions`)};`)}\nexport { model };`;
  const { code } = transformSync(text, { loader: "ts", format: "esm", target: "node20" });
  const { model } = await import(`data:text/javascript,${encodeURIComponent(code)}`);
  return model;
}
