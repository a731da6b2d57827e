/** How commands tell ids from names, and the error for an unknown secret. */
import { Refusal } from '../../service/settings/report.ts';
import { printable } from '../terminal/terminal.ts';

export const isId = (text: string) => /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i.test(text);

export function unknownSecret(name: string): Refusal {
  return new Refusal(`there is no active secret ${printable(JSON.stringify(name))}`);
}
