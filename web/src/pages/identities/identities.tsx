/** Workload identities: machines that prove their identity instead of storing an access key. */
import { Fingerprint } from 'lucide-react';
import { Link, useLocation, useParams } from 'wouter';
import type { Identity } from '../../api/types.ts';
import { Collection } from '../../shared/collection.tsx';
import { Restrictions } from '../../shared/restrictions.tsx';
import { expiresColumn } from '../../ui/columns.tsx';
import { Name } from '../../ui/name.tsx';
import { Page } from '../../ui/page.tsx';
import type { Column } from '../../ui/table.tsx';
import { Ago } from '../../ui/time.tsx';
import { IdentityForm } from './identity-form.tsx';
import { IdentityPanel } from './identity-panel.tsx';
import { methodNames } from './method-names.ts';

const columns: readonly Column<Identity>[] = [
  {
    id: 'name',
    header: 'Identity',
    wraps: true,
    cell: ({ id, name, issuer, method }) => (
      <Link href={`/identities/${id}`} className="group block min-w-0">
        <span className="block font-medium break-words group-hover:underline">{name}</span>
        <span className="block text-xs text-muted">
          <Name text={issuer ?? methodNames[method]} />
        </span>
      </Link>
    ),
  },
  {
    id: 'subjects',
    header: 'Subjects',
    from: 'md',
    wraps: true,
    cell: ({ subjects }) => (
      <span className="block font-mono text-xs">
        <Name text={subjects?.join(', ') ?? '–'} />
      </span>
    ),
  },
  {
    id: 'restrictions',
    header: 'Restrictions',
    from: 'xl',
    wraps: true,
    cell: one => <Restrictions of={one} />,
  },
  expiresColumn('lg'),
  { id: 'login', header: 'Last login', cell: ({ last_login_at }) => <Ago at={last_login_at} /> },
];

export default function Identities() {
  const { identity } = useParams<{ identity?: string }>();
  const [, go] = useLocation();
  return (
    <Page
      title="Identities"
      intro="CI jobs, pods and servers prove their identity and get an access key that is valid for minutes. They don’t need to store a key."
    >
      <Collection<Identity>
        collection="identities"
        label="Identities"
        columns={columns}
        create={{
          scope: 'identities:write',
          label: 'New identity',
          form: close => <IdentityForm onClose={close} />,
        }}
        empty={{
          icon: Fingerprint,
          title: 'No identities yet',
          hint: 'Let GitHub Actions, GitLab, Kubernetes or your own machines log in without a stored key.',
          filtered: 'No identities match the search',
        }}
      />
      {identity && <IdentityPanel key={identity} id={identity} onClose={() => go('/identities')} />}
    </Page>
  );
}
