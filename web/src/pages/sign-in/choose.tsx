/** Lets the person choose when single sign-on found several organizations, or an invitation. */
import { useQuery } from '@tanstack/react-query';
import { useLocation } from 'wouter';
import { get, post } from '../../api/client.ts';
import { useForm } from '../../api/form.ts';
import type { Choice } from '../../api/types.ts';
import { useRefreshState } from '../../session/session.tsx';
import { SignInFrame } from '../../shared/sign-in-frame.tsx';
import { Button, ButtonLink } from '../../ui/button.tsx';
import { Loading } from '../../ui/page.tsx';
import { Problem } from '../../ui/problem.tsx';

export default function Choose() {
  const found = useQuery({
    queryKey: ['sign-on-choices'],
    queryFn: () => get<{ data: Choice[] }>('/auth/oidc/choices'),
    retry: false,
    staleTime: Number.POSITIVE_INFINITY,
  });
  if (found.isPending) return <Loading />;
  if (!found.data) {
    return (
      <SignInFrame
        title="This sign-in has expired"
        intro="It was already completed, or took too long. Start again."
      >
        <div className="flex justify-center">
          <ButtonLink href="/sign-in">Go to sign-in</ButtonLink>
        </div>
      </SignInFrame>
    );
  }
  return (
    <SignInFrame
      title="Choose an organization"
      intro="Join only if you expected an invitation from the organization: its administrators can see what you do there."
    >
      <ul className="flex flex-col gap-3">
        {found.data.data.map(choice => (
          <li key={choice.member_id}>
            <Enter choice={choice} />
          </li>
        ))}
      </ul>
    </SignInFrame>
  );
}

function joinText(organization: string, role: string): string {
  return role === 'none' ? `Join ${organization}` : `Join ${organization} as ${role}`;
}

function Enter({ choice: { member_id, organization, role, joined } }: { choice: Choice }) {
  const form = useForm({});
  const [, go] = useLocation();
  const refresh = useRefreshState();
  const enter = form.submit(async () => {
    await post('/auth/oidc/choose', { member_id });
    await refresh();
    go('/');
  });
  return (
    <form className="flex flex-col gap-2" onSubmit={enter}>
      <Button type="submit" look={joined ? 'primary' : 'plain'} busy={form.busy}>
        {joined ? `Continue to ${organization}` : joinText(organization, role)}
      </Button>
      <Problem text={form.problem} />
    </form>
  );
}
