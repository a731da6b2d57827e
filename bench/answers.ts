/** Assembles the answers of one connection from the chunks that arrive; long answers come in parts. */
export class Answers {
  #parts: Buffer[] = [];
  #have = 0;
  #need = 0;

  /** The status, once an answer is complete. */
  add(chunk: Buffer): string | null {
    this.#parts.push(chunk);
    this.#have += chunk.length;
    if (this.#need === 0)
      this.#need = lengthOf(this.#parts.length === 1 ? chunk : Buffer.concat(this.#parts));
    if (this.#need === 0 || this.#have < this.#need) return null;
    const status = this.#parts[0]!.toString('latin1', 9, 12);
    [this.#parts, this.#have, this.#need] = [[], 0, 0];
    return status;
  }
}

/** The length of the answer that begins here, or 0 while its head is incomplete. */
function lengthOf(bytes: Buffer): number {
  const head = bytes.indexOf('\r\n\r\n');
  if (head < 0) return 0;
  const length = /content-length: (\d+)/i.exec(bytes.toString('latin1', 0, head));
  return head + 4 + Number(length?.[1] ?? 0);
}
