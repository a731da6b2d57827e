/** The rotation of a secret: its plan, what was rotated, and a rotation now. Loaded when a secret has one. */
import { RotateCcw } from 'lucide-react';
import { post } from '../../api/client.ts';
import type { PastRotation, ScheduledRotation, Secret } from '../../api/types.ts';
import { useList, useRefresh } from '../../api/use.ts';
import { useMay } from '../../session/session.tsx';
import { PanelPart } from '../../shared/item-panel.tsx';
import { ConfirmButton } from '../../ui/confirm.tsx';
import { Facts } from '../../ui/facts.tsx';
import { Ago, Exact } from '../../ui/time.tsx';
import { note } from '../../ui/toast.tsx';

const kinds: Readonly<Record<ScheduledRotation['kind'], string>> = {
  random: 'random value',
  postgresql: 'PostgreSQL password',
  http: 'created by a service',
};
const states: Readonly<Record<PastRotation['state'], string>> = {
  creating: 'begun',
  created: 'being tried',
  overlapping: 'previous value still valid',
  done: 'done',
  abandoning: 'being abandoned',
  abandoned: 'abandoned',
};

export default function SecretRotation({ secret }: { secret: Secret }) {
  const may = useMay();
  const { rotation } = secret;
  const past = useList<PastRotation>(`secrets/${secret.id}/rotations`, { limit: '5' });
  if (rotation === null) return null;
  const overlap = rotation.overlap === '0' ? 'none' : rotation.overlap;
  return (
    <PanelPart title="Rotation">
      <Facts
        facts={[
          ['New value', `every ${rotation.every}, ${kinds[rotation.by.kind]}`],
          ['Next', <Exact key="next" at={secret.next_rotation_at!} />],
          ['Overlap', overlap],
        ]}
      />
      {past.data && past.data.data.length > 0 && (
        <ul aria-label="Rotations" className="mt-3 space-y-1 text-sm">
          {past.data.data.map(({ id, state, version, created_at }) => (
            <li key={id}>
              <Ago at={created_at} />: {states[state]}
              {version !== null && <span className="text-muted"> · version {version}</span>}
            </li>
          ))}
        </ul>
      )}
      {may('secrets:write') && (
        <div className="mt-3">
          <RotateNow secret={secret} />
        </div>
      )}
    </PanelPart>
  );
}

function RotateNow({ secret }: { secret: Secret }) {
  const refresh = useRefresh();
  async function rotate() {
    await post(`/v1/secrets/${secret.id}/rotate`);
    await refresh('secrets', 'versions', 'rotations');
    note('Rotated');
  }
  return (
    <ConfirmButton
      size="small"
      label={
        <>
          <RotateCcw className="size-4" aria-hidden /> Rotate now
        </>
      }
      title={`Rotate ${secret.name} now?`}
      text={
        secret.rotation?.overlap === '0'
          ? 'It gets a new value, and the current one stops being valid.'
          : 'It gets a new value. The current one stays valid until the overlap ends.'
      }
      action="Rotate now"
      confirmLook="primary"
      onConfirm={rotate}
    />
  );
}
