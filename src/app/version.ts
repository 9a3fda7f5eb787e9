/** A test keeps it equal to package.json, which the bundled program does not carry. */
export const VERSION = "0.1.0";
