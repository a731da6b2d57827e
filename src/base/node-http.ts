/**
 * `node:http`, without the parts that the service doesn't use: an import by name would evaluate every export, and with
 * them load the runtime's web sockets and fetch, in each thread, which takes half of the time of loading everything else.
 */
const http = process.getBuiltinModule('node:http');

export const { Agent, createServer, IncomingMessage, request, ServerResponse } = http;
export type Agent = InstanceType<typeof Agent>;
export type IncomingMessage = InstanceType<typeof IncomingMessage>;
export type ServerResponse = InstanceType<typeof ServerResponse>;
