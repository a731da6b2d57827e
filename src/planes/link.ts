/** The reading plane's hold on a plane in a thread of its own. */
import { type MessagePort, Worker } from 'node:worker_threads';

/** A plane that was started. */
export interface Link<To> {
  post(message: To, transfer: readonly (ArrayBuffer | MessagePort)[]): void;
  /** Without finishing anything. */
  terminate(): Promise<void>;
  readonly ended: Promise<void>;
}

export interface LinkParts<From> {
  readonly onMessage: (message: From) => void;
  readonly onError: (error: unknown) => void;
}

export type Start<To, From> = (parts: LinkParts<From>) => Link<To>;

const ending = import.meta.url.endsWith('.ts') ? '.ts' : '.js';
/** In MB. One that needs more is in trouble: it ends, and the reads do not. */
const largestHeap = 320;
/** In MB, for what lives shortly. */
const youngest = 12;

export function inThread<To, From>(file: string): Start<To, From> {
  return ({ onMessage, onError }) => {
    const thread = new Worker(new URL(`./${file}${ending}`, import.meta.url), {
      resourceLimits: { maxOldGenerationSizeMb: largestHeap, maxYoungGenerationSizeMb: youngest },
    });
    thread.on('message', onMessage);
    thread.on('error', onError);
    return {
      post: (message, transfer) => thread.postMessage(message, [...transfer]),
      terminate: async () => void (await thread.terminate()),
      ended: new Promise(resolve => thread.once('exit', () => resolve())),
    };
  };
}
