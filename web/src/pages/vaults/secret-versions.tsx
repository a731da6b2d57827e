/** The versions of a secret: compares an earlier one with the current one, or rolls back to it. */
import { GitCompare } from 'lucide-react';
import { useState } from 'react';
import { sentence } from '../../api/client.ts';
import type { Secret, Version } from '../../api/types.ts';
import { useMay } from '../../session/session.tsx';
import { PanelPart } from '../../shared/item-panel.tsx';
import { Badge } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { Problem } from '../../ui/problem.tsx';
import { useShown } from '../../ui/shown.ts';
import { revealText } from './reveal.ts';
import { Rollback } from './rollback.tsx';
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
    const both = [revealText(secret.id, older), revealText(secret.id)];
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
        {may('secrets:write') && (
          <Rollback collection="secrets" item={secret} version={version.version} what="value" />
        )}
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
