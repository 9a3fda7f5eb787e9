import { type RefObject, useLayoutEffect, useRef } from "react";

/** Shows a dialog as long as its component. When it is closed, the element that had the focus before gets it back. */
export function useModal(): RefObject<HTMLDialogElement | null> {
  const dialog = useRef<HTMLDialogElement>(null);
  // A layout effect ends before the dialog is removed, and only a dialog that is on the page returns the focus.
  useLayoutEffect(() => {
    const element = dialog.current;
    element?.showModal();
    return () => element?.close();
  }, []);
  return dialog;
}
