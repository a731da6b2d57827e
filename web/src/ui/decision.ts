/**
 * Guards buttons that grant something against clickjacking. A click counts only if the person had time to see the
 * request: the buttons have not moved for a while in a visible, focused window, and the event is trusted and not the
 * second of a double click. So a click meant for something else can't hit a button that moves under the pointer or
 * appears under it when a window opens or closes.
 */
import { type SyntheticEvent, useEffect, useRef, useState } from 'react';

/** In milliseconds: enough time to notice a change and hold back a click. */
const timeToSee = 700;

interface Settings {
  /** Whether the person must have interacted with the page first: moved the pointer, scrolled, pressed a key or clicked. */
  readonly afterGesture?: boolean;
}

export interface Decision {
  /** For the element that contains the buttons. */
  readonly area: React.RefObject<HTMLDivElement | null>;
  readonly isReady: boolean;
  /** Whether the last click was ignored, so that the page can say so. */
  readonly isIgnored: boolean;
  guarded(action: (event: SyntheticEvent) => void): (event: SyntheticEvent) => void;
}

export function useDecision({ afterGesture = false }: Settings = {}): Decision {
  const area = useRef<HTMLDivElement>(null);
  const watch = useRef<Watch | null>(null);
  const [isReady, setReady] = useState(false);
  const [isIgnored, setIgnored] = useState(false);
  useEffect(() => {
    const watching = new Watch(area.current!, setReady);
    watch.current = watching;
    return () => watching.stop();
  }, []);
  return {
    area,
    isReady,
    isIgnored,
    guarded: action => event => {
      event.preventDefault();
      const counts = watch.current?.takes(event.nativeEvent, afterGesture) ?? false;
      setIgnored(!counts);
      if (counts) action(event);
    },
  };
}

class Watch {
  readonly #element: HTMLElement;
  readonly #tell: (isReady: boolean) => void;
  readonly #ended = new AbortController();
  #place = '';
  #since = Number.POSITIVE_INFINITY;
  #hasGesture = false;
  #point = '';

  constructor(element: HTMLElement, tell: (isReady: boolean) => void) {
    this.#element = element;
    this.#tell = tell;
    const { signal } = this.#ended;
    for (const kind of ['focus', 'blur', 'pageshow', 'resize'])
      window.addEventListener(kind, this.#restart, { signal });
    document.addEventListener('visibilitychange', this.#restart, { signal });
    for (const kind of ['pointermove', 'wheel', 'touchmove', 'keydown', 'click'])
      window.addEventListener(kind, this.#noteGesture, { signal, passive: true, capture: true });
    this.#look();
  }

  takes(event: Event, afterGesture: boolean): boolean {
    this.#measure();
    const isSecond = event instanceof UIEvent && event.detail > 1;
    return event.isTrusted && !isSecond && this.#isSteady() && (this.#hasGesture || !afterGesture);
  }

  stop(): void {
    this.#ended.abort();
  }

  readonly #restart = () => {
    this.#place = '';
    this.#tell(false);
  };

  /**
   * Browsers synthesize pointer moves for a resting pointer when the page changes under it, so the position must differ.
   * Enter and the space bar don't count: they are clicks.
   */
  readonly #noteGesture = (event: Event) => {
    if (!event.isTrusted) return;
    if (event instanceof PointerEvent && event.type === 'pointermove') {
      const point = `${event.screenX} ${event.screenY}`;
      this.#hasGesture ||= this.#point !== '' && this.#point !== point;
      this.#point = point;
    } else if (!(event instanceof KeyboardEvent && [' ', 'Enter'].includes(event.key)))
      // After the event was handled: a click must not count as the gesture before itself.
      setTimeout(() => {
        this.#hasGesture = true;
      });
  };

  readonly #look = () => {
    if (this.#ended.signal.aborted) return;
    this.#measure();
    this.#tell(this.#isSteady());
    requestAnimationFrame(this.#look);
  };

  #isSteady(): boolean {
    return performance.now() - this.#since >= timeToSee;
  }

  #measure(): void {
    const { left, top, width, height } = this.#element.getBoundingClientRect();
    const { offsetLeft = 0, offsetTop = 0, scale = 1 } = window.visualViewport ?? {};
    const isSeen = document.visibilityState === 'visible' && document.hasFocus();
    const place = isSeen ? [left, top, width, height, offsetLeft, offsetTop, scale].join() : '';
    if (place === this.#place && place !== '') return;
    this.#place = place;
    this.#since = place === '' ? Number.POSITIVE_INFINITY : performance.now();
  }
}
