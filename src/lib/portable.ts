// Second entry point of lib: the helpers that need nothing from Node, for modules that also run in browsers.
export { isRecord } from "./json/is-record.ts";
export { maskLogin, maskLogins } from "./network/mask-addresses.ts";
export { formatCount, plural, showExactly, stripControls } from "./text/format.ts";
