/** Actions on several selected secrets: tag, move, disable, delete and export. */
import { useState } from 'react';
import { ApiError, get, post, query, remove, sentence } from '../../api/client.ts';
import { useForm } from '../../api/form.ts';
import type { BulkAnswer, List, Secret } from '../../api/types.ts';
import { type Parameters, useRefresh } from '../../api/use.ts';
import { useMay } from '../../session/session.tsx';
import { Button } from '../../ui/button.tsx';
import { ConfirmButton } from '../../ui/confirm.tsx';
import { FormDialog } from '../../ui/form-dialog.tsx';
import type { Selection } from '../../ui/selection.ts';
import { TagsField, tagsOf } from '../../ui/tags-field.tsx';
import { CheckField } from '../../ui/text-field.tsx';
import { note } from '../../ui/toast.tsx';
import { VaultField } from '../../ui/vaults-field.tsx';
import { download, revealAll } from './export-secrets.ts';
import { type ExportFormat, textOf, unsafeAmong } from './export-text.ts';

const atOnce = 100;

interface SelectionBarProps {
  readonly selection: Selection<Secret>;
  /** The number of secrets that match the filter. */
  readonly total: number;
  readonly filter: Parameters;
}

export function SelectionBar({ selection, total, filter }: SelectionBarProps) {
  const may = useMay();
  const refresh = useRefresh();
  const [open, setOpen] = useState<'tag' | 'move' | null>(null);
  const secrets = [...selection.chosen.values()];
  const count = `${secrets.length} ${secrets.length === 1 ? 'secret' : 'secrets'}`;

  /** Secrets that failed are named with the reason, and stay selected. */
  async function finish(done: string, failed: readonly Failed[]) {
    await refresh('secrets', 'vaults', 'resources', 'versions');
    selection.keep(failed.map(({ secret }) => secret));
    setOpen(null);
    if (failed.length === 0) note(`${count} ${done}`);
    else note(`${secrets.length - failed.length} of ${count} ${done} ${inWords(failed)}`, { bad: true });
  }
  const disable = async (enabled: boolean) =>
    finish(enabled ? 'enabled.' : 'disabled.', await writeAll(secrets, () => ({ enabled })));
  async function discard() {
    const failed: Failed[] = [];
    for (const secret of secrets)
      await remove(`/v1/secrets/${secret.id}`).catch(error =>
        failed.push({ secret, reason: sentence(error) }),
      );
    await finish('deleted. They can be restored from the trash.', failed);
  }
  if (secrets.length === 0) return null;
  return (
    <section
      aria-label="Selected secrets"
      className="surface sticky top-2 z-10 flex flex-wrap items-center gap-2 px-4 py-2.5"
    >
      <span className="mr-2 font-medium tabular-nums" role="status">
        {secrets.length} selected
      </span>
      {may('secrets:write') && (
        <>
          <Button size="small" onClick={() => setOpen('tag')}>
            Tag
          </Button>
          {may('secrets:reveal') && (
            <Button size="small" onClick={() => setOpen('move')}>
              Move
            </Button>
          )}
          <Button size="small" onClick={() => disable(secrets.every(({ enabled }) => !enabled))}>
            {secrets.every(({ enabled }) => !enabled) ? 'Enable' : 'Disable'}
          </Button>
        </>
      )}
      {may('secrets:reveal') && (
        <>
          <Export secrets={secrets} format="env" label="Export .env" />
          <Export secrets={secrets} format="json" label="Export JSON" />
        </>
      )}
      {may('secrets:write') && (
        <ConfirmButton
          size="small"
          label="Delete"
          title={`Delete ${count}?`}
          text="They can no longer be read. You can restore them from the trash for 30 days."
          action="Delete"
          onConfirm={discard}
        />
      )}
      <span className="ml-auto flex gap-1">
        {secrets.length < total && <SelectAll selection={selection} total={total} filter={filter} />}
        <Button look="quiet" size="small" onClick={selection.clear}>
          Clear
        </Button>
      </span>
      {open === 'tag' && <TagDialog secrets={secrets} onClose={() => setOpen(null)} onDone={finish} />}
      {open === 'move' && <MoveDialog secrets={secrets} onClose={() => setOpen(null)} onDone={finish} />}
    </section>
  );
}

const mostSelected = 1_000;

function SelectAll({ selection, total, filter }: SelectionBarProps) {
  const [busy, setBusy] = useState(false);
  async function all() {
    setBusy(true);
    const found: Secret[] = [];
    for (let page = 1; found.length < Math.min(total, mostSelected); page++) {
      const { data } = await get<List<Secret>>(`/v1/secrets${query({ ...filter, page, limit: atOnce })}`);
      if (data.length === 0) break;
      found.push(...data);
    }
    selection.add(found);
    setBusy(false);
  }
  return (
    <Button look="quiet" size="small" busy={busy} onClick={all}>
      Select all {Math.min(total, mostSelected).toLocaleString('en')}
    </Button>
  );
}

const unsafeName = (name: string) => `${name} can change which program runs: deselect it, or export JSON`;

function Export({
  secrets,
  format,
  label,
}: {
  secrets: readonly Secret[];
  format: ExportFormat;
  label: string;
}) {
  async function run() {
    const unsafe = format === 'env' ? unsafeAmong(secrets) : null;
    if (unsafe !== null) throw new ApiError(400, { error: { message: unsafeName(unsafe) } });
    const revealed = await revealAll(secrets.map(({ id }) => id));
    download(format === 'env' ? 'secrets.env' : 'secrets.json', textOf(revealed, format));
  }
  return (
    <ConfirmButton
      look="plain"
      size="small"
      label={label}
      title={`Export ${secrets.length} ${secrets.length === 1 ? 'value' : 'values'}?`}
      text="The file contains the values unencrypted. Each is recorded in the audit log as revealed by you."
      action="Export"
      onConfirm={run}
    />
  );
}

interface DialogProps {
  readonly secrets: readonly Secret[];
  readonly onClose: () => void;
  readonly onDone: (done: string, failed: readonly Failed[]) => Promise<void>;
}

function TagDialog({ secrets, onClose, onDone }: DialogProps) {
  const form = useForm({ tags: '' });
  async function save({ tags }: typeof form.values) {
    const added = tagsOf(tags);
    await onDone('tagged.', await writeAll(secrets, one => ({ tags: { ...one.tags, ...added } })));
  }
  return (
    <FormDialog
      title="Add tags"
      description="Tags with the same name are replaced; others are kept."
      form={form}
      onSubmit={save}
      onClose={onClose}
      action="Add tags"
    >
      <TagsField form={form} />
    </FormDialog>
  );
}

function MoveDialog({ secrets, onClose, onDone }: DialogProps) {
  const form = useForm({ vault_id: '', copy: false });
  async function save({ vault_id, copy }: typeof form.values) {
    const failed = await inStretches(secrets, some =>
      post('/v1/secrets/copy', { secret_ids: some.map(({ id }) => id), vault_id, move: !copy }),
    );
    await onDone(copy ? 'copied.' : 'moved.', failed);
  }
  return (
    <FormDialog
      title="Move to another vault"
      description="A secret with the same name in that vault gets a new version. Earlier versions stay in this vault’s trash."
      form={form}
      onSubmit={save}
      onClose={onClose}
      action={form.values.copy ? 'Copy' : 'Move'}
    >
      <VaultField form={form} />
      <CheckField form={form} name="copy" label="Keep a copy here" />
    </FormDialog>
  );
}

interface Failed {
  readonly secret: Secret;
  readonly reason: string;
}

const mostNamed = 5;

function inWords(failed: readonly Failed[]): string {
  const named = failed.slice(0, mostNamed).map(({ secret, reason }) => `${secret.name}: ${reason}`);
  const more = failed.length - named.length;
  return `Not done: ${named.join('; ')}${more > 0 ? `; and ${more} more, which stay selected` : ''}`;
}

function writeAll(secrets: readonly Secret[], changes: (one: Secret) => object): Promise<Failed[]> {
  return inStretches(secrets, some =>
    post('/v1/secrets/bulk', { items: some.map(one => ({ id: one.id, ...changes(one) })) }),
  );
}

/** Sends the secrets in batches, and returns those that failed or wait for review. */
async function inStretches(
  secrets: readonly Secret[],
  send: (some: readonly Secret[]) => Promise<BulkAnswer>,
): Promise<Failed[]> {
  const failed: Failed[] = [];
  for (let at = 0; at < secrets.length; at += atOnce) {
    const some = secrets.slice(at, at + atOnce);
    for (const { index, error, proposal } of (await send(some)).results) {
      const secret = some[index]!;
      if (proposal) failed.push({ secret, reason: 'sent for review' });
      else if (error) failed.push({ secret, reason: error.details.reason || error.message });
    }
  }
  return failed;
}
