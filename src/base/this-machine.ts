/**
 * Which addresses are this machine's own, so that nothing sent there leaves it: `localhost`, 127.0.0.0/8 and ::1. A name
 * below `localhost` is none of them, because some resolvers ask the network for it.
 */
const loopback = /^(localhost|127(\.\d{1,3}){3}|\[::1\]|::1)$/;

/** By the host name as the URL parser reads it, or an address. */
export function isThisMachine(host: string): boolean {
  return loopback.test(host);
}
