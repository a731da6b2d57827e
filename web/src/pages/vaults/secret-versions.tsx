/** The versions of a secret: compares an earlier one with the current one, or rolls back to it. */
import { GitCompare, RotateCcw } from 'lucide-react';
import { useState } from 'react';
import { post, sentence } from '../../api/client.ts';
import type { Secret, Version } from '../../api/types.ts';
import { useRefresh } from '../../api/use.ts';
import { useMay } from '../../session/session.tsx';
import { PanelPart } from '../../shared/item-panel.tsx';
import { Badge } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { ConfirmButton } from '../../ui/confirm.tsx';
import { Problem } from '../../ui/dialog.tsx';
import { note } from '../../ui/toast.tsx';
import { revealSecret, useShown } from './reveal.ts';
import { type Compared, VersionComparison } from './version-comparison.tsx';
import { useVersions, VersionList } from './version-list.tsx';

export function SecretVersions({ secret }: { secret: Secret }) {
  const may = useMay();
  const versions = useVersions('secrets', secret.id, secret.version);
  const comparison = useShown<Compared>();
  const [problem, setProblem] = useState('');
  async function compare(version: number) {
    setProblem('');
    const older = Math.min(version, secret.version);
    const both = [revealSecret(secret.id, older), revealSecret(secret.id)];
    await Promise.all(both).then(
      ([before = '', after = '']) => comparison.show({ from: older, to: secret.version, before, after }),
      error => setProblem(sentence(error)),
    );
  }
  const actions = (version: Version) => {
    if (version.current) return <Badge tone="accent">current</Badge>;
    return (
      <>
        {may('secrets:reveal') && (
          <Button look="quiet" size="small" onClick={() => compare(version.version)}>
            <GitCompare className="size-4" aria-hidden /> Compare
            <span className="sr-only">version {version.version} with the current one</span>
          </Button>
        )}
        {may('secrets:write') && <Rollback secret={secret} version={version.version} />}
      </>
    );
  };
  return (
    <PanelPart title="Versions">
      <Problem text={problem} />
      {comparison.value && (
        <VersionComparison
          compared={comparison.value}
          secondsLeft={comparison.secondsLeft}
          onClose={comparison.hide}
        />
      )}
      <VersionList list={versions} actions={actions} />
    </PanelPart>
  );
}

function Rollback({ secret, version }: { secret: Secret; version: number }) {
  const refresh = useRefresh();
  async function roll() {
    await post(`/v1/secrets/${secret.id}/rollback`, { version });
    await refresh('secrets', 'versions');
    note(`Rolled back to the value of version ${version}`);
  }
  return (
    <ConfirmButton
      look="quiet"
      size="small"
      label={
        <>
          <RotateCcw className="size-4" aria-hidden /> Roll back
          <span className="sr-only">to version {version}</span>
        </>
      }
      title={`Roll back to version ${version}?`}
      text={`Its value becomes the current one, as version ${secret.version + 1}. All other versions are kept.`}
      action="Roll back"
      onConfirm={roll}
    />
  );
}
