/** `strongroom find`: searches the names and tags of everything that the API key may see, in all vaults. */
import { choice } from '../../service/settings/options.ts';
import { UsageError } from '../../service/settings/report.ts';
import { type Admin, adminIn, vaultNames } from '../connection/admin.ts';
import { byName, type ListedResource, resourcesOf, resourceTypes } from '../connection/resources.ts';
import { serviceOptions } from '../connection/settings.ts';
import { tagOption } from '../connection/tags.ts';
import { commandOf } from '../terminal/command.ts';
import { printList } from '../terminal/terminal.ts';

const mostWords = 20;
const { vault: _, ...others } = serviceOptions;
const options = {
  ...others,
  tag: tagOption('only resources with this tag'),
  type: choice('only resources of this type', resourceTypes),
};

export const command = commandOf({
  usage: 'find WORD... [flags]',
  summary: 'search names and tags in all vaults',
  options,
  about:
    'Prints the secrets, keys and certificates whose names contain every WORD, in all vaults that the API key may see:\nvault, name, type and tags. Upper and lower case are the same. A word with = in it is a tag.',
  more: 'Examples:\n  strongroom find stripe\n  strongroom find db team=payments --json\n',
  upTo: mostWords,
  run: async (values, first, rest) => {
    const words = [first, ...rest].filter(word => word !== '');
    const tags = [...values.tag.map(pair => pair.join('=')), ...words.filter(isTag)];
    const parts = words.filter(word => !isTag(word)).sort((a, b) => b.length - a.length);
    if (tags.length + parts.length === 0)
      throw new UsageError('a part of a name is required, or a tag such as team=payments');
    const admin = adminIn(values);
    const found = await search(admin, values.type === null ? resourceTypes : [values.type], parts, tags);
    const vaults = await vaultNames(admin);
    const shown = found.map(one => ({ ...one, vault: vaults.get(one.vault_id) ?? one.vault_id }));
    printList(values.json, inOrder(shown), one => [one.vault, one.name, one.type, tagsOf(one).join(' ')]);
  },
});

const isTag = (word: string) => word.indexOf('=') > 0;

/** The service searches for the longest word and the first tag; the others are looked for here. */
async function search(
  admin: Admin,
  types: Parameters<typeof resourcesOf>[1],
  [longest, ...others]: readonly string[],
  [tag, ...further]: readonly string[],
): Promise<ListedResource[]> {
  const query = { ...(longest === undefined ? {} : { q: longest }), ...(tag === undefined ? {} : { tag }) };
  const all = await resourcesOf(admin, types, query);
  return all.filter(
    one =>
      others.every(word => folded(one.name).includes(folded(word))) &&
      further.every(wanted => tagsOf(one).includes(wanted)),
  );
}

const folded = (text: string) => text.normalize('NFC').toLowerCase();

function tagsOf({ tags }: ListedResource): string[] {
  return Object.entries(tags).map(([name, value]) => `${name}=${value}`);
}

function inOrder<T extends { readonly vault: string; readonly name: string }>(all: readonly T[]): T[] {
  return byName(all).sort((a, b) => (a.vault === b.vault ? 0 : a.vault < b.vault ? -1 : 1));
}
