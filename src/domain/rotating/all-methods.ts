/** The methods by which new values are obtained, joined with the ways to the services that they use. */
import type { Broker } from '../../egress/brokered-call.ts';
import type { Dial } from '../issuing/providers.ts';
import type { Parts } from '../kernel/parts.ts';
import type { Records } from '../resources/records.ts';
import { rotationCallsWith } from './calls.ts';
import { httpValuesWith } from './http-values.ts';
import type { Methods } from './methods.ts';
import { postgresqlValuesWith } from './postgresql-values.ts';
import { randomValuesWith } from './random-values.ts';

interface Ways {
  readonly dial: Dial;
  readonly broker: () => Broker;
}

export function rotationMethodsWith(parts: Parts, records: Records, { dial, broker }: Ways): Methods {
  const calls = rotationCallsWith(parts, records, broker);
  return {
    random: randomValuesWith(calls),
    postgresql: postgresqlValuesWith(parts, dial),
    http: httpValuesWith(calls),
  };
}
