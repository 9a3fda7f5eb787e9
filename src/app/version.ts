/** Must match the version in package.json, which is not part of the bundle. A test checks this. */
export const VERSION = "0.1.0";
