/** How an identity proves itself, in words. */
import type { LoginMethod } from '../../api/types.ts';

export const methodNames: Readonly<Record<LoginMethod, string>> = {
  jwt: 'Token of an issuer',
  secret_id: 'Secret ID',
  certificate: 'Client certificate',
};
