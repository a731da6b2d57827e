// Requests /readyz, or the given path, at the address that the environment sets for the service, and exits with 0 if the service is ready. It sends
// no credential, so the certificate, which is for another name than the one requested here, is not checked.
const { STRONGROOM_SOCKET, STRONGROOM_PORT = '8420', STRONGROOM_TLS, STRONGROOM_TLS_CERT } = process.env;
const isEncrypted = STRONGROOM_TLS !== undefined || STRONGROOM_TLS_CERT !== undefined;
const { request } = await import(isEncrypted ? 'node:https' : 'node:http');

const where =
  STRONGROOM_SOCKET === undefined
    ? { host: '127.0.0.1', port: STRONGROOM_PORT, rejectUnauthorized: false }
    : { socketPath: STRONGROOM_SOCKET };

request({ ...where, path: process.argv[2] ?? '/readyz', timeout: 4_000 }, ({ statusCode }) =>
  process.exit(statusCode === 200 ? 0 : 1),
)
  .on('timeout', () => process.exit(1))
  .on('error', () => process.exit(1))
  .end();
