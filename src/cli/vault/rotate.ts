/** `strongroom rotate` and `strongroom rotations`: new values by a secret's plan, and what rotates when. */
import { flag } from '../../service/settings/options.ts';
import { adminFor, inVault } from '../connection/admin.ts';
import { serviceOptions, settingsFor } from '../connection/settings.ts';
import { commandOf } from '../terminal/command.ts';
import { done, note, printable, printJson } from '../terminal/terminal.ts';

const rotateOptions = {
  ...serviceOptions,
  'end-previous': flag('end the previous value first, if it is still valid'),
};

export const rotateCommand = commandOf({
  usage: 'rotate NAME [flags]',
  summary: 'give a secret its next value now, by its rotation',
  options: rotateOptions,
  completes: 'secrets',
  about:
    'Rotates a secret now instead of when it is due. The new value is tried before it is used; if anything fails, the\nsecret keeps the value that it had.',
  more: 'Example:\n  strongroom rotate DATABASE_URL\n',
  missing: 'the name of a secret is required',
  upTo: 1,
  run: async (values, name) => {
    const { admin, vault } = await inVault(values);
    const { id } = await admin.find(vault.id, name);
    const body = values['end-previous'] ? { end_previous: true } : {};
    const rotated = await admin.rotateSecret({ id, body });
    done(values.json, rotated, `${printable(name)} is now version ${rotated.version}`);
  },
});

export const rotationsCommand = commandOf({
  usage: 'rotations [flags]',
  summary: 'list the secrets that rotate, the next first',
  options: serviceOptions,
  about:
    'Lists the secrets of the vault that rotate, when each rotates next, and why the last attempt failed, if it did.',
  run: async values => {
    const settings = settingsFor(values, process.env);
    const admin = adminFor(settings);
    const vault = await admin.vault(settings.vault);
    const all = [];
    for (let page = 1; ; page++) {
      const query = { vault_id: vault.id, page, limit: 100 };
      const { data, pagination } = await admin.listRotations({ query });
      all.push(...data);
      if (page * pagination.limit >= pagination.total) break;
    }
    if (values.json) return printJson(all);
    if (all.length === 0) return note('no secret of this vault rotates');
    for (const one of all) {
      const failing = one.failing_since === null ? '' : `  failing: ${printable(one.reason ?? '')}`;
      process.stdout.write(
        `${one.next_rotation_at.slice(0, 16)}  every ${one.every}  ${one.kind}  ${printable(one.name)}${failing}\n`,
      );
    }
  },
});
