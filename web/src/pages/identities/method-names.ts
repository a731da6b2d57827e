/** The names of the login methods. */
import type { LoginMethod } from '../../api/types.ts';

export const methodNames: Readonly<Record<LoginMethod, string>> = {
  jwt: 'Token from an issuer',
  secret_id: 'Secret ID',
  certificate: 'Client certificate',
};
