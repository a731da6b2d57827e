/** `strongroom inject`: replaces the references in a template. If one fails, nothing is written. */
import { type Option, text } from '../../service/settings/options.ts';
import { Refusal } from '../../service/settings/report.ts';
import { referenceIn, resolver } from '../connection/references.ts';
import { serviceOptions, settingsFor } from '../connection/settings.ts';
import { commandOf } from '../terminal/command.ts';
import { contentOf, standardInput } from '../terminal/input.ts';
import { outOption, printTo } from '../terminal/terminal.ts';
import { refuseUnsafe, unsafeNames } from './unsafe-names.ts';

const { json: _, ...place } = serviceOptions;
const options = {
  ...place,
  in: { ...text('FILE', 'the template (default: standard input)'), short: 'i' } as Option<string | null>,
  out: { ...outOption.out, short: 'o' } as Option<string | null>,
  ...unsafeNames,
};

export const command = commandOf({
  usage: 'inject [-i TEMPLATE] [-o FILE] [flags]',
  summary: 'fill a template with secrets',
  options,
  completes: 'files',
  about:
    'Replaces {{ sr://vault/NAME }} and sr://vault/NAME in a template with the values. The vault self is the one in the settings.',
  run: async values => {
    const template = values.in === null ? await standardInput() : contentOf(values.in);
    refuseUnsafe(assigned(template), values);
    const filled = await fill(template, resolver(settingsFor(values, process.env)));
    await printTo(values.out, filled);
  },
});

/** In braces, a name may contain anything except braces and white space; elsewhere, it ends where a URL would. */
const references = /\{\{\s*(sr:\/\/[^\s{}]+)\s*\}\}|sr:\/\/[^\s/"'`{}<>]+\/[\w.~%-]*[\w~%-]/g;

/** The names to which a template assigns references, in the syntax of shells, dotenv files, YAML and JSON. */
function assigned(template: string): string[] {
  return [...template.matchAll(references)].flatMap(({ index }) => {
    const line = template.slice(template.lastIndexOf('\n', index) + 1, index);
    return /([^\s"'`=:,{]+)["']?\s*[=:]\s*["'`]?$/.exec(line)?.[1] ?? [];
  });
}

/** Values that were filled in are not searched again, because they may contain anything. */
async function fill(template: string, resolve: ReturnType<typeof resolver>): Promise<string> {
  const found = [...template.matchAll(references)];
  const values = await Promise.all(
    found.map(([whole, inner]) => {
      const reference = referenceIn(inner ?? whole);
      if (reference === null) throw new Refusal('the template contains an incomplete reference');
      return resolve(reference);
    }),
  );
  let at = 0;
  const parts = found.map((match, index) => {
    const before = template.slice(at, match.index);
    at = match.index + match[0].length;
    return before + values[index];
  });
  return parts.join('') + template.slice(at);
}
