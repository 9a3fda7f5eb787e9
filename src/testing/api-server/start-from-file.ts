import { createApiServer } from "./create-api-server.ts";
import { readScriptFile } from "./script/read-script-file.ts";
import type { ApiServer, ApiServerOptions } from "./types.ts";

/** The server of a JSON script; `overrides` win over the file's own options. */
export async function startFromFile(path: string, overrides: Partial<ApiServerOptions> = {}): Promise<ApiServer> {
  return createApiServer({ ...(await readScriptFile(path)), ...overrides });
}
