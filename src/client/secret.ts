/** A value that hides itself: printed, serialized or concatenated, it becomes `[secret NAME]`. */

const inspect: unique symbol = Symbol.for('nodejs.util.inspect.custom') as never;

export class Secret<T = string> {
  readonly name: string;
  readonly #read: () => T;

  constructor(name: string, read: () => T) {
    this.name = name;
    this.#read = read;
    Object.freeze(this);
  }

  /** The current value. Throws if the vault has not confirmed it for too long, or has refused the access key. */
  reveal(): T {
    return this.#read();
  }

  toString(): string {
    return `[secret ${this.name}]`;
  }

  toJSON(): string {
    return this.toString();
  }

  [Symbol.toPrimitive](): string {
    return this.toString();
  }

  [inspect](): string {
    return this.toString();
  }
}
