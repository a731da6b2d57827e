/**
 * Guards the buttons by which a person allows something. A click counts only if they had time to see what it is about:
 * the buttons have stood still in the window, which was in front, for a while; the event is a real one, and not the second
 * click of two. So nothing that moves under the pointer, and no window that is opened or closed under it, gets a click
 * that was meant for something else.
 */
import { type SyntheticEvent, useEffect, useRef, useState } from 'react';

/** In milliseconds. People take longer to notice that something changed and to hold back a click. */
const timeToSee = 700;

interface Settings {
  /** Whether the person must have done something on the page before: moved the pointer, scrolled, pressed a key, clicked. */
  readonly afterGesture?: boolean;
}

export interface Decision {
  /** For the element that contains the buttons. */
  readonly area: React.RefObject<HTMLDivElement | null>;
  readonly isReady: boolean;
  /** Whether a click was not counted: then the person is told. */
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

  /** Browsers make up moves of a pointer that rests, where the page changes under it. Enter and the space bar are clicks. */
  readonly #noteGesture = (event: Event) => {
    if (!event.isTrusted) return;
    if (event instanceof PointerEvent && event.type === 'pointermove') {
      const point = `${event.screenX} ${event.screenY}`;
      this.#hasGesture ||= this.#point !== '' && this.#point !== point;
      this.#point = point;
    } else if (!(event instanceof KeyboardEvent && [' ', 'Enter'].includes(event.key)))
      // Once it has been dealt with: a click is no gesture before itself.
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
