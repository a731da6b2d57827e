/** The last step of the setup: shows the access key once, with two ways to use it. */
import { useState } from 'react';
import type { CreatedAccessKey, Secret, Vault } from '../../api/types.ts';
import { useSession } from '../../session/session.tsx';
import { TryLines } from '../../shared/try-lines.tsx';
import { ButtonLink } from '../../ui/button.tsx';
import { DialogButtons } from '../../ui/dialog.tsx';
import { TokenOnce } from '../../ui/token-once.tsx';
import { Steps } from './steps.tsx';

export interface First {
  readonly vault: Vault;
  readonly secret: Secret;
  readonly accessKey: CreatedAccessKey;
}

export function ReadIt({ first: { vault, secret, accessKey } }: { first: First }) {
  const { state } = useSession();
  const [copied, setCopied] = useState(false);
  const connection = { baseUrl: state.base_url, vaultId: vault.id, accessKey: accessKey.token };
  return (
    <Steps
      at={3}
      wide
      title={`Read ${secret.name}`}
      intro={`This access key reads the vault “${vault.name}” and nothing else. Every read is recorded before it is answered.`}
    >
      <div className="flex flex-col gap-6">
        <TokenOnce
          token={accessKey.token}
          what="access key"
          copied={copied}
          onCopied={() => setCopied(true)}
        />
        <TryLines connection={connection} />
        <DialogButtons>
          <ButtonLink href={`/vaults/${vault.id}/secrets`}>Open the vault</ButtonLink>
          <ButtonLink href="/" look="primary">
            Go to the overview
          </ButtonLink>
        </DialogButtons>
      </div>
    </Steps>
  );
}
