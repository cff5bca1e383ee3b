import { once } from 'node:events';
import type { ClientRequest, IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';

/**
 * Sends a request.
 * @returns the JSON of the answer
 * @throws Error if there is no answer, the body is truncated or is not JSON, or the status is not
 * 200
 */
export async function answerOf(request: ClientRequest): Promise<unknown> {
  request.end();
  const [answer] = (await once(request, 'response')) as [IncomingMessage];
  // Once the answer has begun, reading it reports errors.
  request.on('error', () => {});
  const body = await text(answer);
  if (answer.statusCode !== 200)
    throw new Error(`status ${answer.statusCode}; is the service account of this pod allowed to list pods?`);
  return JSON.parse(body) as unknown;
}
