/** `strongroom unseal`: gives a share to a sealed service. The share is read from standard input, never from a flag. */
import { flag, serviceAddress } from '../../service/settings/options.ts';
import { Refusal } from '../../service/settings/report.ts';
import { ask, jsonOf, refusalOf } from '../connection/remote.ts';
import { placeFor } from '../connection/settings.ts';
import { commandOf } from '../terminal/command.ts';
import { valueFrom } from '../terminal/input.ts';
import { printJson } from '../terminal/terminal.ts';

interface Seal {
  readonly sealed: boolean;
  readonly progress: { readonly given: number; readonly needed: number };
}

export const command = commandOf({
  usage: 'unseal [-|@FILE] [flags]',
  summary: 'give a share of the root key to a sealed service',
  options: { url: serviceAddress, json: flag('print JSON') },
  upTo: 1,
  about:
    'Gives one share to a sealed service, from the terminal, standard input or @FILE. Each person gives their own; once enough were given, the service starts.',
  run: async (values, source) => {
    const { url } = placeFor({ url: values.url, vault: null, profile: null }, process.env);
    const before = await sealOf(url);
    if (!before.sealed) return say(values.json, before);
    if (source !== '' && source !== '-' && !source.startsWith('@'))
      throw new Refusal(
        'a share in an argument would be visible to other users: use standard input or @FILE',
      );
    const share = (await valueFrom(source === '' ? undefined : source, 'Share: ')).trim();
    const answer = await ask(url, { method: 'POST', path: '/v1/unseal', key: null, body: { share } });
    if (answer.status !== 200) throw refusalOf(url, answer);
    say(values.json, jsonOf(url, answer) as Seal);
  },
});

async function sealOf(url: string): Promise<Seal> {
  const answer = await ask(url, { path: '/v1/seal', key: null });
  if (answer.status !== 200) throw refusalOf(url, answer);
  return jsonOf(url, answer) as Seal;
}

function say(json: boolean, seal: Seal): void {
  const { given, needed } = seal.progress;
  if (json) printJson(seal);
  else
    process.stdout.write(seal.sealed ? `Sealed: ${given} of ${needed} shares were given\n` : 'Not sealed\n');
}
