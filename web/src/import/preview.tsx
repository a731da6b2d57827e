/** Previews an import item by item, with a checkbox to skip each, and shows the outcomes. */
import { useState } from 'react';
import { useForm } from '../api/form.ts';
import { Badge } from '../ui/badge.tsx';
import { Button } from '../ui/button.tsx';
import { DialogButtons } from '../ui/dialog.tsx';
import { Name } from '../ui/name.tsx';
import { Rows } from '../ui/table.tsx';
import { TextField } from '../ui/text-field.tsx';
import { carryOut, type Outcome, type Planned } from './plan.ts';

interface PreviewProps {
  readonly vaultId: string;
  readonly planned: readonly Planned[];
  readonly problems: readonly string[];
  readonly onBack: () => void;
  readonly onDone: () => void;
}

const kinds = { secret: 'secret', key: 'key', certificate: 'certificate', pkcs12: 'PKCS#12' } as const;

export function Preview({ vaultId, planned, problems, onBack, onDone }: PreviewProps) {
  const [left, setLeft] = useState<ReadonlySet<Planned>>(() => new Set(planned.filter(isSkipped)));
  const [outcomes, setOutcomes] = useState<ReadonlyMap<Planned, Outcome>>(new Map());
  const form = useForm({ passphrase: '' });
  const wanted = planned.filter(one => !left.has(one) && !outcomes.get(one)?.ok);
  const hasMaterial = planned.some(({ item }) => item.kind === 'pkcs12' || item.kind === 'key');
  async function run() {
    const results = await carryOut(vaultId, wanted, form.values.passphrase);
    setOutcomes(
      before => new Map([...before, ...wanted.map((one, index) => [one, results[index]!] as const)]),
    );
    if (results.every(({ ok }) => ok)) onDone();
  }
  /** Choosing an item unselects the others with the same name. */
  function toggle(one: Planned) {
    const next = new Set(left);
    if (next.delete(one)) {
      for (const other of planned) if (other !== one && other.place === one.place) next.add(other);
    } else next.add(one);
    setLeft(next);
  }
  const rows = planned.map((one, index) => ({ id: String(index), one }));
  return (
    <form className="flex flex-col gap-4" onSubmit={form.submit(run)}>
      {problems.map(problem => (
        <p key={problem} className="rounded-lg bg-warn-soft px-3 py-2 text-xs text-warn">
          {problem}
        </p>
      ))}
      {planned.length > 0 && (
        <div className="max-h-96 overflow-y-auto rounded-lg border">
          <Rows
            label="Changes"
            rows={rows}
            columns={[
              {
                id: 'use',
                header: 'Import',
                quiet: true,
                cell: ({ one }) => (
                  <input
                    type="checkbox"
                    aria-label={`Import ${one.item.name}`}
                    className="align-middle"
                    checked={!left.has(one)}
                    disabled={outcomes.get(one)?.ok ?? false}
                    onChange={() => toggle(one)}
                  />
                ),
              },
              {
                id: 'name',
                header: 'Name',
                wraps: true,
                cell: ({ one }) => (
                  <span className="font-mono text-xs">
                    <Name text={one.item.name} />
                  </span>
                ),
              },
              { id: 'kind', header: 'Kind', from: 'sm', cell: ({ one }) => kinds[one.item.kind] },
              {
                id: 'change',
                header: 'Change',
                wraps: true,
                cell: ({ one }) => <Change one={one} outcome={outcomes.get(one)} />,
              },
            ]}
          />
        </div>
      )}
      {hasMaterial && (
        <TextField
          form={form}
          name="passphrase"
          label="Passphrase"
          type="password"
          optional
          hint="For the PKCS#12 file or the encrypted keys."
        />
      )}
      <DialogButtons problem={form.problem}>
        <Button onClick={onBack}>Back</Button>
        <Button type="submit" look="primary" busy={form.busy} disabled={wanted.length === 0}>
          Import {wanted.length} of {planned.length}
        </Button>
      </DialogButtons>
    </form>
  );
}

/** An import never overwrites keys and certificates, and creates no new version of an unchanged secret. */
function isSkipped({ item, existing, superseded }: Planned): boolean {
  return superseded || existing?.same === true || (existing !== null && item.kind !== 'secret');
}

function Change({ one, outcome }: { one: Planned; outcome: Outcome | undefined }) {
  if (outcome) return <Badge tone={outcome.ok ? 'good' : 'bad'}>{outcome.text}</Badge>;
  if (one.superseded) return <Badge tone="warn">duplicate: the last one is used</Badge>;
  if (one.existing === null) return <Badge tone="good">new</Badge>;
  if (one.existing.same) return <Badge>unchanged</Badge>;
  if (one.item.kind !== 'secret') return <Badge tone="warn">name already in use</Badge>;
  return (
    <Badge tone="accent">
      new value, version {one.existing.version} → {one.existing.version + 1}
    </Badge>
  );
}
