// Owns: the web view, a page that shows a server's sessions in a browser. Does not own: what is shown and its wording
// (client), how its files reach the browser (server). Called by: browsers, which load the bundle that
// scripts/bundle-web.mjs builds.
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { createClient } from "../client/index.ts";
import { App } from "./app.tsx";
import { keepFocus } from "./parts/keep-focus.ts";
import { Problem } from "./parts/problem.tsx";
import { ServerContext } from "./state/server-context.ts";
import { watchServer } from "./state/server-store.ts";
import { signIn } from "./state/sign-in.ts";
import { applyTheme, storedTheme } from "./state/theme.ts";

applyTheme(storedTheme());
const element = document.getElementById("root") ?? document.body;
const root = createRoot(element);
keepFocus(element);
const token = await signIn();
if (token === undefined) {
  root.render(
    <main className="alone">
      <Problem title="Not signed in" isPage>
        Open the link that <code>retinue serve</code> printed. It contains the token that this page needs. The link
        works in one browser. To use another one, restart the server.
      </Problem>
    </main>,
  );
} else {
  const client = createClient({ url: location.origin, token });
  const server = { client, store: watchServer(client) };
  root.render(
    <StrictMode>
      <ServerContext value={server}>
        <App />
      </ServerContext>
    </StrictMode>,
  );
}
