import { type ReactNode, useEffect, useRef } from "react";
import { createStore, useStore } from "../state/store.ts";

const KEY = "retinue-sound";
const isOn = createStore(localStorage.getItem(KEY) === "on");

/** Plays a short sound for each new request, if the user has switched it on. */
export function useRequestSound(waiting: number): void {
  const before = useRef(waiting);
  useEffect(() => {
    if (waiting > before.current && isOn.get()) play();
    before.current = waiting;
  }, [waiting]);
}

/** Switches the sound on and off. The browser remembers the choice. */
export function SoundButton(): ReactNode {
  const on = useStore(isOn);
  const change = (): void => {
    if (on) localStorage.removeItem(KEY);
    else {
      localStorage.setItem(KEY, "on");
      play();
    }
    isOn.set(!on);
  };
  return (
    <button
      type="button"
      className="quiet sound"
      aria-pressed={on}
      onClick={change}
      title="Plays a sound when an agent needs an answer"
    >
      Sound: {on ? "on" : "off"}
    </button>
  );
}

/**
 * Plays two short tones. Browsers allow sound only after the user has interacted with the page, so a refusal is not an
 * error.
 */
function play(): void {
  const context = new AudioContext();
  const volume = context.createGain();
  volume.gain.setValueAtTime(0.08, context.currentTime);
  volume.gain.exponentialRampToValueAtTime(0.001, context.currentTime + 0.4);
  volume.connect(context.destination);
  for (const [index, pitch] of [660, 880].entries()) {
    const tone = context.createOscillator();
    tone.frequency.value = pitch;
    tone.connect(volume);
    tone.start(context.currentTime + index * 0.12);
    tone.stop(context.currentTime + index * 0.12 + 0.2);
  }
  setTimeout(() => void context.close().catch(() => undefined), 1_000);
}
