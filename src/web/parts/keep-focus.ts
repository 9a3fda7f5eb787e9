/** Places that the focus can land on. Headings get it because a screen reader then says where the user is. */
const LANDINGS = "[data-landing], h1, h2";

/**
 * Keeps the focus near the place where it was. If the element that has it is removed or disabled, the nearest landing
 * place gets it: an element with `data-landing`, or a heading. Otherwise, keyboard users would start again at the top of
 * the page.
 */
export function keepFocus(root: HTMLElement): void {
  /** The element that has the focus, and its ancestors, nearest first. Empty if the user took the focus away from it. */
  let path: readonly Element[] = [];
  root.addEventListener("focusin", ({ target }) => {
    path = pathOf(target as Element);
  });
  root.addEventListener("focusout", ({ target, relatedTarget }) => {
    if (relatedTarget !== null) return;
    setTimeout(() => {
      if (target === path[0] && isUsable(path[0]) && document.activeElement !== target) path = [];
    });
  });
  const land = (): void => {
    const [focused, ...ancestors] = path;
    if (focused === undefined || isUsable(focused)) return;
    // While content is loading, wait for the landing place that it will add to the page.
    ancestors.some((each) => each.isConnected && (each.querySelector("[data-loading]") !== null || focusIn(each)));
  };
  new MutationObserver(land).observe(root, { childList: true, subtree: true, attributeFilter: ["disabled"] });
}

/** Moves the focus to an element, or to the first landing place in it. Returns false if there is none. */
export function focusIn(element: Element): boolean {
  const all = element.matches(LANDINGS) ? [element] : element.querySelectorAll(LANDINGS);
  const landing = [...(all as Iterable<HTMLElement>)].find((each) => each.checkVisibility() && isUsable(each));
  if (landing === undefined) return false;
  if (!landing.hasAttribute("tabindex") && /^H\d$/.test(landing.tagName)) landing.tabIndex = -1;
  landing.focus();
  return true;
}

function isUsable(element: Element): boolean {
  return element.isConnected && !element.matches(":disabled");
}

function pathOf(element: Element): readonly Element[] {
  const path: Element[] = [];
  for (let each: Element | null = element; each !== null; each = each.parentElement) path.push(each);
  return path;
}
