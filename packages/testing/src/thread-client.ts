import { RankClient } from './rank-client.js';
import type { Reply, Request } from './rank-messages.js';
import { moduleBeside, needsTypeScript, startThread } from './start-thread.js';

export interface ThreadClientOptions {
  /**
   * Whether the thread loads TypeScript with tsx. Default: true if the module is TypeScript, or if
   * this package runs from its sources.
   */
  readonly typescript?: boolean | undefined;
}

/**
 * Starts a rank's thread and sends requests to it. The thread keeps the process alive only while
 * requests are pending.
 */
export class ThreadClient extends RankClient<Request> {
  /** Starts a thread that can load this module. */
  constructor(module: string, { typescript = needsTypeScript(module) }: ThreadClientOptions = {}) {
    const worker = startThread(moduleBeside('rank-thread'), typescript);
    super({
      kind: 'thread',
      post: (message) => worker.postMessage(message),
      listen(onReply, onEnd) {
        worker.on('message', (reply: Reply) => onReply(reply));
        worker.on('error', onEnd);
        worker.on('exit', () => onEnd(new Error('the thread has ended')));
      },
      hold: (isHeld) => (isHeld ? worker.ref() : worker.unref()),
      terminate: () => worker.terminate(),
    });
  }
}
