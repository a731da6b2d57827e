/**
 * Short messages in the corner about what was done, with an undo button where possible. What shows them is loaded with
 * the first message, or earlier if the person uses the page; messages that come before wait for it.
 */
export interface Note {
  readonly title: string;
  readonly bad: boolean;
  readonly undo: (() => void) | undefined;
}

const early: Note[] = [];
let add = (one: Note): void => {
  early.push(one);
  void load();
};
let load = async (): Promise<void> => undefined;

export function note(title: string, { undo, bad = false }: { undo?: () => void; bad?: boolean } = {}): void {
  add({ title, bad, undo });
}

/** Reports an edit, or that nothing was changed. */
export function noteUpdate(what: string, isChanged: boolean): void {
  note(isChanged ? `${what} updated` : 'Nothing was changed');
}

/** Called once, by what shows the messages. */
export function showNotes(show: (one: Note) => void): void {
  add = show;
  for (const one of early.splice(0)) show(one);
}

/** Called by the place of the messages: what to load when there are any. */
export function whenNoted(next: () => Promise<void>): void {
  load = next;
  if (early.length > 0) void load();
}
