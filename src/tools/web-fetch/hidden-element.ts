/** Reads an attribute of an element; null if the element does not have it. */
export type ReadAttribute = (name: string) => string | null | undefined;

/**
 * Returns true if the attributes of an element say that its content is not visible. `background` is the colour behind
 * the element, if it is known. A thread runs the source text of this function, so it must not use anything defined
 * outside of it.
 */
export function isHiddenElement(read: ReadAttribute, background: string | undefined): boolean {
  const declarations = new Map<string, string>();
  const plain = (read("style") ?? "")
    .replace(/\/\*[^*]*\*\//g, "")
    .replace(/\\([\da-f]{1,6})\s?/gi, (_, code: string) =>
      String.fromCodePoint(Math.min(Number.parseInt(code, 16), 0xffff)),
    );
  for (const declaration of plain.split(";")) {
    const [name = "", ...rest] = declaration.split(":");
    const value = rest.join(":").replace(/!\s*important/i, "");
    declarations.set(name.trim().toLowerCase(), value.trim().toLowerCase());
  }
  const style = (name: string): string => declarations.get(name) ?? "";
  const number = (text: string): number => (/^[-+]?[\d.]+/.test(text) ? Number.parseFloat(text) : Number.NaN);
  const isTiny = (text: string): boolean => number(text) <= 1 && !/^[\d.]+(?:em|rem|vw|vh|in|cm)/.test(text);
  const isFarAway = (text: string): boolean => number(text) <= (/em|vw|vh/.test(text) ? -90 : -900);
  /** Converts the common ways of writing a colour to a single one. */
  const colour = (text: string): string => {
    const named: Record<string, string> = { white: "#ffffff", black: "#000000" };
    const short = /^#([\da-f])([\da-f])([\da-f])$/.exec(text);
    if (short) return `#${short[1]}${short[1]}${short[2]}${short[2]}${short[3]}${short[3]}`;
    const [, ...parts] = /^rgba?\(\s*(\d+)[\s,]+(\d+)[\s,]+(\d+)\s*(?:[,/]\s*(?:1|1\.0|100%)\s*)?\)$/.exec(text) ?? [];
    if (parts.length === 0) return named[text] ?? text;
    return `#${parts.map((part) => Number(part).toString(16).padStart(2, "0")).join("")}`;
  };

  if ((read("hidden") ?? null) !== null || read("aria-hidden")?.trim().toLowerCase() === "true") return true;
  if (/^none\b/.test(style("display")) || /^(hidden|collapse)\b/.test(style("visibility"))) return true;
  if (/^hidden\b/.test(style("content-visibility"))) return true;
  if (number(style("opacity")) < 0.1 || number(style("zoom")) === 0) return true;
  const size = style("font-size") || (/(?:^|\s)([\d.]+(?:px|pt|em|rem|%))(?:\/|\s)/.exec(style("font"))?.[1] ?? "");
  if (number(size) === 0 || (/px|pt/.test(size) && number(size) < 3)) return true;
  const isClipped = /hidden|clip/.test(`${style("overflow")}${style("overflow-x")}${style("overflow-y")}`);
  const boxes = ["width", "height", "max-width", "max-height"].map(style);
  if (isClipped && boxes.some((box) => box !== "" && isTiny(box))) return true;
  if (/^rect\(\s*[01](?:px)?[\s,]+[01]/.test(style("clip"))) return true;
  if (/^(?:inset\(\s*(?:50|100)%|circle\(\s*0|polygon\(\s*0(?:px|%)?\s+0[^1-9]*$)/.test(style("clip-path")))
    return true;
  if (/scale[xy]?\(\s*0?\.?0*\s*[,)]|translate[xy3d]*\([^)]*-\d{4,}/.test(style("transform"))) return true;
  const offsets = ["left", "top", "right", "bottom", "text-indent", "margin-left", "margin-top", "inset"];
  if (offsets.some((name) => isFarAway(style(name)))) return true;
  const own = style("color") || (read("color") ?? "").trim().toLowerCase();
  if (/^transparent|^(?:rgba|hsla?)\([^)]*[,/]\s*0?\.?0*%?\s*\)/.test(own)) return true;
  if (/^transparent/.test(style("-webkit-text-fill-color"))) return true;
  return own !== "" && background !== undefined && colour(own) === colour(background);
}

/** Returns the colour that an element puts behind its content. Runs in a thread, too. */
export function backgroundOf(read: ReadAttribute): string | undefined {
  const style = /(?:^|;)\s*background(?:-color)?\s*:\s*(#[\da-f]{3,8}|rgba?\([^)]*\)|[a-z]+)/i.exec(
    read("style") ?? "",
  );
  return (style?.[1] ?? read("bgcolor"))?.trim().toLowerCase();
}
