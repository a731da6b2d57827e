/** A panel's place for a form, which replaces the panel's content instead of opening in a dialog above it. */
import { createContext, useContext } from 'react';

export interface PanelPlace {
  /** Null until the panel is mounted. */
  readonly element: HTMLElement | null;
  /** Called when a form opens; returns a function to call when it closes. */
  readonly take: () => () => void;
}

export const PanelPlaceContext = createContext<PanelPlace | null>(null);

/** Null outside a panel. */
export function usePanelPlace(): PanelPlace | null {
  return useContext(PanelPlaceContext);
}
