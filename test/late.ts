/** Requests whose body comes late: something happens after the service has judged the headers, and before the body. */
import { once } from 'node:events';
import { request as httpRequest } from 'node:http';

export interface LateAnswer {
  readonly status: number;
  readonly text: string;
}

/** Sends the headers, does something once they were judged, and then sends the body. */
export async function sendLate(
  url: string,
  method: string,
  headers: Record<string, string>,
  body: unknown,
  meanwhile: () => Promise<unknown>,
): Promise<LateAnswer> {
  const text = JSON.stringify(body ?? {});
  const length = String(Buffer.byteLength(text));
  const request = httpRequest(url, {
    method,
    agent: false,
    headers: {
      ...headers,
      expect: '100-continue',
      'content-type': 'application/json',
      'content-length': length,
    },
  });
  // The service asks for the body once it has judged the headers.
  const judged = once(request, 'continue');
  const answer = answerTo(request);
  request.flushHeaders();
  await Promise.race([judged, answer]);
  await meanwhile();
  request.end(text);
  return answer;
}

function answerTo(request: ReturnType<typeof httpRequest>): Promise<LateAnswer> {
  return new Promise((resolve, reject) => {
    request.on('error', reject);
    request.on('response', async response => {
      const chunks: Buffer[] = [];
      for await (const chunk of response) chunks.push(chunk as Buffer);
      resolve({ status: response.statusCode!, text: Buffer.concat(chunks).toString('utf8') });
    });
  });
}
