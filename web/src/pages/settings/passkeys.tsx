/** The signed-in person's passkeys, which can't be phished. */
import { useQuery } from '@tanstack/react-query';
import { Fingerprint } from 'lucide-react';
import { get, post, remove } from '../../api/client.ts';
import { useForm } from '../../api/form.ts';
import type { PasskeyRecord as Passkey } from '../../api/types.ts';
import { useRefresh } from '../../api/use.ts';
import { makePasskey, passkeysWork, wasCancelled } from '../../session/passkey.ts';
import { useRefreshState, useSession } from '../../session/session.tsx';
import { Button } from '../../ui/button.tsx';
import { ConfirmButton } from '../../ui/confirm.tsx';
import { Section } from '../../ui/page.tsx';
import { Problem } from '../../ui/problem.tsx';
import { TextField } from '../../ui/text-field.tsx';
import { Ago } from '../../ui/time.tsx';
import { note } from '../../ui/toast.tsx';

export function Passkeys() {
  const { state } = useSession();
  const found = useQuery({
    queryKey: ['passkeys'],
    queryFn: () => get<{ data: Passkey[] }>('/auth/passkeys'),
  });
  const passkeys = found.data?.data ?? [];
  const usable = state.methods.passkey && passkeysWork;
  return (
    <Section
      beside
      title="Passkeys"
      intro="Sign in with a fingerprint, a face or a security key. A passkey only works on this site, so it can’t be phished."
    >
      {passkeys.length > 0 && (
        <ul className="mb-4 divide-y rounded-lg border">
          {passkeys.map(passkey => (
            <PasskeyRow key={passkey.id} passkey={passkey} />
          ))}
        </ul>
      )}
      {usable ? (
        <AddPasskey />
      ) : (
        <p className="text-muted">
          Browsers tie passkeys to a host name. To add one, open this service by its host name (localhost, not
          127.0.0.1).
        </p>
      )}
    </Section>
  );
}

function AddPasskey() {
  const form = useForm({ name: '' });
  const refresh = useRefresh();
  const refreshState = useRefreshState();
  async function add({ name }: typeof form.values) {
    try {
      const credential = await makePasskey('/auth/passkeys/options');
      await post('/auth/passkeys', { name, credential });
    } catch (error) {
      if (wasCancelled(error)) return;
      throw error;
    }
    form.reset();
    note('Passkey added');
    await Promise.all([refresh('passkeys'), refreshState()]);
  }
  return (
    <form className="flex max-w-md flex-col gap-3" onSubmit={form.submit(add)}>
      <TextField form={form} name="name" label="Passkey name" placeholder="Laptop" required maxLength={64} />
      <Problem text={form.problem} />
      <div>
        <Button type="submit" busy={form.busy}>
          <Fingerprint className="size-4" aria-hidden /> Add a passkey
        </Button>
      </div>
    </form>
  );
}

function PasskeyRow({ passkey: { id, name, used_at } }: { passkey: Passkey }) {
  const refresh = useRefresh();
  const refreshState = useRefreshState();
  async function discard() {
    await remove(`/auth/passkeys/${id}`);
    note('Passkey removed');
    await Promise.all([refresh('passkeys'), refreshState()]);
  }
  return (
    <li className="flex flex-wrap items-center justify-between gap-3 px-4 py-2">
      <span>
        <span className="block font-medium">{name}</span>
        <span className="block text-xs text-muted">
          last used <Ago at={used_at} />
        </span>
      </span>
      <ConfirmButton
        look="quiet"
        size="small"
        label="Remove"
        name={`Remove the passkey ${name}`}
        title={`Remove the passkey “${name}”?`}
        text="You can no longer sign in with it. Delete it from your device as well."
        action="Remove"
        onConfirm={discard}
      />
    </li>
  );
}
