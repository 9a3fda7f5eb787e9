import { focusIn } from "../parts/keep-focus.ts";

/** Places in a session that a key goes to after `g`, each with its region, which may be hidden on narrow screens. */
const places = {
  m: { region: "talk", selector: ".write textarea" },
  c: { region: "talk", selector: ".transcript" },
  l: { region: "tree", selector: ".tree" },
  t: { region: "time", selector: ".waterfall, .usage-plot" },
  d: { region: "about", selector: ".about-region h2" },
} as const;

export function isPlace(key: string): key is keyof typeof places {
  return Object.hasOwn(places, key);
}

/** Moves the focus to a place in the session that is shown. Does nothing on other pages. */
export function focusPlace(key: keyof typeof places): void {
  const { region, selector } = places[key];
  const find = (): HTMLElement | undefined =>
    [...document.querySelectorAll<HTMLElement>(selector)].find((each) => each.checkVisibility());
  if (find() === undefined) showRegion(region);
  requestAnimationFrame(() => {
    const place = find();
    // `focusIn` makes a heading focusable. In any other place, it would choose an element within the place.
    if (place?.tabIndex === -1) focusIn(place);
    else place?.focus();
  });
}

/** Shows a region of the session. On wide screens, all regions are always visible. */
export function showRegion(region: "talk" | "tree" | "time" | "about"): void {
  const tab = document.querySelector<HTMLElement>(`.regions [data-for="${region}"]`);
  if (tab?.checkVisibility()) tab.click();
}
