/** `strongroom init`: creates the project file of this folder. It contains no secret, and never replaces a file. */
import { chmodSync } from 'node:fs';
import { resolve } from 'node:path';
import { createDurably } from '../../base/durable-file.ts';
import { names, socketIn } from '../../service/settings/options.ts';
import { Refusal } from '../../service/settings/report.ts';
import { adminFor } from '../connection/admin.ts';
import { projectFile } from '../connection/project.ts';
import { type Settings, serviceOptions, settingsFor } from '../connection/settings.ts';
import { vaultOf } from '../connection/vaults.ts';
import { logIn } from '../connection/workload.ts';
import { commandOf } from '../terminal/command.ts';
import { done, printable } from '../terminal/terminal.ts';
import { look } from './login.ts';

/** Others may read it, because it is meant to be committed; it would be ignored if they could write to it. */
const readableByAll = 0o644;

export const command = commandOf({
  usage: 'init [flags]',
  summary: 'create the project file of this folder',
  options: { ...serviceOptions, only: names('the secrets that the project uses (default: all)') },
  about: `Creates ${projectFile} in the current folder, with the address of the service and the vault, so that commands in this folder
need no --vault. The file contains no secret and can be committed. Checks that the vault exists.`,
  more: 'Example:\n  strongroom init --vault payments --only DATABASE_URL,API_TOKEN\n',
  run: async values => {
    const settings = settingsFor(values, process.env);
    // Fails if there is no key, or if the access key belongs to another vault.
    const known = new Set((await vaultOf(settings).names()).map(({ name }) => name));
    const vault = await vaultNameOf(settings);
    const missing = values.only.find(name => !known.has(name.normalize('NFC')));
    if (missing !== undefined)
      throw new Refusal(`there is no active secret ${printable(JSON.stringify(missing))} in this vault`);
    const project = {
      ...(socketIn(settings.url) === null ? { url: settings.url } : {}),
      vault,
      ...(values.only.length === 0 ? {} : { names: values.only }),
    };
    const file = resolve(projectFile);
    await create(file, `${JSON.stringify(project, null, 2)}\n`);
    done(
      values.json,
      { file, ...project },
      `${printable(file)} is created, for the vault ${printable(vault)}`,
    );
  },
});

/** The vault of the settings; without one, the only vault, or that of the access key. */
async function vaultNameOf(settings: Settings): Promise<string> {
  const { url, accessKey, apiKey, workload, vault } = settings;
  if (apiKey !== null && (accessKey === null || vault !== null))
    return (await adminFor(settings).vault(vault)).name;
  return (await look(url, accessKey ?? (await logIn(url, workload!, vault)))).vault!;
}

async function create(file: string, content: string): Promise<void> {
  try {
    await createDurably(file, content, readableByAll);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    throw new Refusal(`${printable(file)} exists already: edit it, or delete it first`);
  }
  // The umask of this process leaves only the owner's rights.
  chmodSync(file, readableByAll);
}
