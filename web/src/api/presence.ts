/**
 * Whether the page is in use: visible, or allowed to show notifications, with input in the last hour. Requests that wait
 * on its behalf are aborted when it no longer is.
 */

/** In milliseconds since the last input. */
const attention = 60 * 60 * 1000;
const touches = ['pointerdown', 'keydown', 'focus'] as const;

export class Presence {
  #touchedAt = Date.now();
  #isLeft = false;
  /** Aborts the requests that wait while the page is in use. */
  #stay = new AbortController();
  #wake = () => {};
  readonly #touch = () => {
    this.#touchedAt = Date.now();
    if (this.#stay.signal.aborted) this.#wake();
  };
  readonly #see = () => {
    if (this.#isWanted()) this.#wake();
    else this.#stay.abort();
  };

  constructor() {
    for (const kind of touches) window.addEventListener(kind, this.#touch);
    document.addEventListener('visibilitychange', this.#see);
  }

  /** Aborted when the page is no longer in use. */
  get signal(): AbortSignal {
    return this.#stay.signal;
  }

  /** Resolves to true when the page is in use, to false when it has been left. */
  async isThere(): Promise<boolean> {
    while (!this.#isLeft && !this.#isWanted()) {
      this.#stay.abort();
      await this.#woken();
    }
    if (this.#stay.signal.aborted) this.#stay = new AbortController();
    return !this.#isLeft;
  }

  /** Ends early if the page comes back into use. */
  async pause(milliseconds: number): Promise<void> {
    const woken = this.#woken();
    const timer = setTimeout(this.#wake, milliseconds);
    await woken;
    clearTimeout(timer);
  }

  leave(): void {
    this.#isLeft = true;
    for (const kind of touches) window.removeEventListener(kind, this.#touch);
    document.removeEventListener('visibilitychange', this.#see);
    this.#stay.abort();
    this.#wake();
  }

  #isWanted(): boolean {
    if (Date.now() - this.#touchedAt > attention) return false;
    return !document.hidden || isTold();
  }

  #woken(): Promise<void> {
    return new Promise(resolve => {
      this.#wake = resolve;
    });
  }
}

/** Whether the person allowed notifications, so that a hidden page still needs updates. */
function isTold(): boolean {
  return 'Notification' in window && Notification.permission === 'granted';
}
