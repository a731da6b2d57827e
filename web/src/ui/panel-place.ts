/** A panel has one place for a form: it stands there instead of what the panel shows, and not in a window above it. */
import { createContext, useContext } from 'react';

export interface PanelPlace {
  /** Null until the panel is there. */
  readonly element: HTMLElement | null;
  /** Called when a form takes the place, and what it returns when it leaves. */
  readonly take: () => () => void;
}

export const PanelPlaceContext = createContext<PanelPlace | null>(null);

/** Null where there is no panel around. */
export function usePanelPlace(): PanelPlace | null {
  return useContext(PanelPlaceContext);
}
