import { once } from 'node:events';
import type { ClientRequest, IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';

/**
 * Sends a request.
 * @returns the JSON of the answer
 * @throws Error without an answer, or for a truncated body or a status other than 200
 */
export async function answerOf(request: ClientRequest): Promise<unknown> {
  request.end();
  const [answer] = (await once(request, 'response')) as [IncomingMessage];
  // Errors after the answer has begun are reported by the answer.
  request.on('error', () => {});
  const body = await text(answer);
  if (answer.statusCode !== 200)
    throw new Error(`status ${answer.statusCode}; is the service account of this pod allowed to list pods?`);
  return JSON.parse(body) as unknown;
}
