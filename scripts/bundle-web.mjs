// Bundles the web view: index.html and files whose names contain a hash of their content. `bundleWeb` prints a message and
// returns false if it fails.

import { join } from "node:path";
import { build } from "vite";

export async function bundleWeb({ root, directory }) {
  // Vitest sets NODE_ENV to another value, which would make vite build for development.
  process.env.NODE_ENV = "production";
  try {
    await build({
      configFile: false,
      root: join(root, "src/web"),
      logLevel: "warn",
      build: {
        outDir: directory,
        emptyOutDir: true,
        target: "es2022",
        // The oldest browsers that support light-dark().
        cssTarget: ["chrome123", "firefox120", "safari17.5"],
        // The content security policy rejects scripts and styles from data: URLs.
        assetsInlineLimit: 0,
        modulePreload: { polyfill: false },
        reportCompressedSize: false,
        rolldownOptions: { checks: { pluginTimings: false } },
      },
    });
    return true;
  } catch (error) {
    console.error(`build: the web view can't be built: ${error.message}`);
    return false;
  }
}
