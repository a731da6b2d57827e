/** Whether a person has the page before them, or is told outside of it. Who goes away gives up what is being waited for. */

/** In milliseconds, since the page was last touched. */
const attention = 60 * 60 * 1000;
const touches = ['pointerdown', 'keydown', 'focus'] as const;

export class Presence {
  #touchedAt = Date.now();
  #isLeft = false;
  /** Of what is waited for while somebody is there. */
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

  /** Aborted once nobody is there. */
  get signal(): AbortSignal {
    return this.#stay.signal;
  }

  /** Resolves once somebody is; false once the page is left for good. */
  async isThere(): Promise<boolean> {
    while (!this.#isLeft && !this.#isWanted()) {
      this.#stay.abort();
      await this.#woken();
    }
    if (this.#stay.signal.aborted) this.#stay = new AbortController();
    return !this.#isLeft;
  }

  /** Shorter where somebody comes back meanwhile. */
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

/** Whether a person is told outside of the page, so that a page that nobody looks at is worth asking for. */
function isTold(): boolean {
  return 'Notification' in window && Notification.permission === 'granted';
}
