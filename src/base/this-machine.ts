/**
 * Recognizes addresses of this machine, to which nothing is sent over the network: `localhost`, 127.0.0.0/8 and ::1.
 * Names below `localhost` don't count, because some resolvers ask the network for them.
 */
const loopback = /^(localhost|127(\.\d{1,3}){3}|\[::1\]|::1)$/;

/** Takes an address or a host name as normalized by the URL parser. */
export function isThisMachine(host: string): boolean {
  return loopback.test(host);
}
