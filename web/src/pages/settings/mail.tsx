/** What the signed-in person is told by mail; shown only if the service sends mail. */
import { useQuery } from '@tanstack/react-query';
import { update } from '../../api/changes.ts';
import { get } from '../../api/client.ts';
import { useForm } from '../../api/form.ts';
import type { MailChoices } from '../../api/types.ts';
import { useRefresh } from '../../api/use.ts';
import { useSession } from '../../session/session.tsx';
import { Button } from '../../ui/button.tsx';
import { DialogButtons } from '../../ui/dialog.tsx';
import { Section } from '../../ui/page.tsx';
import { ChoiceField } from '../../ui/text-field.tsx';
import { noteUpdate } from '../../ui/toast.tsx';

const off = ['off', 'Not by mail'] as const;
const immediately = ['immediately', 'Immediately'] as const;
const times = [off, immediately, ['daily', 'Once a day, together']] as const;

export function Mail() {
  const found = useQuery({ queryKey: ['mail'], queryFn: () => get<MailChoices>('/auth/mail') });
  if (!found.data?.enabled) return null;
  return <Choices key={JSON.stringify(found.data)} choices={found.data} />;
}

function Choices({ choices: { enabled: _, ...choices } }: { choices: MailChoices }) {
  const { signedIn } = useSession();
  const form = useForm(choices);
  const refresh = useRefresh();
  async function save(values: typeof form.values) {
    noteUpdate('Mail choices', await update('/auth/mail', form.initial, values));
    await refresh('mail');
  }
  return (
    <Section beside title="Mail" intro={`What ${signedIn.member.email} is told. Mails never contain values.`}>
      <form className="flex max-w-md flex-col gap-4" onSubmit={form.submit(save)}>
        <ChoiceField
          form={form}
          name="expiry"
          label="Expiry"
          choices={times}
          hint="Secrets, keys and certificates that you may change."
        />
        <ChoiceField
          form={form}
          name="approvals"
          label="Decisions"
          choices={times}
          hint="Calls, writes and requests for roles that wait for you."
        />
        <ChoiceField
          form={form}
          name="sign_in"
          label="Sign-in from a new place"
          choices={[off, immediately]}
        />
        <DialogButtons problem={form.problem}>
          <Button type="submit" look="primary" busy={form.busy}>
            Save
          </Button>
        </DialogButtons>
      </form>
    </Section>
  );
}
