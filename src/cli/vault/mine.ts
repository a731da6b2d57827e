/** `strongroom mine …`: a person's own values for the secrets of a vault, which `run --mine` uses. */
import { flag } from '../../service/settings/options.ts';
import { Refusal } from '../../service/settings/report.ts';
import { personalValues } from '../connection/personal-values.ts';
import { placeFor, serviceOptions } from '../connection/settings.ts';
import { commandOf } from '../terminal/command.ts';
import { valueFrom } from '../terminal/input.ts';
import { done, note, printable, printJson } from '../terminal/terminal.ts';
import { warningsFor } from './value-warnings.ts';

const mostNames = 1_000;

export const setCommand = commandOf({
  usage: 'mine set NAME [-|@FILE] [flags]',
  summary: 'store a value for yourself, which run --mine uses',
  options: {
    ...serviceOptions,
    'no-keyring': flag('keep the key of your values in a file, not in the system’s keyring'),
  },
  completes: 'secrets',
  about:
    'Stores a value on this machine, encrypted. run --mine uses it instead of the vault’s value, or in addition to them.\nNothing is sent to the service.',
  more: 'Example:\n  strongroom mine set DATABASE_URL @local-url.txt\n',
  missing: 'the name of a secret is required',
  upTo: 2,
  run: async (values, name, [given]) => {
    const place = placeFor(values, process.env);
    const value = await valueFrom(given, `Your value of ${printable(name)}: `);
    for (const warning of warningsFor(value)) note(`warning: the value ${warning}`);
    await personalValues(place, process.env).change(
      before => ({ ...before, [name.normalize('NFC')]: value }),
      values['no-keyring'] ? null : process.env,
    );
    const where =
      place.vault === null ? 'for runs that name no vault' : `in the vault ${printable(place.vault)}`;
    done(values.json, { name }, `${printable(name)} has a value of your own ${where}`);
  },
});

export const listCommand = commandOf({
  usage: 'mine list [flags]',
  summary: 'print the names of your own values',
  options: serviceOptions,
  about: 'Prints the names for which you have stored values on this machine for this vault, never a value.',
  more: 'Example:\n  strongroom mine list --vault payments\n',
  run: async values => {
    const names = Object.keys(personalValues(placeFor(values, process.env), process.env).read()).sort();
    if (values.json) printJson(names.map(name => ({ name })));
    else process.stdout.write(names.map(name => `${printable(name)}\n`).join(''));
  },
});

export const removeCommand = commandOf({
  usage: 'mine rm NAME... [flags]',
  summary: 'delete your own values',
  options: serviceOptions,
  about: 'Deletes values that you have stored on this machine. The secrets of the vault stay as they are.',
  more: 'Example:\n  strongroom mine rm DATABASE_URL\n',
  missing: 'the name of a value is required',
  upTo: mostNames,
  run: async (values, first, others) => {
    const names = [first, ...others].map(name => name.normalize('NFC'));
    const own = personalValues(placeFor(values, process.env), process.env);
    const known = own.read();
    const unknown = names.find(name => !(name in known));
    if (unknown !== undefined)
      throw new Refusal(`you have no value for ${printable(JSON.stringify(unknown))}`);
    await own.change(
      before => Object.fromEntries(Object.entries(before).filter(([name]) => !names.includes(name))),
      process.env,
    );
    done(
      values.json,
      names.map(name => ({ name, deleted: true })),
      `your ${names.length === 1 ? 'value' : 'values'} of ${names.map(printable).join(', ')} ${names.length === 1 ? 'is' : 'are'} deleted`,
    );
  },
});
