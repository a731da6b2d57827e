/** Changes the password, which ends every other session. */
import { post } from '../../api/client.ts';
import { useForm } from '../../api/form.ts';
import { useRefresh } from '../../api/use.ts';
import { useRefreshState, useSession } from '../../session/session.tsx';
import { Button } from '../../ui/button.tsx';
import { DialogButtons } from '../../ui/dialog.tsx';
import { Section } from '../../ui/page.tsx';
import { TextField } from '../../ui/text-field.tsx';
import { note } from '../../ui/toast.tsx';

export function Password() {
  const { signedIn } = useSession();
  const form = useForm({ current: '', password: '' });
  const refresh = useRefresh();
  const refreshState = useRefreshState();
  const isSet = signedIn.has_password;
  async function change({ current, password }: typeof form.values) {
    await post('/auth/password/change', { password, ...(isSet ? { current } : {}) });
    form.reset();
    note(isSet ? 'Password changed and other sessions ended' : 'Password set');
    await Promise.all([refresh('sessions'), refreshState()]);
  }
  return (
    <Section
      beside
      title="Password"
      intro={
        isSet
          ? 'Changing it ends every other session.'
          : 'You don’t have a password yet. Set one to sign in with it.'
      }
    >
      <form className="flex max-w-md flex-col gap-4" onSubmit={form.submit(change)}>
        {isSet && (
          <TextField
            form={form}
            name="current"
            label="Current password"
            type="password"
            autoComplete="current-password"
            required
          />
        )}
        <TextField
          form={form}
          name="password"
          label="New password"
          type="password"
          autoComplete="new-password"
          minLength={12}
          required
          hint="At least 12 characters."
        />
        <DialogButtons problem={form.problem}>
          <Button type="submit" look="primary" busy={form.busy}>
            {isSet ? 'Change password' : 'Set password'}
          </Button>
        </DialogButtons>
      </form>
    </Section>
  );
}
