/** The names of a delivery's subject and webhook; their ids if the record is gone or the person may not see it. */
import type { Delivery } from '../../api/types.ts';
import { useRecord } from '../../api/use.ts';

interface Named {
  readonly name: string;
}

export function WebhookName({ id }: { id: string }) {
  return <Name collection="webhooks" id={id} />;
}

export function SubjectName({ delivery: { event, resource_id } }: { delivery: Delivery }) {
  const [kind] = event.split('.');
  const collection = { access_key: 'access-keys', webhook: 'webhooks' }[kind!] ?? 'resources';
  return <Name collection={collection} id={resource_id} />;
}

function Name({ collection, id }: { collection: string; id: string }) {
  const record = useRecord<Named>(collection, id);
  return <span title={id}>{record.data?.name ?? `${id.slice(0, 8)}…`}</span>;
}
