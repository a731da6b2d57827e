/** A secret as commands read it, and the error for an unknown one. */
import { Refusal } from '../../service/settings/report.ts';
import { printable } from '../terminal/terminal.ts';

export interface ReadSecret {
  readonly id: string;
  readonly name: string;
  readonly value: string;
  readonly content_type: string;
}

export const isId = (text: string) => /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i.test(text);

export function unknownSecret(name: string): Refusal {
  return new Refusal(`there is no active secret ${printable(JSON.stringify(name))}`);
}
